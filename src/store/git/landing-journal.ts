// What a landing is about to do to the working tree, on the disk before its first rename and gone after the ref has
// moved: `letta/landing.json` in the folder of the working tree's HEAD. Whoever finds it under the writer's lock knows
// that the landing it names was killed, and which files are its own doing and nobody's work.

import { lstatSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { GitContext } from "./context.ts";
import { ensureFolder, removeQuietly } from "./folders.ts";
import { MAX_TABLE_BYTES } from "./limits.ts";
import { findPathProblem } from "./names.ts";
import { isOid } from "./object-format.ts";
import type { FileMode, Oid } from "./types.ts";

export type Content = { mode: FileMode; oid: Oid } | null;

export interface Step {
  path: string;
  /** In the working tree; an object that exists. */
  file: { before: Content; after: Content } | null;
  /** In the index. */
  index: { before: Content; after: Content };
}

export async function writeJournal(git: GitContext, steps: readonly Step[]): Promise<void> {
  ensureFolder(git.disk, join(git.gitDir, "letta"));
  const temporary = git.scratch.path();
  const text = new TextEncoder().encode(`${JSON.stringify({ steps })}\n`);
  await git.disk.create(temporary, [text], { mode: 0o644, durable: true });
  try {
    git.disk.rename(temporary, pathOf(git));
  } catch (error) {
    removeQuietly(git.disk, temporary);
    throw error;
  }
}

/** Null when no landing was killed. What is no journal of ours says nothing about anybody's files. */
export function readJournal(git: GitContext): Step[] | null {
  const stat = lstatSync(pathOf(git), { throwIfNoEntry: false });
  if (!stat) return null;
  if (!stat.isFile() || stat.size > MAX_TABLE_BYTES) return [];
  try {
    const { steps } = JSON.parse(readFileSync(pathOf(git), "utf8")) as { steps: unknown };
    return Array.isArray(steps) ? steps.filter(isStep) : [];
  } catch {
    return [];
  }
}

export function removeJournal(git: GitContext): void {
  removeQuietly(git.disk, pathOf(git));
}

export function isSameContent(a: Content, b: Content): boolean {
  return a === null || b === null ? a === b : a.oid === b.oid && a.mode === b.mode;
}

function pathOf(git: GitContext): string {
  return join(git.gitDir, "letta", "landing.json");
}

function isStep(value: unknown): value is Step {
  const step = value as Partial<Step> | null;
  const isChange = (change: unknown) => {
    const { before, after } = (change ?? {}) as { before?: unknown; after?: unknown };
    return isContent(before) && isContent(after);
  };
  return (
    typeof step?.path === "string" &&
    findPathProblem(step.path) === null &&
    isChange(step.index) &&
    (step.file === null || isChange(step.file))
  );
}

function isContent(value: unknown): value is Content {
  if (value === null) return true;
  const { mode, oid } = (value ?? {}) as { mode?: unknown; oid?: unknown };
  return typeof oid === "string" && isOid(oid) && ["100644", "100755", "120000"].includes(String(mode));
}
