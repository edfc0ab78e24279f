// Which commit each line of a file comes from: a walk along first parents, comparing neighbours. A merge that brought a
// line in answers for it.

import type { Objects } from "./objects.ts";
import { breathe } from "./status.ts";
import { findFile } from "./trees.ts";
import type { BlameLine, Commit, Oid } from "./types.ts";

interface Pending {
  /** In the newest version, from 0. */
  line: number;
  /** In the version that is looked at. */
  at: number;
}

export interface BlameOptions {
  /** Comparing two versions may take so long; a line it did not settle stays with the newer one. */
  timeoutMs?: number;
}

/** Null when the revision has no such file, or it is not text. */
export async function blame(
  objects: Objects,
  from: Oid,
  path: string,
  { timeoutMs = 2_000 }: BlameOptions = {},
): Promise<BlameLine[] | null> {
  const { diffArrays } = await import("diff");
  let commit = objects.commit(from);
  let file = findFile(objects, commit.tree, path);
  const newest = file && textLines(objects.blob(file.oid));
  if (!file || !newest) return null;
  let lines: string[] = newest;
  const result: BlameLine[] = lines.map((text) => ({ text, commit, line: 0 }));
  let pending: Pending[] = lines.map((_, line) => ({ line, at: line }));
  const settle = (settled: Pending[], by: Commit) => {
    for (const { line, at } of settled) result[line] = { text: result[line]!.text, commit: by, line: at + 1 };
  };
  while (pending.length > 0) {
    const parent = commit.parents[0] === undefined ? null : objects.commit(commit.parents[0]);
    const before = parent && findFile(objects, parent.tree, path);
    const beforeLines: string[] | null =
      before && (before.oid === file.oid ? lines : textLines(objects.blob(before.oid)));
    if (!parent || !before || !beforeLines) {
      settle(pending, commit);
      break;
    }
    if (before.oid !== file.oid) {
      const changes = diffArrays(beforeLines, lines, { timeout: timeoutMs });
      const origin = changes ? keptLines(changes) : new Map<number, number>();
      settle(
        pending.filter(({ at }) => !origin.has(at)),
        commit,
      );
      pending = pending.flatMap(({ line, at }) => (origin.has(at) ? [{ line, at: origin.get(at)! }] : []));
      await breathe();
    }
    [commit, file, lines] = [parent, before, beforeLines];
  }
  return result;
}

/** New line → old line, for those that stayed. */
function keptLines(changes: readonly { value: string[]; added?: boolean; removed?: boolean }[]): Map<number, number> {
  const kept = new Map<number, number>();
  let before = 0;
  let after = 0;
  for (const { value, added, removed } of changes) {
    if (removed) before += value.length;
    else if (added) after += value.length;
    else for (let number = 0; number < value.length; number++) kept.set(after++, before++);
  }
  return kept;
}

/** Without line ends. Null for what is not text. */
function textLines(bytes: Uint8Array): string[] | null {
  if (bytes.includes(0)) return null;
  const lines = new TextDecoder().decode(bytes).split("\n");
  if (lines.at(-1) === "") lines.pop();
  return lines;
}
