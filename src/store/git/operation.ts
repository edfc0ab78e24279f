// What real git has half done in a working tree.

import { lstatSync } from "node:fs";
import { join } from "node:path";
import type { Operation } from "./types.ts";

const MARKS: readonly [string, Operation][] = [
  ["rebase-merge", "rebase"],
  ["rebase-apply", "rebase"],
  ["MERGE_HEAD", "merge"],
  ["CHERRY_PICK_HEAD", "cherry-pick"],
  ["REVERT_HEAD", "revert"],
];

export function findOperation(gitDir: string): Operation | null {
  return MARKS.find(([name]) => lstatSync(join(gitDir, name), { throwIfNoEntry: false }))?.[1] ?? null;
}
