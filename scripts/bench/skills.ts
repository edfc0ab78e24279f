// How long a process needs for the skills of a turn: a thousand that it never saw, and the same again.

import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { tempHome } from "../../test/support/binary.ts";

const COUNT = 1_000;

export interface SkillSpeed {
  coldMs: number;
  /** Typical of a later turn without a change. */
  unchangedMs: number;
}

/** Best of `runs` for both: what else the machine does meanwhile is not ours. */
export async function measureSkills(runs: number): Promise<SkillSpeed> {
  using home = tempHome();
  for (let index = 0; index < COUNT; index++) {
    const folder = join(home.path, ".letta/skills", `skill-${index}`);
    mkdirSync(folder, { recursive: true });
    const head = `name: skill-${index}\ndescription: Does the ${index}th thing there is to do, and does it well.\n`;
    writeFileSync(join(folder, "SKILL.md"), `---\n${head}---\n# Skill ${index}\n\n${"Do it so. ".repeat(200)}\n`);
  }
  const { createSkills } = await import("@/skills/service.ts");
  const { SKILL_SOURCES } = await import("@/skills/types.ts");
  const { readEnv } = await import("@/store/env.ts");
  const { resolvePaths } = await import("@/store/paths.ts");
  const place = { cwd: home.workdir, memory: [] };
  const times = Array.from({ length: runs }, () => {
    const skills = createSkills({
      paths: resolvePaths(readEnv({ HOME: home.path })),
      trust: { accepts: () => false, revision: 0 },
      projectRoot: home.workdir,
      sources: SKILL_SOURCES,
      extra: null,
      others: true,
      watch: true,
    });
    const measure = (): number => {
      const startedAt = performance.now();
      if (skills.catalogue(place, 200_000).listed.length === 0) throw new Error("no skills were found");
      return performance.now() - startedAt;
    };
    const result = { coldMs: measure(), unchangedMs: measure() };
    skills.close();
    return result;
  });
  return {
    coldMs: Math.min(...times.map(({ coldMs }) => coldMs)),
    unchangedMs: Math.min(...times.map(({ unchangedMs }) => unchangedMs)),
  };
}
