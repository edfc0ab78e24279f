// Commits of paths: new blobs are spliced into HEAD's trees, so the cost is that of the change, not of the repository.
// What else is staged or changed stays as it is.

import { join } from "node:path";
import { LettaError } from "@/lib/errors.ts";
import type { GitContext } from "./context.ts";
import { assertExpectedHead, commitReason, type Landing, land, putCommit, type Writing, withWriting } from "./land.ts";
import { isSameContent } from "./landing-journal.ts";
import { assertSafePath, looksLikeGitmodules } from "./names.ts";
import { EMPTY_TREE, hashObject } from "./object-format.ts";
import { inspect, type PathState, toStatus } from "./status.ts";
import { findFile, type Splice, spliceTree } from "./trees.ts";
import type { Change, ChangeOptions, CommitOptions, CommitOutcome, FileMode, Oid } from "./types.ts";
import { modeOf, readWorkingFile, readWorkingOid, statFile } from "./working-file.ts";
import type { PlannedFile } from "./working-tree.ts";

export function commitChanges(
  git: GitContext,
  changes: readonly Change[],
  options: ChangeOptions,
): Promise<CommitOutcome> {
  return withWriting(git, "commit", async (writing) => {
    assertExpectedHead(writing, options);
    const splices = new Map<string, Splice>();
    const files: PlannedFile[] = [];
    for (const change of changes) {
      assertSafePath(change.path);
      if (splices.has(change.path))
        throw new LettaError("invalid_data", `${change.path} is changed twice in one commit`);
      const before = findFile(git.objects, writing.headTree, change.path);
      if (before?.mode === "160000") throw submodule(change.path);
      const { content } = change;
      if (content === null) {
        splices.set(change.path, null);
        files.push({ path: change.path, content: null, mode: "100644" });
        continue;
      }
      // A link gets content only when asked for: otherwise the file takes its place.
      const mode = change.mode ?? (before && before.mode !== "120000" ? before.mode : "100644");
      splices.set(change.path, putFile(git, change.path, mode, content));
      if (!isAlready(git, change.path, mode, content)) files.push({ path: change.path, content: () => content, mode });
    }
    if (options.refuseLocal) {
      const local = (await inspect(git, [...splices.keys()])).filter((state) => !isPlanned(git, state, splices));
      if (local.length > 0) throw options.refuseLocal(local.flatMap(toStatus));
    }
    return await commitSplices(writing, splices, options, { files, index: new Map(splices) });
  });
}

/** What is local there is what the commit will be. */
function isPlanned(git: GitContext, state: PathState, splices: ReadonlyMap<string, Splice>): boolean {
  const { path, head, entry, stat, conflicted } = state;
  const planned = splices.get(path);
  if (planned === undefined || conflicted) return false;
  const isKnown = [head, planned, null].some((known) => isSameContent(entry, known));
  const mode = stat && modeOf(git, stat, planned?.mode);
  const content = stat && mode && { mode, oid: readWorkingOid(git.dir, path, stat) };
  return isKnown && (!stat || mode !== null) && isSameContent(content, planned);
}

export function commitPaths(git: GitContext, paths: readonly string[], options: CommitOptions): Promise<CommitOutcome> {
  return withWriting(git, "commit", async (writing) => {
    assertExpectedHead(writing, options);
    const splices = new Map<string, Splice>();
    const index: Map<string, { mode: FileMode; oid: Oid } | null> = new Map();
    const states = await inspect(git, paths);
    const conflicted = states.filter(({ conflicted }) => conflicted).map(({ path }) => path);
    if (conflicted.length > 0)
      throw new LettaError("conflict", `${conflicted.join(", ")}: git left a conflict there`, {
        hint: "Settle it and `git add` the file, then commit.",
      });
    for (const { path, head, entry, stat } of states) {
      assertSafePath(path);
      if (entry?.mode === "160000" || head?.mode === "160000") continue;
      const mode = stat && modeOf(git, stat, entry?.mode ?? head?.mode);
      if (!stat || !mode) {
        splices.set(path, null);
        index.set(path, null);
        continue;
      }
      const file = putFile(git, path, mode, readWorkingFile(git.dir, path, stat));
      splices.set(path, file);
      index.set(path, { ...file, stat } as { mode: FileMode; oid: Oid });
      await git.objects.relieve();
    }
    return await commitSplices(writing, splices, options, { files: [], index });
  });
}

async function commitSplices(
  writing: Writing,
  splices: ReadonlyMap<string, Splice>,
  options: CommitOptions,
  { files, index }: Pick<Landing, "files" | "index">,
): Promise<CommitOutcome> {
  const { git, head, headTree } = writing;
  const tree = spliceTree(git.objects, headTree, splices) ?? EMPTY_TREE;
  if (tree === (headTree ?? EMPTY_TREE)) {
    // The commit is there already; the working tree may not be.
    await land(writing, { files, index, ref: null });
    return { status: "unchanged" };
  }
  const parents = head === null ? [] : [head];
  const paths = changedPaths(writing, splices);
  const oid = putCommit(git, tree, parents, options);
  const by = options.committer ?? options.author;
  await land(writing, { files, index, ref: { to: oid, reason: commitReason(parents, options.message), by } });
  return { status: "committed", oid, paths };
}

function changedPaths({ git, headTree }: Writing, splices: ReadonlyMap<string, Splice>): string[] {
  return [...splices]
    .filter(([path, splice]) => {
      const before = findFile(git.objects, headTree, path);
      return before?.oid !== splice?.oid || before?.mode !== splice?.mode;
    })
    .map(([path]) => path)
    .sort();
}

function putFile(git: GitContext, path: string, mode: FileMode, content: Uint8Array): { mode: FileMode; oid: Oid } {
  const name = path.slice(path.lastIndexOf("/") + 1);
  if (looksLikeGitmodules(name)) throw submodule(path);
  // Real git's fsck refuses such a file.
  if (name.toLowerCase() === ".gitattributes" && hasLongLine(content))
    throw new LettaError("invalid_data", `${join(git.dir, path)} has a line that is too long for git`);
  return { mode, oid: git.objects.put("blob", content) };
}

function isAlready(git: GitContext, path: string, mode: FileMode, content: Uint8Array): boolean {
  const stat = statFile(git.dir, path);
  if (!stat || stat.kind === "folder" || modeOf(git, stat, mode) !== mode) return false;
  return (
    stat.bytes === content.length &&
    hashObject("blob", readWorkingFile(git.dir, path, stat)) === hashObject("blob", content)
  );
}

function hasLongLine(content: Uint8Array): boolean {
  return Buffer.from(content)
    .toString("latin1")
    .split("\n")
    .some((line) => line.length > 2_000);
}

function submodule(path: string): LettaError {
  return new LettaError("invalid_data", `${path} belongs to a submodule; those are not supported here`);
}
