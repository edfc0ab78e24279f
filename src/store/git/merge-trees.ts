// Three-way merge of trees, in memory: a tree or a list of conflicts comes out, and objects are written only for a tree.
// Works on the files each side changed against the base, so subtrees that are the same are never opened. Policies:
// changed here and deleted there keeps the change, with a note; an exact rename here and a change there are joined;
// links, submodules and binaries are never merged by lines. Swapping the sides gives the same tree, or the same
// conflicts mirrored, as far as the file merger does.

import type {
  ConflictResolver,
  FileMerger,
  FileMode,
  MergeConflict,
  MergeOutcome,
  ObjectStore,
  Oid,
  Resolution,
} from "./types.ts";

export interface MergeSides {
  /** Trees. Null: nothing in common, the base is empty. */
  base: Oid | null;
  ours: Oid;
  theirs: Oid;
}

interface Entry {
  mode: FileMode;
  oid: Oid;
}

/** A file of the result; merged bytes become a blob only when the whole merge is clean. */
type Leaf = Entry | { mode: FileMode; content: Uint8Array };

type Side = "ours" | "theirs";

interface FileChange {
  before: Entry | null;
  after: Entry | null;
}

/** What one side did to the base. */
interface SideChanges {
  files: Map<string, FileChange>;
  /** Deleted path → added path with the same bytes. */
  renamedTo: Map<string, string>;
  renamedFrom: Map<string, string>;
}

const DIRECTORY = "40000";
const EMPTY_BLOB = "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391";
/** As far as git looks for a NUL byte. */
const SNIFFED_BYTES = 8000;

