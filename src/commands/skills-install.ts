// `letta skills install`, also `letta install`.

import { join } from "node:path";
import { LettaError } from "@/lib/errors.ts";
import { clip } from "@/lib/text.ts";
import { skillHosts } from "@/skills/install/hosts.ts";
import { assertInstallable, installSkill, skillFolder } from "@/skills/install/installed.ts";
import { fetchPackage, type SkillPackage } from "@/skills/install/package.ts";
import type { InstallSpec } from "@/skills/install/spec.ts";
import type { Io } from "./io.ts";
import type { MemoryScope } from "./memory-scope.ts";
import { type OutputArgs, present } from "./output.ts";
import { renderPackage, requireSkillConsent } from "./skills-preview.ts";

export interface InstallArgs extends OutputArgs {
  force?: boolean;
  yes?: boolean;
}

export async function runInstall(scope: MemoryScope, spec: InstallSpec, args: InstallArgs, io: Io): Promise<number> {
  const { memory, author, core } = scope;
  return present(
    io,
    args,
    async () => {
      const skill = await fetchPackage(spec, { hosts: skillHosts(core.env.skillMirror) });
      if (!skill) throw new LettaError("internal", "nothing was fetched");
      const force = args.force === true;
      await assertInstallable(memory, skill.name, force);
      const question = `Install ${skill.name} into the memory of ${clip(memory.agent.name, 60)}?`;
      await requireSkillConsent(io, args, { skill, preview: renderPackage(skill), question });
      await scope.prepare();
      const { oid, notes } = await installSkill(memory, skill, { author, force });
      return { ...describeInstall(scope, skill), commitSha: oid, notes };
    },
    {
      value: ({ notes: _, ...rest }) => rest,
      text: ({ name, path, commitSha, notes }) =>
        `Installed ${name} in ${path} (commit ${commitSha.slice(0, 7)})\n${notes && `${notes}\n`}`,
    },
  );
}

function describeInstall({ memory }: MemoryScope, skill: SkillPackage) {
  return {
    agentId: memory.agent.id,
    source: skill.source,
    resolvedRef: skill.resolvedRef,
    name: skill.name,
    path: join(memory.places.memory, skillFolder(skill.name)),
    committed: true,
    sha256: skill.digest,
    files: skill.files.map(({ path, content }) => ({ path, bytes: content.length })),
    scripts: skill.risks.scripts,
    warnings: skill.problems.map(({ line, problem }) => ({ line, problem })),
  };
}
