// Skills of a repository and the folder's trust: until a person has accepted a skill as it is now, it is inert.

import { realpathSync } from "node:fs";
import { relative, sep } from "node:path";
import { plural } from "@/lib/text.ts";
import type { Trust, TrustContribution, TrustEntry } from "@/store/trust.ts";
import type { Discovery, Skill } from "./types.ts";

/** More are counted, not listed: nobody reads a thousand lines before an answer. */
const MAX_LISTED = 20;

/** `projectRoot`: the folder the trust is about. What lies in another one is never accepted. */
export function isTrusted(skill: Skill, trust: Pick<Trust, "accepts">, projectRoot: string | null): boolean {
  const { repository } = skill.root;
  if (repository === undefined) return true;
  return projectRoot !== null && isSamePlace(repository, projectRoot) && trust.accepts(entryOf(skill));
}

/** What a person is asked about, skill by skill. Only skills of the folder itself. */
export function trustContributions(skills: readonly Skill[], projectRoot: string | null): TrustContribution[] {
  const own = skills.filter(
    ({ root: { repository } }) =>
      repository !== undefined && projectRoot !== null && isSamePlace(repository, projectRoot),
  );
  // Those that let something run are always shown.
  const shown = new Set([
    ...own.filter(({ allowedTools }) => allowedTools.length > 0),
    ...own.filter(({ allowedTools }) => allowedTools.length === 0).slice(0, MAX_LISTED),
  ]);
  const hidden = own.length - shown.size;
  return own.map((skill) => ({
    entry: entryOf(skill),
    file: fileOf(skill),
    description: shown.has(skill) ? describe(skill) : `one of ${plural(hidden, "more skill")}: ${skill.id}`,
  }));
}

/** One line for whoever starts here; null when nothing is left out. */
export function describeUntrusted({ left }: Discovery, projectRoot: string | null): string | null {
  const untrusted = left.filter(({ why }) => why === "untrusted");
  if (untrusted.length === 0) return null;
  const here = untrusted.every(
    ({ skill }) => projectRoot !== null && isSamePlace(skill.root.repository ?? "", projectRoot),
  );
  const how = here ? "`letta trust` shows and trusts them" : "start letta in their folder to trust them";
  return `${plural(untrusted.length, "skill")} of this project left out, because the folder is not trusted: ${how}`;
}

function entryOf(skill: Skill): TrustEntry {
  return { source: "project", key: "skills", value: [fileOf(skill), skill.digest ?? ""] };
}

function fileOf({ root, file }: Skill): string {
  return relative(root.repository ?? root.path, file)
    .split(sep)
    .join("/");
}

function describe({ id, description, allowedTools }: Skill): string {
  const rules = allowedTools.length > 0 ? `; without asking while it is in use: ${allowedTools.join(" ")}` : "";
  return `skill ${id}: ${description}${rules}`;
}

function isSamePlace(a: string, b: string): boolean {
  return a === b || realOrSelf(a) === realOrSelf(b);
}

function realOrSelf(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path; // Gone: it is only itself.
  }
}
