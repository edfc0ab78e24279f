// Working tree against index against HEAD. One walk over the folders, one lstat per file; content is read only where the
// system's answer is not enough. Links are never followed; what git ignores is left out.

import { readdirSync } from "node:fs";
import { join } from "node:path";
import { systemErrorCode } from "@/lib/errors.ts";
import type { GitContext } from "./context.ts";
import { type IgnoreRules, isIgnored, readFolderIgnoreRules, readIgnoreRules } from "./ignore-rules.ts";
import type { IndexEntry } from "./index-file.ts";
import { entriesBelow } from "./index-store.ts";
import { compareNames, decodeName, isAtOrBelow, toDiskPath } from "./names.ts";
import { findItem, listTree } from "./trees.ts";
import type { FileState, FileStatus, TreeEntry } from "./types.ts";
import { type FileStat, isUnchanged, statFile, statHere } from "./working-file.ts";

/** A path that is not the same in all three places. */
export interface PathState {
  path: string;
  head: TreeEntry | null;
  /** Null: not tracked. */
  entry: IndexEntry | null;
  conflicted: boolean;
  /** `unchanged`: as in the index. */
  file: "unchanged" | "changed" | "missing" | "untracked";
  /** Null for `missing`. */
  stat: FileStat | null;
}

/** Files looked at before other work gets a turn. */
const BREATH = 1_000;

export async function readStatus(git: GitContext, paths?: readonly string[]): Promise<FileStatus[]> {
  return (await inspect(git, paths)).flatMap(toStatus);
}

/** Ordered by path. At or below `paths` only, when given and not empty. */
export async function inspect(git: GitContext, paths?: readonly string[]): Promise<PathState[]> {
  const head = git.refs.head().oid;
  const tree = head === null ? null : git.objects.commit(head).tree;
  const loaded = git.index.load();
  const roots = outermost(paths ?? []);
  const entries = roots.length === 0 ? loaded.entries : roots.flatMap((root) => entriesBelow(loaded.entries, root));
  const states = new Map<string, PathState>();
  const stateOf = (path: string): PathState => {
    let state = states.get(path);
    if (!state) {
      state = { path, head: null, entry: null, conflicted: false, file: "missing", stat: null };
      states.set(path, state);
    }
    return state;
  };
  for (const entry of entries) {
    const state = stateOf(entry.path);
    if (entry.stage !== 0) state.conflicted = true;
    else state.entry = entry;
  }
  for (const file of headFiles(git, tree, roots)) stateOf(file.path).head = file;
  const folders = new Set<string>();
  for (const { path } of entries) addFolders(folders, path);
  let looked = 0;
  for await (const { path, stat } of walk(git, roots, folders, (path) => states.has(path))) {
    const state = states.get(path);
    if (!state) {
      states.set(path, { path, head: null, entry: null, conflicted: false, file: "untracked", stat });
      continue;
    }
    state.stat = stat;
    if (!state.entry) state.file = "untracked";
    else state.file = isUnchanged(git, state.entry, stat, loaded.writtenAt) ? "unchanged" : "changed";
    if (++looked % BREATH === 0) await breathe();
  }
  for (const state of states.values()) {
    // A submodule is another repository's business, a sparse checkout leaves files out on purpose.
    if (state.entry?.mode === "160000" || (state.entry?.skipWorktree && state.file === "missing"))
      state.file = "unchanged";
  }
  return [...states.values()].filter(isOfInterest).sort((a, b) => compareNames(a.path, b.path));
}

/** The index differs from HEAD. */
export function isStaged({ head, entry, conflicted }: PathState): boolean {
  if (conflicted) return false;
  if (!head || !entry) return head !== null || (entry !== null && !entry.intentToAdd);
  return head.oid !== entry.oid || head.mode !== entry.mode;
}

