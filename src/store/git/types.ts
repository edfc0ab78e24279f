// A git repository as the rest of the product sees it: whole operations that leave it valid for real git at every
// instant, whatever is killed when. No git program is needed. Writers hold `memory.lock`, then real git's own locks
// (`index.lock`, `refs/**.lock`), for the moment of writing only; readers never lock.

import type { ObjectType } from "./object-format.ts";

/** 40 lower-case hex digits. */
export type Oid = string;

/** Regular file, executable file, symbolic link (content is its target). Submodules are kept but never made. */
export type FileMode = "100644" | "100755" | "120000" | "160000";

export interface Identity {
  name: string;
  email: string;
}

export interface Signature extends Identity {
  /** ISO time with the offset it was made at. */
  at: string;
}

export interface Commit {
  oid: Oid;
  tree: Oid;
  parents: Oid[];
  author: Signature;
  committer: Signature;
  /** Ends with a newline. */
  message: string;
}

export interface TreeEntry {
  /** From the top of the tree, `/` between segments. */
  path: string;
  mode: FileMode;
  oid: Oid;
}

/** One path of a commit to be made. */
export type Change = { path: string; content: Uint8Array; mode?: FileMode } | { path: string; content: null };

/** Reads and writes objects; knows nothing of a working tree. What a merge needs. */
export interface ObjectStore {
  /** Throws `not_found` when absent. */
  readCommit(oid: Oid): Promise<Commit>;
  readBlob(oid: Oid): Promise<Uint8Array>;
  /** One level: names without `/`; a directory has mode `40000`. Sorted as git sorts. */
  readTree(oid: Oid): Promise<{ name: string; mode: FileMode | "40000"; oid: Oid }[]>;
  writeBlob(content: Uint8Array): Promise<Oid>;
  /** Entries in any order; an empty list is the empty tree. */
  writeTree(entries: { name: string; mode: FileMode | "40000"; oid: Oid }[]): Promise<Oid>;
}

/** The same objects as they are stored, for what moves them between repositories. */
export interface StoredObjects {
  has(oid: Oid): boolean;
  /** Throws `not_found`. */
  read(oid: Oid): { type: ObjectType; content: Uint8Array };
  /** Durable after `flush`. */
  put(type: ObjectType, content: Uint8Array): Oid;
  flush(): Promise<void>;
}

export type FileState = "added" | "modified" | "deleted" | "untracked" | "conflicted";

export interface FileStatus {
  path: string;
  state: FileState;
  /** The index differs from HEAD. */
  staged: boolean;
}

/** Something half done that real git left behind; nothing of ours leaves one. */
export type Operation = "merge" | "rebase" | "cherry-pick" | "revert";

export interface CommitOptions {
  message: string;
  author: Identity;
  /** Default: the author. */
  committer?: Identity;
  /** The commit is refused with `conflict` when HEAD is another one by now. */
  expectedHead?: Oid | null;
}

export type CommitOutcome = { status: "committed"; oid: Oid; paths: string[] } | { status: "unchanged" };

/** Two sides changed the same place. Nothing was written. */
export interface MergeConflict {
  path: string;
  kind: "content" | "both_added" | "modified_deleted" | "file_and_directory" | "binary";
  base: Oid | null;
  ours: Oid | null;
  theirs: Oid | null;
}

export type MergeOutcome =
  | { status: "merged"; tree: Oid; notes: string[] }
  | { status: "conflict"; conflicts: MergeConflict[] };

/** Merges one file that both sides changed; null: they contradict each other. `base` is null when both added it. */
export type FileMerger = (file: {
  path: string;
  base: Uint8Array | null;
  ours: Uint8Array;
  theirs: Uint8Array;
}) => Promise<Uint8Array | null> | Uint8Array | null;

/** What a person decided about one conflict: a side's version, or bytes of their own. */
export type Resolution = { take: "ours" | "theirs" } | { content: Uint8Array };

/** Asked once per conflict; null leaves it one. */
export type ConflictResolver = (conflict: MergeConflict) => Resolution | null;

export interface Worktree {
  /** Absolute. */
  dir: string;
  /** `refs/heads/…`, null when detached. */
  branch: string | null;
  head: Oid | null;
}

export interface LogOptions {
  /** Branch, ref, oid or `HEAD` (default). */
  from?: string;
  /** Only commits that changed something at or below it. */
  path?: string;
  /** Default 50. */
  limit?: number;
  firstParent?: boolean;
}

