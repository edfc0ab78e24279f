// The one way a change reaches the repository. In this order, under the writer's lock, `index.lock` and the ref's lock:
//
//   objects → files written aside → working tree (renames) → index → ref → reflog
//
// The ref is last, so a kill in between leaves HEAD what it was, and nobody was told of a commit. The next writer takes
// the rest back: what the landing was to write is in its journal, and a file that still holds exactly that, while HEAD
// does not, becomes what it was before. A file with any other content is somebody's work and stays. The other way round
// HEAD would be ahead of the files, and the next commit of "everything" would silently take the change back.

import { LettaError } from "@/lib/errors.ts";
import { storageError } from "@/store/atomic-file.ts";
import type { GitContext } from "./context.ts";
import type { IndexEntry } from "./index-file.ts";
import { entriesBelow, findEntry, type IndexLock, type IndexUpdate, type LoadedIndex } from "./index-store.ts";
import { type Content, isSameContent, readJournal, removeJournal, type Step, writeJournal } from "./landing-journal.ts";
import { withWriterLock } from "./locks.ts";
import { parentsOf } from "./names.ts";
import { EMPTY_TREE, formatCommit, hashObject, signatureNow } from "./object-format.ts";
import { findOperation } from "./operation.ts";
import type { RefLock } from "./refs.ts";
import { findFile } from "./trees.ts";
import type { CommitOptions, FileMode, Identity, Oid } from "./types.ts";
import { type FileStat, modeOf, readWorkingFile, statFile } from "./working-file.ts";
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
    const killed = readJournal(git);
    if (killed) {
      await withHead(git, (writing) => takeBack(writing, killed));
      removeJournal(git);
    }
    return await withHead(git, write);
  });
}

async function withHead<T>(git: GitContext, write: (writing: Writing) => Promise<T>): Promise<T> {
  using index = await git.index.lock();
  using ref = await git.refs.lockHead();
  const head = ref.current;
  return await write({ git, index, ref, head, headTree: head === null ? null : git.objects.commit(head).tree });
}

/** What a killed landing did to files and index. */
async function takeBack({ git, index, headTree }: Writing, steps: readonly Step[]): Promise<void> {
  const files: PlannedFile[] = [];
  const entries = new Map<string, Content>();
  const isThere = (content: Content) => content === null || git.objects.has(content.oid);
  for (const { path, file, index: entry } of steps) {
    const committed = findFile(git.objects, headTree, path);
    const found = findEntry(index.loaded.entries, path);
    const isStaged = found?.stage !== undefined && found.stage !== 0;
    if (
      !isStaged &&
      isSameContent(found, entry.after) &&
      !isSameContent(committed, entry.after) &&
      isThere(entry.before)
    )
      entries.set(path, entry.before);
    if (!file || isSameContent(committed, file.after) || !isThere(file.before)) continue;
    if (!isSameContent(contentOf(git, path, file.after?.mode), file.after)) continue;
    const { before } = file;
    files.push({
      path,
      content: before && (() => git.objects.blob(before.oid)),
      mode: before?.mode ?? "100644",
    });
    // Also for the file's times, which the entry holds.
    if (!entries.has(path) && !isStaged && isSameContent(found, before)) entries.set(path, before);
  }
  if (files.length > 0 || entries.size > 0) await land({ git, index, ref: null }, { files, index: entries, ref: null });
}

/** For whom a kill in the middle must be told from a person's work; what is overwritten is kept as an object. */
function planSteps({ git, index }: Pick<Writing, "git" | "index">, landing: Landing): Step[] {
  const written = new Set(landing.files.map(({ path }) => path));
  return [...landing.index].map(([path, after]) => {
    const wanted = after && { mode: after.mode, oid: after.oid };
    const found = findEntry(index.loaded.entries, path);
    const entry = found && { mode: found.mode, oid: found.oid };
    if (!written.has(path)) return { path, file: null, index: { before: entry, after: wanted } };
    const before = contentOf(git, path, found?.mode, (content) => git.objects.put("blob", content));
    return { path, file: { before, after: wanted }, index: { before: entry, after: wanted } };
  });
}

/** What the working tree has there. A folder, or what git does not keep, is nothing. */
function contentOf(
  git: GitContext,
  path: string,
  known: FileMode | undefined,
  name: (content: Uint8Array) => Oid = (content) => hashObject("blob", content),
): Content {
  const stat = statFile(git.dir, path);
  const mode = stat && modeOf(git, stat, known);
  return stat && mode && { mode, oid: name(readWorkingFile(git.dir, path, stat)) };
}

/** Without `ref`, the landing has none either. */
export async function land(
  { git, index, ref }: Pick<Writing, "git" | "index"> & { ref: RefLock | null },
  landing: Landing,
): Promise<void> {
  // Files that are there already, and a restore, are what a person put or wants there.
  const steps = landing.ref && landing.files.length > 0 ? planSteps({ git, index }, landing) : null;
  await git.objects.flush();
  const change = new WorkingTreeChange(git);
  let indexUpdate: IndexUpdate | null = null;
  try {
    await change.stage(landing.files);
    if (steps) await writeJournal(git, steps);
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
    if (steps) removeJournal(git);
    throw error instanceof LettaError ? error : storageError(`cannot change ${git.dir}`, error);
  }
  if (steps) removeJournal(git);
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
