// Which ancestor a merge starts from. With several best ones (both sides have merged the other one before), they are
// merged among themselves first, as git does; where they contradict each other, the newest of them is taken.

import { findMergeBases } from "./history.ts";
import { mergeTrees } from "./merge-trees.ts";
import type { Objects } from "./objects.ts";
import type { ConflictResolver, FileMerger, MergeOutcome, Oid } from "./types.ts";

export async function mergeCommits(
  objects: Objects,
  ours: Oid,
  theirs: Oid,
  mergeFile: FileMerger,
  resolve?: ConflictResolver,
): Promise<MergeOutcome> {
  const base = await baseTree(objects, findMergeBases(objects, ours, theirs), mergeFile);
  return await mergeTrees(
    objects,
    { base, ours: objects.commit(ours).tree, theirs: objects.commit(theirs).tree },
    mergeFile,
    resolve,
  );
}

async function baseTree(objects: Objects, bases: readonly Oid[], mergeFile: FileMerger): Promise<Oid | null> {
  const [newest, ...others] = bases;
  if (newest === undefined) return null;
  let tree = objects.commit(newest).tree;
  let oldest = newest;
  for (const other of others) {
    const below = await baseTree(objects, findMergeBases(objects, oldest, other), mergeFile);
    const outcome = await mergeTrees(
      objects,
      { base: below, ours: tree, theirs: objects.commit(other).tree },
      mergeFile,
    );
    if (outcome.status === "merged") tree = outcome.tree;
    oldest = other;
  }
  return tree;
}