export async function mergeTrees(
  objects: ObjectStore,
  sides: MergeSides,
  mergeFile: FileMerger,
  resolve: ConflictResolver = () => null,
): Promise<MergeOutcome> {
  const ours = await changesOf(objects, sides.base, sides.ours);
  const theirs = await changesOf(objects, sides.base, sides.theirs);
  const draft = new Draft(objects, sides.ours);
  const conflicts: MergeConflict[] = [];
  const notes: string[] = [];

  for (const [path, { after }] of theirs.files) if (!ours.files.has(path)) await draft.set(path, after);
  for (const path of [...ours.files.keys()].filter((path) => theirs.files.has(path)).sort()) {
    const merged = await mergeChange(path);
    for (const [at, leaf] of merged.edits) await draft.set(at, leaf);
    if (merged.note) notes.push(merged.note);
    if (!merged.conflict) continue;
    const resolution = resolve(merged.conflict);
    if (!resolution) conflicts.push(merged.conflict);
    else await draft.set(path, resolved(resolution, ours.files.get(path)!.after, theirs.files.get(path)!.after));
  }
  for (const path of await draft.collisions()) {
    const conflict = await collision(path);
    const resolution = resolve(conflict);
    if (!resolution) conflicts.push(conflict);
    else await settleCollision(path, resolution);
  }

  if (conflicts.length === 0) return { status: "merged", tree: await draft.write(), notes };
  return { status: "conflict", conflicts: conflicts.sort((a, b) => (a.path < b.path ? -1 : 1)) };

  async function mergeChange(path: string): Promise<Merged> {
    const our = ours.files.get(path)!;
    const their = theirs.files.get(path)!;
    if (sameEntry(our.after, their.after)) {
      return our.after === null ? { edits: [], note: renameNote(path) } : { edits: [] };
    }
    if (our.after === null) return keepOrFollow(path, "theirs", their.after!, ours);
    if (their.after === null) return keepOrFollow(path, "ours", our.after, theirs);
    const base = our.before ?? renameBase(path);
    const result = await mergeEntries(objects, path, { base, ours: our.after, theirs: their.after }, mergeFile);
    return "conflict" in result ? { edits: [], conflict: result.conflict } : { edits: [[path, result.leaf]] };
  }

  /** `changer` changed the file, the other side removed it: where that was a rename, the change goes along. */
  function keepOrFollow(path: string, changer: Side, changed: Entry, remover: SideChanges): Merged {
    const target = remover.renamedTo.get(path);
    const changerFiles = changer === "ours" ? ours.files : theirs.files;
    if (target === undefined || changerFiles.has(target)) {
      const note = `${path} was changed on one side and deleted on the other; the changed file is kept.`;
      return { edits: [[path, changed]], note };
    }
    const { before } = remover.files.get(path)!;
    const moved = remover.files.get(target)!.after!;
    const mode = isRegular(changed) && isRegular(moved) ? mergeModes(before, changed, moved) : changed.mode;
    const edits: Merged["edits"] = [
      [path, null],
      [target, { mode, oid: changed.oid }],
    ];
    return {
      edits,
      note: `${path} was renamed to ${target} on one side and changed on the other; ${target} has the change.`,
    };
  }

  /** Both sides have a new file here; one of them moved it unchanged from a path that both have removed. */
  function renameBase(path: string): Entry | null {
    for (const [mover, other] of [
      [ours, theirs],
      [theirs, ours],
    ] as const) {
      const from = mover.renamedFrom.get(path);
      const gone = from === undefined ? undefined : other.files.get(from);
      if (gone && gone.after === null) return gone.before;
    }
    return null;
  }

  function renameNote(path: string): string | undefined {
    const [a, b] = [ours.renamedTo.get(path), theirs.renamedTo.get(path)].filter((to) => to !== undefined).sort();
    if (a === undefined || a === b) return undefined;
    if (b !== undefined) return `${path} was renamed to ${a} on one side and to ${b} on the other; both are kept.`;
    if (ours.files.has(a) && theirs.files.has(a)) return undefined; // Moved by both, rewritten by one.
    // The other side may have moved and rewritten it: then both new files are there anyway.
    return `${path} was renamed to ${a} on one side and removed on the other; ${a} is kept.`;
  }

  async function collision(path: string): Promise<MergeConflict> {
    const [base, our, their] = await Promise.all(
      [sides.base, sides.ours, sides.theirs].map((tree) => oidAt(objects, tree, path)),
    );
    return { path, kind: "file_and_directory", base: base!, ours: our!, theirs: their! };
  }

  async function settleCollision(path: string, resolution: Resolution): Promise<void> {
    if ("content" in resolution) {
      await draft.set(path, { mode: "100644", content: resolution.content });
      return draft.drop(path, "tree");
    }
    // One side has the file, the other the directory; of what both did inside the directory nothing is taken back.
    const chosen = await entryAt(objects, sides[resolution.take], path);
    return draft.drop(path, chosen?.mode === DIRECTORY ? "leaf" : "tree");
  }
}

interface Merged {
  edits: [path: string, leaf: Leaf | null][];
  note?: string | undefined;
  conflict?: MergeConflict;
}

async function mergeEntries(
  objects: ObjectStore,
  path: string,
  { base, ours, theirs }: { base: Entry | null; ours: Entry; theirs: Entry },
  mergeFile: FileMerger,
): Promise<{ leaf: Leaf } | { conflict: MergeConflict }> {
  const conflict = (kind: MergeConflict["kind"]): { conflict: MergeConflict } => ({
    conflict: { path, kind, base: base?.oid ?? null, ours: ours.oid, theirs: theirs.oid },
  });
  const kind = base === null ? "both_added" : "content";
  // Through a rename the base can be one side's file already.
  if (sameEntry(base, ours)) return { leaf: theirs };
  if (sameEntry(base, theirs)) return { leaf: ours };
  if (!isRegular(ours) || !isRegular(theirs)) return conflict("binary");

  const mode = mergeModes(base, ours, theirs);
  if (ours.oid === theirs.oid) return { leaf: { mode, oid: ours.oid } };
  const regularBase = base !== null && isRegular(base) ? base : null;
  if (regularBase?.oid === ours.oid) return { leaf: { mode, oid: theirs.oid } };
  if (regularBase?.oid === theirs.oid) return { leaf: { mode, oid: ours.oid } };

  const contents = {
    base: regularBase === null ? null : await objects.readBlob(regularBase.oid),
    ours: await objects.readBlob(ours.oid),
    theirs: await objects.readBlob(theirs.oid),
  };
  if (Object.values(contents).some((bytes) => bytes !== null && isBinary(bytes))) return conflict("binary");
  const content = await mergeFile({ path, ...contents });
  return content === null ? conflict(kind) : { leaf: { mode, content } };
}

