// Takes a commit of a memory back with another commit: history is only added to. What was changed at the same places
// since then is not overwritten; it makes the revert fail as a merge would.

import { LettaError } from "@/lib/errors.ts";
import { mergeTrees } from "@/store/git/merge-trees.ts";
import type { Commit, GitRepository, Identity, MergeConflict } from "@/store/git/types.ts";
import { mergeMemoryFile } from "./merge-markdown.ts";
import { describeConflict } from "./three-way.ts";

export interface Reverted {
  oid: string;
  /** What was taken back. */
  of: Commit;
  paths: string[];
}

export async function revertCommit(repository: GitRepository, of: Commit, by: Identity): Promise<Reverted> {
  const head = await repository.resolve("HEAD");
  // Of a merge, what it brought to the branch.
  const [parent] = of.parents;
  if (head === null || parent === undefined) {
    throw new LettaError("usage", `${short(of)} is the memory's beginning: there is nothing before it to go back to`);
  }
  const tree = async (oid: string) => (await repository.objects.readCommit(oid)).tree;
  const ours = await tree(head);
  const sides = { base: of.tree, ours, theirs: await tree(parent) };
  const outcome = await mergeTrees(repository.objects, sides, mergeMemoryFile);
  if (outcome.status === "conflict") throw cannotRevert(of, outcome.conflicts);
  if (outcome.tree === ours) throw new LettaError("usage", `Nothing of ${short(of)} is left to take back`);
  const subject = subjectOf(of.message);
  const oid = await repository.commitTree(outcome.tree, {
    message: `Revert "${subject}"\n\n${REVERTS} ${of.oid}.`,
    author: by,
    parents: [head],
    expectedHead: head,
  });
  const paths = (await repository.diffTrees(head, oid)).map(({ path }) => path);
  return { oid, of, paths };
}

/** The newest commit of the branch that still stands: not taken back, and not itself the taking back of another. */
export async function findLastStanding(repository: GitRepository): Promise<Commit | null> {
  const gone = new Set<string>();
  for await (const commit of repository.log({ firstParent: true, limit: MAX_LOOKED })) {
    const reverted = revertedBy(commit);
    if (reverted !== null) {
      // A revert that was itself taken back takes nothing back.
      if (!gone.has(commit.oid)) gone.add(reverted);
      gone.add(commit.oid);
    }
    if (gone.has(commit.oid) || commit.parents.length === 0) continue;
    return commit;
  }
  return null;
}

export function subjectOf(message: string): string {
  return message.trimEnd().split("\n")[0]!.trim();
}

/** As real git words it. */
const REVERTS = "This reverts commit";
const MAX_LOOKED = 1_000;

function revertedBy({ message }: Commit): string | null {
  return /^This reverts commit ([0-9a-f]{40})\b/m.exec(message)?.[1] ?? null;
}

function cannotRevert(of: Commit, conflicts: MergeConflict[]): LettaError {
  const where = conflicts.map(describeConflict).join("\n");
  return new LettaError("conflict", `${short(of)} cannot be taken back: the same places changed since.\n${where}`, {
    hint: `Edit the files by hand, or bring a file back whole: letta memory restore PATH --from ${of.oid.slice(0, 7)}~1`,
  });
}

function short({ oid, message }: Commit): string {
  return `${oid.slice(0, 7)} (${subjectOf(message)})`;
}
