// Linked working trees, as `git worktree` makes them. Each is drafted with a mark that names the process (`locked`, which
// keeps git from pruning it), then gets its branch, is registered, and filled; the mark goes last. What a killed process
// leaves is found by the mark and removed whole.

import { lstatSync, readdirSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { LettaError } from "@/lib/errors.ts";
import { isLockOwnerDead, storageError } from "@/store/atomic-file.ts";
import { readSmall } from "@/store/git-root.ts";
import { currentOwner } from "@/store/owner.ts";
import type { GitContext } from "./context.ts";
import { ensureFolder, isFolder, listFolder, removeFolder, removeQuietly } from "./folders.ts";
import { isAncestor } from "./history.ts";
import { type Landing, land } from "./land.ts";
import { withWriterLock } from "./locks.ts";
import { assertRefName, isRefName } from "./names.ts";
import { isOid } from "./object-format.ts";
import { openContext, realFolder } from "./open.ts";
import { Refs } from "./refs.ts";
import { listTree } from "./trees.ts";
import type { FileMode, Identity, Oid, Worktree } from "./types.ts";

export interface NewWorktree {
  dir: string;
  /** `refs/heads/` may be left out. */
  branch: string;
  from: Oid;
}

/** Committer of the reflog line: the branch is nobody's yet. */
const NOBODY: Identity = { name: "unknown", email: "unknown" };

export async function addWorktree(git: GitContext, { dir, branch, from }: NewWorktree): Promise<void> {
  const root = resolve(dir);
  const ref = branch.startsWith("refs/heads/") ? branch : `refs/heads/${branch}`;
  assertRefName(ref);
  const tree = git.objects.commit(from).tree;
  await withWriterLock(git.writerLock, "worktree", async () => {
    git.scratch.sweep();
    sweepHalfMade(git);
    if (lstatSync(root, { throwIfNoEntry: false }) && !(isFolder(root) && readdirSync(root).length === 0))
      throw new LettaError("conflict", `${root} exists already`);
    await git.objects.flush();
    using lock = await git.refs.lock(ref);
    if (lock.current !== null) throw new LettaError("conflict", `the branch ${ref} exists already`);
    const { draft, admin } = await makeDraft(git, { root, ref, from });
    try {
      // Registered without its branch, real git's fsck would complain.
      await lock.set(from, `branch: Created from ${from}`, NOBODY);
      git.disk.rename(draft, admin);
      await fill(git, { root, admin, tree });
      git.disk.remove(join(admin, "locked"));
    } catch (error) {
      removeFolder(git.disk, draft);
      unmake(git, { root, admin });
      await lock.set(null, "", NOBODY);
      throw error instanceof LettaError ? error : storageError(`cannot make the working tree ${root}`, error);
    }
  });
}

/** The main one first. Those whose folder is gone are left out. */
export function listWorktrees(git: GitContext): Worktree[] {
  const main = { dir: dirname(git.commonDir), gitDir: git.commonDir };
  const linked = adminFolders(git).map((gitDir) => ({ dir: folderOf(gitDir), gitDir }));
  return [main, ...linked].flatMap(({ dir, gitDir }) => {
    if (dir === null || !isFolder(dir) || !lstatSync(join(gitDir, "HEAD"), { throwIfNoEntry: false })) return [];
    const { branch, oid } = new Refs(gitDir, git.commonDir, git.disk, git.scratch, git.now).head();
    return [{ dir, branch, head: oid }];
  });
}

export async function removeWorktree(git: GitContext, dir: string): Promise<void> {
  const root = realFolder(resolve(dir));
  await withWriterLock(git.writerLock, "worktree", async () => {
    const admin = adminFolders(git).find((folder) => {
      const known = folderOf(folder);
      return known !== null && realFolder(known) === root;
    });
    if (!admin) throw new LettaError("not_found", `${root} is not a linked working tree of ${git.dir}`);
    const lock = readSmall(join(admin, "locked"));
    if (lock !== null && !isLockOwnerDead(lock))
      throw new LettaError("conflict", `the working tree ${root} is locked`, {
        hint: "`git worktree unlock` releases it.",
      });
    if (isFolder(root) && !leadsTo(root, admin) && readdirSync(root).length > 0)
      throw new LettaError("conflict", `${root} is not the working tree it was made as`, {
        hint: "Look at it, and delete it by hand.",
      });
    unmake(git, { root, admin });
  });
}

/** Only under the writer's lock: those whose folder is gone, and those of killed processes. */
export function pruneWorktrees(git: GitContext): void {
  sweepHalfMade(git);
  for (const admin of adminFolders(git)) {
    if (lstatSync(join(admin, "locked"), { throwIfNoEntry: false })) continue;
    const root = folderOf(admin);
    if (root === null || !lstatSync(join(root, ".git"), { throwIfNoEntry: false })) removeAdmin(git, admin);
  }
}

/** Where it is written, and where it belongs. */
async function makeDraft(
  git: GitContext,
  { root, ref, from }: { root: string; ref: string; from: Oid },
): Promise<{ draft: string; admin: string }> {
  const { disk } = git;
  const folder = join(git.commonDir, "worktrees");
  ensureFolder(disk, folder);
  const plain = basename(root).replace(/[^A-Za-z0-9._-]/g, "-");
  const name = plain.replace(/^\.+|(\.lock|\.)+$/g, "") || "worktree";
  const taken = new Set(listFolder(folder).map((taken) => taken.toLowerCase()));
  let id = name;
  for (let number = 1; taken.has(id.toLowerCase()); number++) id = `${name}${number}`;
  const draft = newDraft(git);
  disk.makeDir(draft);
  // The mark first: a draft without one is nobody's.
  const files = {
    locked: `${JSON.stringify({ ...currentOwner(), branch: ref, from })}\n`,
    HEAD: `ref: ${ref}\n`,
    commondir: "../..\n",
    gitdir: `${join(root, ".git")}\n`,
  };
  for (const [file, text] of Object.entries(files))
    await disk.create(join(draft, file), [new TextEncoder().encode(text)], { mode: 0o644, durable: true });
  return { draft, admin: join(folder, id) };
}

async function fill(git: GitContext, { root, admin, tree }: { root: string; admin: string; tree: Oid }): Promise<void> {
  const { disk } = git;
  makeFolders(git, root);
  await disk.create(join(root, ".git"), [new TextEncoder().encode(`gitdir: ${admin}\n`)], {
    mode: 0o644,
    durable: true,
  });
  const linked = openContext(root, { disk, now: git.now });
  const files = listTree(git.objects, tree).filter(({ mode }) => mode !== "160000");
  const index: Map<string, { mode: FileMode; oid: Oid }> = new Map(files.map((file) => [file.path, file]));
  const landing: Landing = {
    files: files.map(({ path, mode, oid }) => ({ path, mode, content: () => git.objects.blob(oid) })),
    index,
    ref: null,
  };
  using lock = await linked.index.lock();
  await land({ git: linked, index: lock, ref: null }, landing);
}

function makeFolders(git: GitContext, path: string): void {
  if (!lstatSync(dirname(path), { throwIfNoEntry: false })) makeFolders(git, dirname(path));
  ensureFolder(git.disk, path);
}

function unmake(git: GitContext, { root, admin }: { root: string; admin: string }): void {
  // The `.git` file last: until then the folder can be recognised, and removing it goes on.
  if (isFolder(root) && (leadsTo(root, admin) || readdirSync(root).length === 0)) removeFolder(git.disk, root, ".git");
  removeAdmin(git, admin);
}

/** Out of git's sight in one step: half of one would be damage to it. */
function removeAdmin(git: GitContext, admin: string): void {
  if (!isFolder(admin)) return;
  const draft = newDraft(git);
  git.disk.rename(admin, draft);
  removeFolder(git.disk, draft);
  try {
    git.disk.removeDir(dirname(admin));
  } catch {
    // There are others.
  }
}

/** Only under the writer's lock: nobody alive is making one. */
function sweepHalfMade(git: GitContext): void {
  for (const draft of subfolders(draftsFolder(git))) {
    removeBranchOf(git, readSmall(join(draft, "locked")) ?? "");
    removeFolder(git.disk, draft, "locked");
  }
  for (const admin of adminFolders(git)) {
    const text = readSmall(join(admin, "locked"));
    if (!text?.startsWith("{") || !isLockOwnerDead(text)) continue;
    removeBranchOf(git, text);
    const root = folderOf(admin);
    if (root !== null) unmake(git, { root, admin });
    else removeAdmin(git, admin);
  }
}

/** It was made for the working tree, unless somebody has committed to it since. A repository that came from elsewhere can
 *  bring marks along: a branch that is the only way to its commit stays. */
function removeBranchOf(git: GitContext, mark: string): void {
  const { branch, from } = readMark(mark);
  const path = join(git.commonDir, branch);
  if (branch === "" || readSmall(path)?.trim() !== from) return;
  if (readSmall(join(git.commonDir, "HEAD"))?.trim() === `ref: ${branch}`) return;
  const head = new Refs(git.commonDir, git.commonDir, git.disk, git.scratch, git.now).head().oid;
  if (head !== null && isAncestor(git.objects, from, head)) removeQuietly(git.disk, path);
}

function readMark(text: string): { branch: string; from: string } {
  let mark: { branch?: unknown; from?: unknown };
  try {
    mark = JSON.parse(text) as typeof mark;
  } catch {
    return { branch: "", from: "" }; // Half written: the branch was not made yet.
  }
  const { branch, from } = mark;
  if (typeof branch !== "string" || !branch.startsWith("refs/heads/")) return { branch: "", from: "" };
  if (typeof from !== "string" || !isOid(from) || !isRefName(branch)) return { branch: "", from: "" };
  return { branch, from };
}

function adminFolders(git: GitContext): string[] {
  return subfolders(join(git.commonDir, "worktrees"));
}

function newDraft(git: GitContext): string {
  for (const folder of [join(git.commonDir, "letta"), draftsFolder(git)]) ensureFolder(git.disk, folder);
  return join(draftsFolder(git), crypto.randomUUID());
}

function draftsFolder(git: GitContext): string {
  return join(git.commonDir, "letta", "worktrees");
}

function subfolders(folder: string): string[] {
  return listFolder(folder)
    .map((name) => join(folder, name))
    .filter(isFolder);
}

/** Null when it says nothing. */
function folderOf(admin: string): string | null {
  const text = readSmall(join(admin, "gitdir"))?.trim();
  return text ? dirname(resolve(admin, text)) : null;
}

function leadsTo(root: string, admin: string): boolean {
  const target = /^gitdir: *(.+?)\s*$/.exec(readSmall(join(root, ".git")) ?? "")?.[1];
  return target !== undefined && realFolder(resolve(root, target)) === realFolder(admin);
}