/** One line of a file, and the commit it came in with. */
export interface BlameLine {
  /** Without the line end. */
  text: string;
  commit: Commit;
  /** Its number there, from 1. */
  line: number;
}

export interface GitRepository {
  /** Of this working tree; absolute. */
  readonly dir: string;
  readonly objects: ObjectStore & StoredObjects;

  /** Null for a branch without a commit, and for what does not exist. Takes `HEAD`, branches, full refs, tags, oids
   *  (4 digits or more when unambiguous), and `~N`, `^`, `^N` behind them. */
  resolve(revision: string): Promise<Oid | null>;
  /** `refs/heads/…` that HEAD names, null when detached. */
  currentBranch(): Promise<string | null>;
  listRefs(prefix: string): Promise<{ ref: string; oid: Oid }[]>;
  /** Compare and swap under the ref's lock, with a reflog line for branches. `to` null deletes. Throws `conflict`. */
  updateRef(ref: string, change: { from: Oid | null; to: Oid | null; reason: string; by: Identity }): Promise<void>;

  /** Every file of a commit or tree, recursively. */
  listFiles(revision: string): Promise<TreeEntry[]>;
  /** Null when the revision has no such file. */
  readFile(revision: string, path: string): Promise<Uint8Array | null>;
  log(options?: LogOptions): AsyncIterable<Commit>;
  /** Which commit each line of a file comes from, along first parents. Null: no such file, or not text. */
  blame(revision: string, path: string): Promise<BlameLine[] | null>;
  /** What differs between two trees or commits; null is the empty tree. */
  diffTrees(
    from: string | null,
    to: string | null,
  ): Promise<{ path: string; before: TreeEntry | null; after: TreeEntry | null }[]>;
  findMergeBase(a: Oid, b: Oid): Promise<Oid | null>;
  isAncestor(ancestor: Oid, of: Oid): Promise<boolean>;

  /** Working tree against index against HEAD; ignored files are left out. `paths` limits what is looked at. */
  status(options?: { paths?: string[] }): Promise<FileStatus[]>;
  /** What real git has half done here. */
  operation(): Promise<Operation | null>;

  /** Writes the files into the working tree, and one commit of exactly them; other changes there stay as they are. A
   *  failure leaves working tree, index and branch as they were. */
  commitChanges(changes: Change[], options: CommitOptions): Promise<CommitOutcome>;
  /** Commits what the working tree has at or below these paths (`[]`: everywhere), deletions included. */
  commitPaths(paths: string[], options: CommitOptions): Promise<CommitOutcome>;
  /** A commit with these parents and this tree on the current branch, the working tree brought along: only paths that
   *  differ are touched, and one with local changes refuses it whole (`conflict`). HEAD must be among the parents. The
   *  empty tree and no parents make an empty first commit. */
  commitTree(tree: Oid, options: CommitOptions & { parents: Oid[] }): Promise<Oid>;
  /** Moves the current branch forward to a descendant, with the working tree; refuses as `commitTree` does. */
  fastForward(to: Oid, options: { reason: string; by: Identity }): Promise<void>;
  /** Brings these paths of the working tree and index back to what the revision has. */
  restore(paths: string[], revision: string): Promise<void>;
  /** Three-way merge in memory: neither the working tree nor a ref is touched. */
  merge(ours: Oid, theirs: Oid, mergeFile: FileMerger, resolve?: ConflictResolver): Promise<MergeOutcome>;

  /** A linked working tree with a new branch at `from`, which real git accepts. */
  addWorktree(options: { dir: string; branch: string; from: Oid }): Promise<GitRepository>;
  listWorktrees(): Promise<Worktree[]>;
  /** Removes folder and metadata; the branch stays. */
  removeWorktree(dir: string): Promise<void>;
  /** A setting of `.git/config` (`user.name`, `remote.origin.url`), the last one when there are several. */
  getConfig(name: string): string | null;
  /** Null removes. Under git's `config.lock`. */
  setConfig(values: Record<string, string | null>): Promise<void>;

  /** Packs loose objects when there are many (`maxLoose`, default 2,000), prunes worktrees whose folder is gone, sweeps
   *  stale locks of ours. */
  maintain(options?: { maxLoose?: number }): Promise<void>;
  /** Bytes of all objects on disk, and whether `maintain` would find something worth its while. */
  footprint(): Promise<{ bytes: number; untidy: boolean }>;
}