export function breathe(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

function isOfInterest(state: PathState): boolean {
  if (!state.head && !state.entry && !state.conflicted && state.file === "missing") return false;
  return state.conflicted || state.file !== "unchanged" || isStaged(state);
}

export function toStatus(state: PathState): FileStatus[] {
  const { path, head, entry, file } = state;
  const staged = isStaged(state);
  const as = (is: FileState, isStaged = staged): FileStatus => ({ path, state: is, staged: isStaged });
  if (state.conflicted) return [as("conflicted")];
  if (!entry) {
    const untracked = file === "untracked" ? [as("untracked", false)] : [];
    // `git rm --cached`: gone for the next commit, and still there.
    return head ? [as("deleted"), ...untracked] : untracked;
  }
  if (file === "missing") return [as("deleted")];
  return [as(head ? "modified" : "added")];
}

function* headFiles(git: GitContext, tree: string | null, roots: readonly string[]): Iterable<TreeEntry> {
  if (roots.length === 0) {
    yield* listTree(git.objects, tree);
    return;
  }
  for (const root of roots) {
    const item = findItem(git.objects, tree, root);
    if (item?.mode === "40000") yield* listTree(git.objects, item.oid, `${root}/`);
    else if (item) yield { path: root, mode: item.mode, oid: item.oid };
  }
}

/** None of them is inside another one. */
function outermost(paths: readonly string[]): string[] {
  const plain = paths.map((path) => path.replace(/\/+$/, ""));
  if (plain.includes("")) return [];
  return [...new Set(plain)].filter((path) => !plain.some((other) => other !== path && isAtOrBelow(path, other)));
}

function addFolders(folders: Set<string>, path: string): void {
  for (let slash = path.lastIndexOf("/"); slash > 0; slash = path.lastIndexOf("/", slash - 1)) {
    const folder = path.slice(0, slash);
    if (folders.has(folder)) return;
    folders.add(folder);
  }
}

interface Found {
  path: string;
  stat: FileStat;
}

/** Files and links that are tracked, or neither tracked nor ignored. */
async function* walk(
  git: GitContext,
  roots: readonly string[],
  trackedFolders: ReadonlySet<string>,
  isTracked: (path: string) => boolean,
): AsyncIterable<Found> {
  const exclude = readIgnoreRules(join(git.commonDir, "info", "exclude"), "");
  const base = exclude ? [exclude] : [];
  const walker: Walker = { git, trackedFolders, isTracked };
  if (roots.length === 0) {
    yield* walkFolder(walker, "", base, false);
    return;
  }
  for (const root of roots) {
    const stat = statFile(git.dir, root);
    if (!stat) continue;
    const above = rulesAbove(git.dir, root, base);
    const ignored = above.ignored || isIgnored(above.rules, root, stat.kind === "folder");
    if (stat.kind === "folder") yield* walkFolder(walker, `${root}/`, above.rules, ignored);
    else if (isTracked(root) || (!ignored && stat.kind !== "other")) yield { path: root, stat };
  }
}

interface Walker {
  git: GitContext;
  trackedFolders: ReadonlySet<string>;
  isTracked: (path: string) => boolean;
}

async function* walkFolder(
  walker: Walker,
  prefix: string,
  above: readonly IgnoreRules[],
  ignored: boolean,
): AsyncIterable<Found> {
  const { git, trackedFolders, isTracked } = walker;
  const names = readNames(git.dir, prefix);
  const own =
    !ignored && names.some(({ name }) => name === ".gitignore") ? readFolderIgnoreRules(git.dir, prefix) : null;
  const rules = own ? [...above, own] : above;
  for (const { name, isFolder } of names) {
    const path = prefix + name;
    if (name.toLowerCase() === ".git") continue;
    if (isFolder && !isTracked(path)) {
      const hasTracked = trackedFolders.has(path);
      const skip = ignored || isIgnored(rules, path, true);
      // A repository inside the repository is its own.
      if (!hasTracked && (skip || statHere(git.dir, `${path}/.git`))) continue;
      yield* walkFolder(walker, `${path}/`, rules, skip);
      continue;
    }
    if (!isTracked(path) && (ignored || isIgnored(rules, path, false))) continue;
    const stat = statHere(git.dir, path);
    // Gone again, or a pipe, socket or device, which git does not keep.
    if (stat && (stat.kind === "file" || stat.kind === "link")) yield { path, stat };
  }
}

/** The rules that count at `path`, and whether a folder it is in is ignored. */
function rulesAbove(dir: string, path: string, base: IgnoreRules[]): { rules: IgnoreRules[]; ignored: boolean } {
  const rules = [...base];
  let ignored = false;
  for (let slash = -1; ; ) {
    const own = readFolderIgnoreRules(dir, path.slice(0, slash + 1));
    if (own) rules.push(own);
    slash = path.indexOf("/", slash + 1);
    if (slash === -1) return { rules, ignored };
    ignored ||= isIgnored(rules, path.slice(0, slash), true);
  }
}

function readNames(dir: string, prefix: string): { name: string; isFolder: boolean }[] {
  try {
    const entries = readdirSync(toDiskPath(dir, prefix), { withFileTypes: true });
    if (!entries.some(({ name }) => name.includes("\ufffd")))
      return entries.map((entry) => ({ name: entry.name, isFolder: entry.isDirectory() }));
    // Perhaps not UTF-8.
    return readdirSync(toDiskPath(dir, prefix), { encoding: "buffer" }).map((bytes) => {
      const name = decodeName(bytes);
      return { name, isFolder: statHere(dir, prefix + name)?.kind === "folder" };
    });
  } catch (error) {
    if (["ENOENT", "ENOTDIR"].includes(systemErrorCode(error) ?? "")) return [];
    throw error;
  }
}
