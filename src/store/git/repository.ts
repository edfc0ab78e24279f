// The git engine's front door. Loaded when a repository is needed, never at start-up.

import { LettaError, systemErrorCode } from "@/lib/errors.ts";
import { storageError } from "@/store/atomic-file.ts";
import { blame } from "./blame.ts";
import { commitChanges, commitPaths } from "./commit.ts";
import type { GitContext } from "./context.ts";
import { findMergeBases, isAncestor, walkHistory } from "./history.ts";
import { type InitOptions, prepareRepository, writeConfig } from "./init.ts";
import { footprint, maintain } from "./maintain.ts";
import { mergeCommits } from "./merge.ts";
import { type OpenOptions, openContext, readConfig } from "./open.ts";
import { findOperation } from "./operation.ts";
import { resolveRevision, resolveTree } from "./revisions.ts";
import { readStatus } from "./status.ts";
import { commitTree, fastForward, restore } from "./switch-tree.ts";
import { diffTrees, findFile, listTree } from "./trees.ts";
import type { GitRepository, LogOptions, Oid } from "./types.ts";
import { addWorktree, listWorktrees, removeWorktree } from "./worktrees.ts";

const DEFAULT_LOG_LIMIT = 50;

/** Throws `not_found` when there is none, `invalid_data` for what the engine cannot keep whole. */
export async function openRepository(dir: string, options: OpenOptions = {}): Promise<GitRepository> {
  return guarded(dir, () => createRepository(openContext(dir, options), options));
}

/** Makes it, or puts back what is missing and refreshes settings and hooks. */
export async function initRepository(dir: string, options: InitOptions & OpenOptions): Promise<GitRepository> {
  await prepareRepository(dir, options);
  return openRepository(dir, options);
}

function createRepository(git: GitContext, options: OpenOptions): GitRepository {
  const { objects, refs } = git;
  const run = <T>(action: () => T | Promise<T>) => guarded(git.dir, action);
  const treeOf = (revision: string | null): Oid | null => (revision === null ? null : resolveTree(git, revision));
  return {
    dir: git.dir,
    objects,

    resolve: (revision) => run(() => resolveRevision(git, revision)),
    currentBranch: () => run(() => refs.head().branch),
    listRefs: (prefix) => run(() => refs.list(prefix)),
    updateRef: (ref, { from, to, reason, by }) =>
      run(async () => {
        await objects.flush();
        if (to !== null && !objects.has(to)) throw new LettaError("not_found", `there is no object ${to}`);
        using lock = await refs.lock(ref);
        if (lock.current !== from)
          throw new LettaError(
            "conflict",
            `${ref} has moved on: it is ${lock.current ?? "gone"}, not ${from ?? "new"}`,
          );
        if (from !== to) await lock.set(to, reason, by);
      }),

    listFiles: (revision) => run(() => listTree(objects, treeOf(revision))),
    readFile: (revision, path) =>
      run(() => {
        const file = findFile(objects, treeOf(revision), path);
        return file && file.mode !== "160000" ? objects.blob(file.oid) : null;
      }),
    log: (options) => log(git, options),
    blame: (revision, path) =>
      run(() => {
        const from = resolveRevision(git, revision);
        return from === null ? null : blame(objects, from, path);
      }),
    diffTrees: (from, to) => run(() => diffTrees(objects, treeOf(from), treeOf(to))),
    findMergeBase: (a, b) => run(() => findMergeBases(objects, a, b)[0] ?? null),
    isAncestor: (ancestor, of) => run(() => isAncestor(objects, ancestor, of)),

    status: ({ paths } = {}) => run(() => readStatus(git, paths)),
    operation: () => run(() => findOperation(git.gitDir)),

    commitChanges: (changes, options) => run(() => commitChanges(git, changes, options)),
    commitPaths: (paths, options) => run(() => commitPaths(git, paths, options)),
    commitTree: (tree, options) => run(() => commitTree(git, tree, options)),
    fastForward: (to, options) =>
      run(() => fastForward(git, to, (ancestor, of) => isAncestor(objects, ancestor, of), options)),
    restore: (paths, revision) => run(() => restore(git, paths, treeOf(revision))),
    merge: (ours, theirs, mergeFile, resolve) => run(() => mergeCommits(objects, ours, theirs, mergeFile, resolve)),

    addWorktree: (worktree) =>
      run(async () => {
        await addWorktree(git, worktree);
        return openRepository(worktree.dir, options);
      }),
    listWorktrees: () => run(() => listWorktrees(git)),
    removeWorktree: (dir) => run(() => removeWorktree(git, dir)),

    getConfig: (name) => readConfig(git.commonDir).get(name),
    setConfig: (values) =>
      run(() =>
        writeConfig(git, (config) => {
          for (const [name, value] of Object.entries(values)) config.set(name, value);
        }),
      ),
    maintain: ({ maxLoose } = {}) => run(() => maintain(git, maxLoose)),
    footprint: () => run(() => footprint(git)),
  };
}

async function* log(git: GitContext, { from = "HEAD", path, limit = DEFAULT_LOG_LIMIT, firstParent }: LogOptions = {}) {
  const start = await guarded(git.dir, () => resolveRevision(git, from));
  if (start === null) return;
  yield* walkHistory(git.objects, start, { limit, ...(path && { path }), ...(firstParent && { firstParent }) });
}

/** What the system says about a file becomes an error of ours that names it. */
async function guarded<T>(dir: string, action: () => T | Promise<T>): Promise<T> {
  try {
    return await action();
  } catch (error) {
    if (error instanceof LettaError || systemErrorCode(error) === undefined) throw error;
    const path = (error as { path?: unknown }).path;
    throw storageError(`the repository ${dir} cannot be used (${typeof path === "string" ? path : "disk"})`, error);
  }
}
