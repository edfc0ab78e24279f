// All skills of one place: the roots are scanned, the files read, and of equal ids the strongest counts.

import { join } from "node:path";
import { systemReason } from "@/lib/errors.ts";
import type { BundleIndex } from "./bundle.ts";
import { parseSkill } from "./parse.ts";
import { digestSkill, readHead, readWhole } from "./read.ts";
import { type FoundSkill, scanRoot } from "./scan.ts";
import type { Discovery, Skill, SkillProblem, SkillRoot } from "./types.ts";
import { bundledFolder } from "./unpack.ts";

/** Everything the roots hold, strongest first; what is in force is `rank`'s business. */
export interface Scanned {
  skills: Skill[];
  problems: SkillProblem[];
}

export interface Bundle {
  index: BundleIndex;
  /** `~/.letta/cache/skills`. */
  cache: string;
}

/** `bundle` null: without it. `onFolder` hears of each folder before it is read. */
export function scanSkills(
  roots: readonly SkillRoot[],
  bundle: Bundle | null,
  onFolder?: (path: string) => void,
): Scanned {
  const scanned: Scanned = { skills: [], problems: [] };
  for (const root of roots) {
    const { found, problems } = scanRoot(root, onFolder);
    scanned.problems.push(...problems);
    for (const each of found) {
      const skill = readSkill(root, each, scanned.problems);
      if (skill) scanned.skills.push(skill);
    }
  }
  if (bundle) takeBundled(scanned, bundle);
  return scanned;
}

/** `accepts`: the skills of a repository that may take effect. */
export function rank({ skills, problems }: Scanned, accepts: (skill: Skill) => boolean): Discovery {
  const byId = new Map<string, Skill>();
  const left: Discovery["left"] = [];
  const doubles: SkillProblem[] = [];
  for (const skill of skills) {
    const by = byId.get(skill.id);
    if (by) {
      left.push({ skill, why: "shadowed", by });
      if (by.root === skill.root) doubles.push(double(skill, by));
    } else if (skill.root.repository !== undefined && !accepts(skill)) left.push({ skill, why: "untrusted" });
    else byId.set(skill.id, skill);
  }
  const sorted = [...byId.entries()].toSorted(([a], [b]) => (a < b ? -1 : 1));
  return { skills: new Map(sorted), left, problems: [...problems, ...doubles] };
}

function readSkill(root: SkillRoot, { file, folder, id }: FoundSkill, problems: SkillProblem[]): Skill | null {
  const { repository, source } = root;
  const refuse = (problem: string): null => {
    problems.push({ file, line: null, problem, level: "error" });
    return null;
  };
  const read = repository === undefined ? readHead(file) : readWhole(file);
  if ("problem" in read) return refuse(read.problem);
  const parsed = parseSkill(read.text, { file, id });
  problems.push(...parsed.problems);
  if (parsed.fields === null) return null;
  const skill = { ...parsed.fields, source, root, file, folder };
  try {
    return repository === undefined ? skill : { ...skill, digest: digestSkill(read.text, skill) };
  } catch (error) {
    return refuse(`its folder cannot be read: ${systemReason(error)}`);
  }
}

function takeBundled(scanned: Scanned, { index, cache }: Bundle): void {
  const root: SkillRoot = { source: "bundled", path: join(cache, index.digest), label: "bundled" };
  for (const { id, head } of index.skills) {
    const folder = bundledFolder(cache, index.digest, id);
    const file = join(folder, "SKILL.md");
    const { fields, problems } = parseSkill(head, { file, id });
    scanned.problems.push(...problems);
    if (fields) scanned.skills.push({ ...fields, source: "bundled", root, file, folder });
  }
}

function double(skill: Skill, by: Skill): SkillProblem {
  return { file: skill.file, line: null, problem: `its id ${skill.id} is that of ${by.file} already`, level: "error" };
}