function resolved(resolution: Resolution, ours: Entry | null, theirs: Entry | null): Leaf | null {
  if ("take" in resolution) return resolution.take === "ours" ? ours : theirs;
  const like = [ours, theirs].find((entry) => entry !== null && isRegular(entry));
  return { mode: like?.mode ?? "100644", content: resolution.content };
}

/** Regular files only: the side that changed the mode wins; two new files that disagree are executable. */
function mergeModes(base: Entry | null, ours: Entry, theirs: Entry): FileMode {
  if (ours.mode === theirs.mode) return ours.mode;
  if (base?.mode === ours.mode) return theirs.mode;
  if (base?.mode === theirs.mode) return ours.mode;
  return "100755";
}

async function changesOf(objects: ObjectStore, base: Oid | null, side: Oid): Promise<SideChanges> {
  const files = new Map<string, FileChange>();
  await diff(base, side, "");
  const renamedTo = matchRenames(files);
  return { files, renamedTo, renamedFrom: new Map([...renamedTo].map(([from, to]) => [to, from])) };

  async function diff(before: Oid | null, after: Oid | null, prefix: string): Promise<void> {
    if (before === after) return;
    const [old, now] = await Promise.all([readTree(objects, before), readTree(objects, after)]);
    for (const name of new Set([...old.keys(), ...now.keys()])) {
      const [was, is] = [old.get(name), now.get(name)];
      if (was && is && was.mode === is.mode && was.oid === is.oid) continue;
      const path = prefix + name;
      // A file that became a directory, or the other way round, is both: a file gone and files come.
      const leaf = { before: leafOf(was), after: leafOf(is) };
      if ((leaf.before || leaf.after) && !sameEntry(leaf.before, leaf.after)) files.set(path, leaf);
      await diff(treeOf(was), treeOf(is), `${path}/`);
    }
  }
}

/** Exact renames: a removed file and a new one with the same bytes, the same file name first. Empty files say nothing. */
function matchRenames(files: Map<string, FileChange>): Map<string, string> {
  const added = new Map<Oid, string[]>();
  const removed: { path: string; oid: Oid }[] = [];
  for (const [path, { before, after }] of [...files].sort(([a], [b]) => (a < b ? -1 : 1))) {
    if (before && !after && before.oid !== EMPTY_BLOB) removed.push({ path, oid: before.oid });
    if (after && !before) added.set(after.oid, [...(added.get(after.oid) ?? []), path]);
  }
  const renames = new Map<string, string>();
  const claim = (isTarget: (from: string, to: string) => boolean): void => {
    for (const { path, oid } of removed) {
      if (renames.has(path)) continue;
      const targets = added.get(oid) ?? [];
      const at = targets.findIndex((to) => isTarget(path, to));
      if (at >= 0) renames.set(path, targets.splice(at, 1)[0]!);
    }
  };
  claim((from, to) => baseName(from) === baseName(to));
  claim(() => true);
  return renames;
}

/** One name of a directory: a merge may leave both a file and a directory there until somebody decides. */
interface Slot {
  leaf: Leaf | null;
  /** An oid until something below it is edited. */
  tree: Oid | Map<string, Slot> | null;
}

class Draft {
  private readonly root: Slot;

  constructor(
    private readonly objects: ObjectStore,
    start: Oid,
  ) {
    this.root = { leaf: null, tree: start };
  }

  async set(path: string, leaf: Leaf | null): Promise<void> {
    let slot = this.root;
    for (const name of path.split("/")) {
      const children = await this.open(slot);
      let next = children.get(name);
      if (!next) {
        if (leaf === null) return;
        next = { leaf: null, tree: null };
        children.set(name, next);
      }
      slot = next;
    }
    slot.leaf = leaf;
  }

