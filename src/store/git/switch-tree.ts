// Brings a working tree from one tree to another: only what differs is touched, and a local change there refuses it whole.
// A file that already is what it should become is fine, so a switch that was killed half way continues.

import { LettaError } from "@/lib/errors.ts";
import type { GitContext } from "./context.ts";
import { entriesBelow, findEntry } from "./index-store.ts";
import { assertExpectedHead, commitReason, type Landing, land, putCommit, type Writing, withWriting } from "./land.ts";
import { assertSafePath } from "./names.ts";
import { diffTrees, findItem, listTree } from "./trees.ts";
import type { CommitOptions, FileMode, Identity, Oid, TreeEntry } from "./types.ts";
import { type FileStat, isUnchanged, modeOf, readWorkingOid, statFile } from "./working-file.ts";
import type { PlannedFile } from "./working-tree.ts";

/** Named in an error; the rest is a number. */
const MAX_NAMED = 10;

export function commitTree(
  git: GitContext,
  tree: Oid,
  options: CommitOptions & { parents: readonly Oid[] },
): Promise<Oid> {
  return withWriting(git, "merge", async (writing) => {
    assertExpectedHead(writing, options);
    const { head, headTree } = writing;
    const { parents } = options;
    if (head !== null && !parents.includes(head))
      throw new LettaError("conflict", `${git.dir} has moved on: the new commit would leave out ${head}`, {
        hint: "Look at the new state and try again.",
      });
    const plan = planSwitch(writing, headTree, tree);
    const oid = putCommit(git, tree, parents, options);
    const by = options.committer ?? options.author;
    await land(writing, { ...plan, ref: { to: oid, reason: commitReason(parents, options.message), by } });
    return oid;
  });
}

export function fastForward(
  git: GitContext,
  to: Oid,
  isAncestor: (ancestor: Oid, of: Oid) => boolean,
  { reason, by }: { reason: string; by: Identity },
): Promise<void> {
  return withWriting(git, "fast-forward", async (writing) => {
    const { head, headTree } = writing;
    if (head === to) return;
    if (head !== null && !isAncestor(head, to))
      throw new LettaError("conflict", `${git.dir} cannot be moved forward to ${to}: it has commits of its own`);
    await land(writing, { ...planSwitch(writing, headTree, git.objects.commit(to).tree), ref: { to, reason, by } });
  });
}

/** `tree`: of the revision. */
export function restore(git: GitContext, paths: readonly string[], tree: Oid | null): Promise<void> {
  return withWriting(git, "restore", async (writing) => {
    const { loaded } = writing.index;
    const wanted = new Map<string, TreeEntry>();
    const known = new Set<string>();
    for (const path of paths.length === 0 ? [""] : paths.map((path) => path.replace(/\/+$/, ""))) {
      for (const file of filesBelow(git, tree, path)) wanted.set(file.path, file);
      for (const file of filesBelow(git, writing.headTree, path)) known.add(file.path);
      for (const entry of entriesBelow(loaded.entries, path)) known.add(entry.path);
    }
    const files: PlannedFile[] = [];
    const index: Map<string, { mode: FileMode; oid: Oid } | null> = new Map();
    for (const path of new Set([...wanted.keys(), ...known])) {
      const after = wanted.get(path) ?? null;
      assertSafePath(path);
      index.set(path, after);
      const state = lookAt(writing, path);
      if (!isSame(state, after)) files.push(plan(git, path, after));
    }
    await land(writing, { files, index, ref: null });
  });
}

function planSwitch(writing: Writing, from: Oid | null, to: Oid): Pick<Landing, "files" | "index"> {
  const { git, index } = writing;
  const files: PlannedFile[] = [];
  const entries: Map<string, { mode: FileMode; oid: Oid } | null> = new Map();
  const inTheWay: string[] = [];
  for (const { path, before, after } of diffTrees(git.objects, from, to)) {
    assertSafePath(path);
    const state = lookAt(writing, path);
    const entry = findEntry(index.loaded.entries, path);
    const staged = entry && { mode: entry.mode, oid: entry.oid };
    if ((!isSame(staged, before) && !isSame(staged, after)) || (entry && entry.stage !== 0)) inTheWay.push(path);
    else if (isSame(state, after)) entries.set(path, after);
    else if (isSame(state, before)) {
      files.push(plan(git, path, after));
      entries.set(path, after);
    } else inTheWay.push(path);
  }
  if (inTheWay.length > 0) throw localChanges(inTheWay);
  return { files, index: entries };
}

/** What the working tree has there, as git would name it. */
function lookAt({ git, index: { loaded } }: Writing, path: string): { mode: FileMode; oid: Oid } | null {
  const stat = statFile(git.dir, path);
  const entry = findEntry(loaded.entries, path);
  if (entry?.mode === "160000") return { mode: entry.mode, oid: entry.oid };
  if (!stat || stat.kind === "folder") return null;
  if (entry && entry.stage === 0 && isUnchanged(git, entry, stat, loaded.writtenAt))
    return { mode: entry.mode, oid: entry.oid };
  return hashWorkingFile(git, path, stat, entry?.mode);
}

function hashWorkingFile(
  git: GitContext,
  path: string,
  stat: FileStat,
  known?: FileMode,
): { mode: FileMode; oid: Oid } | null {
  const mode = modeOf(git, stat, known);
  // A pipe or device is nobody's content: `""` equals nothing.
  return { mode: mode ?? "100644", oid: mode ? readWorkingOid(git.dir, path, stat) : "" };
}

function plan(git: GitContext, path: string, after: TreeEntry | null): PlannedFile {
  if (after?.mode === "160000")
    throw new LettaError("invalid_data", `${path} is a submodule; those are not supported here`);
  return { path, content: after && (() => git.objects.blob(after.oid)), mode: after?.mode ?? "100644" };
}

function filesBelow(git: GitContext, tree: Oid | null, path: string): TreeEntry[] {
  const item = findItem(git.objects, tree, path);
  if (!item) return [];
  if (item.mode === "40000") return listTree(git.objects, item.oid, path === "" ? "" : `${path}/`);
  return [{ path, mode: item.mode, oid: item.oid }];
}

function isSame(a: { mode: FileMode; oid: Oid } | null, b: { mode: FileMode; oid: Oid } | null): boolean {
  return a === null || b === null ? a === b : a.oid === b.oid && a.mode === b.mode;
}

function localChanges(paths: readonly string[]): LettaError {
  const more = paths.length > MAX_NAMED ? ` and ${paths.length - MAX_NAMED} more` : "";
  const names = paths.slice(0, MAX_NAMED).join(", ");
  return new LettaError("conflict", `there are local changes in ${names}${more}`, {
    hint: "Commit them or take them back, then try again. Nothing was changed.",
  });
}
