// Trees by path: look up, list, compare, and splice changes into. Synchronous on purpose: an object is a file read away,
// and equal subtrees are never opened.

import { LettaError } from "@/lib/errors.ts";
import { MAX_DEPTH } from "./limits.ts";
import { compareNames, isAtOrBelow } from "./names.ts";
import { formatTree, type TreeItem } from "./object-format.ts";
import type { Objects } from "./objects.ts";
import type { FileMode, Oid, TreeEntry } from "./types.ts";

export interface TreeDifference {
  path: string;
  before: TreeEntry | null;
  after: TreeEntry | null;
}

/** What a path becomes; null: it is gone. */
export type Splice = { mode: FileMode; oid: Oid } | null;

/** Files below, in the order of the index. */
export function listTree(objects: Objects, tree: Oid | null, prefix = "", files: TreeEntry[] = []): TreeEntry[] {
  walk(objects, tree, prefix, files, 0);
  // Folders sort as if they ended with `/`, so the walk is in the order of the index but for names with such bytes.
  return files;
}

/** Null for what is not there, and for folders. */
export function findFile(objects: Objects, tree: Oid | null, path: string): TreeEntry | null {
  const item = findItem(objects, tree, path);
  return item && item.mode !== "40000" ? { path, mode: item.mode, oid: item.oid } : null;
}

/** File or folder. */
export function findItem(objects: Objects, tree: Oid | null, path: string): TreeItem | null {
  let current: TreeItem | null = tree === null ? null : { name: "", mode: "40000", oid: tree };
  for (const name of path === "" ? [] : path.split("/")) {
    if (current?.mode !== "40000") return null;
    current = objects.tree(current.oid).find((item) => item.name === name) ?? null;
  }
  return current;
}

/** At or below one of `paths` only, when given. Ordered by path. */
export function diffTrees(
  objects: Objects,
  from: Oid | null,
  to: Oid | null,
  paths?: readonly string[],
): TreeDifference[] {
  const found: TreeDifference[] = [];
  compare(objects, { from, to, prefix: "", depth: 0 }, paths ?? null, found);
  return found.sort((a, b) => compareNames(a.path, b.path));
}

/** The tree with these paths changed; folders that become empty go. Null when nothing is left. A path that would need a
 *  file to be a folder, or the other way round, is refused unless the other one goes in the same splice. */
export function spliceTree(objects: Objects, tree: Oid | null, changes: ReadonlyMap<string, Splice>): Oid | null {
  const root: SpliceNode = { inner: new Map() };
  for (const [path, splice] of changes) addToNode(root, path, splice);
  return spliceFolder(objects, tree, root, "");
}

interface SpliceNode {
  inner: Map<string, SpliceNode>;
  /** Of the file of this name itself. */
  leaf?: Splice;
}

function addToNode(root: SpliceNode, path: string, splice: Splice): void {
  let node = root;
  for (const name of path.split("/")) {
    let next = node.inner.get(name);
    if (!next) {
      next = { inner: new Map() };
      node.inner.set(name, next);
    }
    node = next;
  }
  node.leaf = splice;
}

function spliceFolder(objects: Objects, tree: Oid | null, node: SpliceNode, prefix: string): Oid | null {
  const items = new Map((tree === null ? [] : objects.tree(tree)).map((item) => [item.name, item]));
  for (const [name, change] of node.inner) {
    const path = prefix + name;
    const before = items.get(name);
    const isFolder = before?.mode === "40000";
    // A deletion of the file makes room for a folder of the same name, and of all files for a file.
    const folder =
      change.inner.size > 0
        ? spliceFolder(objects, isFolder ? before.oid : null, change, `${path}/`)
        : isFolder
          ? before.oid
          : null;
    const file =
      change.leaf === undefined
        ? before && !isFolder
          ? { mode: before.mode as FileMode, oid: before.oid }
          : null
        : change.leaf;
    if (folder !== null && file !== null)
      throw new LettaError("conflict", `${JSON.stringify(path)} cannot be both a file and a folder`);
    if (file) items.set(name, { name, ...file });
    else if (folder) items.set(name, { name, mode: "40000", oid: folder });
    else items.delete(name);
  }
  return items.size === 0 ? null : objects.put("tree", formatTree([...items.values()]));
}

function walk(objects: Objects, tree: Oid | null, prefix: string, files: TreeEntry[], depth: number): void {
  if (tree === null) return;
  assertDepth(depth, prefix);
  for (const { name, mode, oid } of objects.tree(tree)) {
    if (mode === "40000") walk(objects, oid, `${prefix}${name}/`, files, depth + 1);
    else files.push({ path: prefix + name, mode, oid });
  }
}

function compare(
  objects: Objects,
  { from, to, prefix, depth }: { from: Oid | null; to: Oid | null; prefix: string; depth: number },
  paths: readonly string[] | null,
  found: TreeDifference[],
): void {
  if (from === to) return;
  assertDepth(depth, prefix);
  const before = new Map((from === null ? [] : objects.tree(from)).map((item) => [item.name, item]));
  const after = new Map((to === null ? [] : objects.tree(to)).map((item) => [item.name, item]));
  for (const name of new Set([...before.keys(), ...after.keys()])) {
    const path = prefix + name;
    if (paths && !paths.some((wanted) => isAtOrBelow(path, wanted) || isAtOrBelow(wanted, path))) continue;
    const [left, right] = [before.get(name), after.get(name)];
    if (left && right && left.oid === right.oid && left.mode === right.mode) continue;
    const folderOf = (item: TreeItem | undefined) => (item?.mode === "40000" ? item.oid : null);
    const fileOf = (item: TreeItem | undefined): TreeEntry | null =>
      item && item.mode !== "40000" && (!paths || paths.some((wanted) => isAtOrBelow(path, wanted)))
        ? { path, mode: item.mode, oid: item.oid }
        : null;
    compare(objects, { from: folderOf(left), to: folderOf(right), prefix: `${path}/`, depth: depth + 1 }, paths, found);
    const [fileBefore, fileAfter] = [fileOf(left), fileOf(right)];
    if (fileBefore || fileAfter) found.push({ path, before: fileBefore, after: fileAfter });
  }
}

/** A hostile tree can be deeper than any file system, and a recursion as deep ends the process. */
function assertDepth(depth: number, prefix: string): void {
  if (depth > MAX_DEPTH)
    throw new LettaError(
      "invalid_data",
      `the folder ${JSON.stringify(prefix.slice(0, 80))}… is more than ${MAX_DEPTH} deep`,
    );
}