  async drop(path: string, part: keyof Slot): Promise<void> {
    let slot = this.root;
    for (const name of path.split("/")) slot = (await this.open(slot)).get(name)!;
    slot[part] = null;
  }

  /** Paths at which a file and a directory with files in it meet. */
  async collisions(slot: Slot = this.root, path = ""): Promise<string[]> {
    if (!(slot.tree instanceof Map)) return slot.leaf && slot.tree ? [path] : [];
    if (slot.leaf && hasFiles(slot.tree)) return [path];
    const found: string[] = [];
    for (const [name, child] of [...slot.tree].sort(([a], [b]) => (a < b ? -1 : 1))) {
      found.push(...(await this.collisions(child, path === "" ? name : `${path}/${name}`)));
    }
    return found;
  }

  async write(): Promise<Oid> {
    return (await this.writeTree(this.root.tree)) ?? (await this.objects.writeTree([]));
  }

  private async writeTree(tree: Slot["tree"]): Promise<Oid | null> {
    if (!(tree instanceof Map)) return tree;
    const entries: Parameters<ObjectStore["writeTree"]>[0] = [];
    for (const [name, slot] of tree) {
      const oid = await this.writeTree(slot.tree);
      if (oid !== null) entries.push({ name, mode: DIRECTORY, oid });
      if (slot.leaf) entries.push({ name, mode: slot.leaf.mode, oid: await this.writeLeaf(slot.leaf) });
    }
    return entries.length === 0 ? null : this.objects.writeTree(entries);
  }

  private async writeLeaf(leaf: Leaf): Promise<Oid> {
    return "oid" in leaf ? leaf.oid : this.objects.writeBlob(leaf.content);
  }

  private async open(slot: Slot): Promise<Map<string, Slot>> {
    if (slot.tree instanceof Map) return slot.tree;
    const children = new Map<string, Slot>();
    for (const [name, entry] of await readTree(this.objects, slot.tree)) {
      children.set(name, { leaf: leafOf(entry), tree: treeOf(entry) });
    }
    slot.tree = children;
    return children;
  }
}

function hasFiles(tree: Slot["tree"]): boolean {
  if (!(tree instanceof Map)) return tree !== null;
  return [...tree.values()].some((slot) => slot.leaf !== null || hasFiles(slot.tree));
}

type TreeItem = { mode: FileMode | typeof DIRECTORY; oid: Oid };

async function readTree(objects: ObjectStore, oid: Oid | null): Promise<Map<string, TreeItem>> {
  const items = oid === null ? [] : await objects.readTree(oid);
  return new Map(items.map(({ name, mode, oid }) => [name, { mode, oid }]));
}

async function entryAt(objects: ObjectStore, tree: Oid | null, path: string): Promise<TreeItem | null> {
  let found: TreeItem | undefined = tree === null ? undefined : { mode: DIRECTORY, oid: tree };
  for (const name of path.split("/")) {
    if (found?.mode !== DIRECTORY) return null;
    found = (await readTree(objects, found.oid)).get(name);
  }
  return found ?? null;
}

async function oidAt(objects: ObjectStore, tree: Oid | null, path: string): Promise<Oid | null> {
  return (await entryAt(objects, tree, path))?.oid ?? null;
}

function leafOf(item: TreeItem | undefined): Entry | null {
  return item && item.mode !== DIRECTORY ? { mode: item.mode, oid: item.oid } : null;
}

function treeOf(item: TreeItem | undefined): Oid | null {
  return item?.mode === DIRECTORY ? item.oid : null;
}

function sameEntry(a: Entry | null, b: Entry | null): boolean {
  return a === b || (a !== null && b !== null && a.mode === b.mode && a.oid === b.oid);
}

function isRegular({ mode }: { mode: FileMode }): boolean {
  return mode === "100644" || mode === "100755";
}

function isBinary(bytes: Uint8Array): boolean {
  return bytes.subarray(0, SNIFFED_BYTES).includes(0);
}

function baseName(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}
