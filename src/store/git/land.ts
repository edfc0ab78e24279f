// The one way a change reaches the repository. In this order, under the writer's lock, `index.lock` and the ref's lock:
//
//   objects → files written aside → working tree (renames) → index → ref → reflog
//
// The ref is last, so a kill in between leaves HEAD what it was: the new files then show up as local changes, which the
// next commit takes, or which the same change finds already there when it is made again. The other way round HEAD would
// be ahead of the files, and the next commit of "everything" would silently take the change back.

import { LettaError } from "@/lib/errors.ts";
import { storageError } from "@/store/atomic-file.ts";
import type { GitContext } from "./context.ts";
import type { IndexEntry } from "./index-file.ts";
import { entriesBelow, findEntry, type IndexLock, type IndexUpdate, type LoadedIndex } from "./index-store.ts";
import { withWriterLock } from "./locks.ts";
import { parentsOf } from "./names.ts";
import { EMPTY_TREE, formatCommit, signatureNow } from "./object-format.ts";
import { findOperation } from "./operation.ts";
import type { RefLock } from "./refs.ts";
import type { CommitOptions, FileMode, Identity, Oid } from "./types.ts";
import { type FileStat, statFile } from "./working-file.ts";
import { type PlannedFile, WorkingTreeChange } from "./working-tree.ts";

/** What a writer sees: nobody else of ours, and no git, changes index or HEAD meanwhile. */
export interface Writing {
  readonly git: GitContext;
  readonly index: IndexLock;
  readonly ref: RefLock;
  readonly head: Oid | null;
  readonly headTree: Oid | null;
}

export interface Landing {
  /** Of the working tree. */
  files: readonly PlannedFile[];
  /** What the index gets for these paths; null: not tracked any more. `stat` is looked up when it is not given. */
  index: ReadonlyMap<string, { mode: FileMode; oid: Oid; stat?: FileStat } | null>;
  /** Null: the ref stays. */
  ref: { to: Oid; reason: string; by: Identity } | null;
}

export function withWriting<T>(git: GitContext, purpose: string, write: (writing: Writing) => Promise<T>): Promise<T> {
  return withWriterLock(git.writerLock, purpose, async () => {
    git.scratch.sweep();
    const operation = findOperation(git.gitDir);
    if (operation)
      throw new LettaError("conflict", `${git.dir} is in the middle of a ${operation}`, {
        hint: `Finish it with git, or take it back with \`git ${operation} --abort\`.`,
      });
    using index = await git.index.lock();
    using ref = await git.refs.lockHead();
    const head = ref.current;
    return await write({ git, index, ref, head, headTree: head === null ? null : git.objects.commit(head).tree });
  });
}

/** Without `ref`, the landing has none either. */
export async function land(
  { git, index, ref }: Pick<Writing, "git" | "index"> & { ref: RefLock | null },
  landing: Landing,
): Promise<void> {
  await git.objects.flush();
  const change = new WorkingTreeChange(git);
  let indexUpdate: IndexUpdate | null = null;
  try {
    await change.stage(landing.files);
    await change.publish();
    const entries = indexEntries(git, index, landing);
    if (entries.size > 0) indexUpdate = await index.update(entries);
    if (landing.ref) await ref?.set(landing.ref.to, landing.ref.reason, landing.ref.by);
  } catch (error) {
    try {
      indexUpdate?.takeBack();
    } finally {
      await change.rollBack();
    }
    throw error instanceof LettaError ? error : storageError(`cannot change ${git.dir}`, error);
  }
  indexUpdate?.keep();
  change.finish();
}

/** Throws `conflict` when HEAD is another one than the caller saw. */
export function assertExpectedHead(
  { git, head }: Writing,
  { expectedHead }: Pick<CommitOptions, "expectedHead">,
): void {
  if (expectedHead === undefined || expectedHead === head) return;
  throw new LettaError(
    "conflict",
    `${git.dir} has moved on: HEAD is ${head ?? "empty"}, not ${expectedHead ?? "empty"}`,
    {
      hint: "Look at the new state and try again.",
    },
  );
}

/** Not on the disk before `land`. */
export function putCommit(git: GitContext, tree: Oid, parents: readonly Oid[], options: CommitOptions): Oid {
  const nowMs = git.now();
  const { author, committer = author, message } = options;
  // Nobody needs it written to read it, but a commit may not name what is not there.
  if (tree === EMPTY_TREE) git.objects.put("tree", new Uint8Array());
  return git.objects.put(
    "commit",
    formatCommit({
      tree,
      parents,
      author: signatureNow(author, nowMs),
      committer: signatureNow(committer, nowMs),
      message,
    }),
  );
}

/** For the reflog, as git words it. */
export function commitReason(parents: readonly Oid[], message: string): string {
  const kind = parents.length === 0 ? "commit (initial)" : parents.length > 1 ? "commit (merge)" : "commit";
  return `${kind}: ${message.trim().split("\n")[0]}`;
}

function indexEntries(git: GitContext, { loaded }: IndexLock, { index }: Landing): Map<string, IndexEntry | null> {
  const entries = new Map<string, IndexEntry | null>();
  for (const [path, wanted] of index) {
    const before = findEntry(loaded.entries, path);
    if (!wanted) {
      if (before) entries.set(path, null);
      continue;
    }
    const stat = wanted.stat ?? statFile(git.dir, path) ?? NO_STAT;
    const { mode, oid } = wanted;
    entries.set(path, { ...toStatData(stat), path, mode, oid, stage: 0, ...NO_FLAGS });
  }
  // A file in the place of a folder, or the other way round, cannot stay in the index beside it.
  for (const [path, entry] of [...entries]) {
    if (!entry) continue;
    const beside = [
      ...parentsOf(path).filter((parent) => findEntry(loaded.entries, parent)),
      ...pathsBelow(loaded, path),
    ];
    for (const other of beside) if (!entries.has(other)) entries.set(other, null);
  }
  return entries;
}

function pathsBelow({ entries }: LoadedIndex, path: string): string[] {
  return entriesBelow(entries, path).flatMap((entry) => (entry.path === path ? [] : [entry.path]));
}

const NO_FLAGS = { assumeValid: false, skipWorktree: false, intentToAdd: false };
const NO_STAT: FileStat = {
  kind: "other",
  executable: false,
  bytes: 0,
  permissions: 0,
  ctimeSeconds: 0,
  ctimeNanos: 0,
  mtimeSeconds: 0,
  mtimeNanos: 0,
  dev: 0,
  ino: 0,
  uid: 0,
  gid: 0,
  size: 0,
};

function toStatData(stat: FileStat) {
  const { ctimeSeconds, ctimeNanos, mtimeSeconds, mtimeNanos, dev, ino, uid, gid, size } = stat;
  return { ctimeSeconds, ctimeNanos, mtimeSeconds, mtimeNanos, dev, ino, uid, gid, size };
}
