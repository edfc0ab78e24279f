// The objects of one repository: loose files and packs, read in place. New objects wait in memory until something is about
// to name them; `flush` then makes them durable together (each file written aside, synced, renamed), so no ref can ever
// point to half an object. Many at once become one pack.
//
// Alternates, grafts and replace refs are not looked at: a repository cannot make us read anything outside its folder.

import { lstatSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { deflateSync, inflateSync } from "node:zlib";
import { LettaError, systemErrorCode } from "@/lib/errors.ts";
import type { Disk } from "./disk.ts";
import { ensureFolder, listFolder, removeQuietly } from "./folders.ts";
import { MAX_CACHED_OBJECTS, MAX_OBJECT_BYTES, MAX_PENDING_BYTES, PACK_FROM_OBJECTS } from "./limits.ts";
import {
  EMPTY_TREE,
  formatTree,
  hashObject,
  isOid,
  type ObjectType,
  objectHeader,
  parseCommit,
  parseTree,
  type TreeItem,
} from "./object-format.ts";
import { PackFile, type StoredObject } from "./pack-file.ts";
import { writePack } from "./pack-write.ts";
import type { Scratch } from "./scratch.ts";
import type { Commit, ObjectStore, Oid } from "./types.ts";

export class Objects implements ObjectStore {
  #packs: PackFile[] | null = null;
  /** When its list was read. */
  #packFolderTime = -1;
  readonly #pending = new Map<Oid, StoredObject>();
  #pendingBytes = 0;
  /** Flushes run one after the other: the second must not name what the first is still writing. */
  #flushing: Promise<void> = Promise.resolve();
  readonly #trees = new Map<Oid, readonly TreeItem[]>();
  readonly #commits = new Map<Oid, Commit>();

  constructor(
    /** `…/objects`. */
    readonly dir: string,
    private readonly disk: Disk,
    private readonly scratch: Scratch,
  ) {}

  readCommit = async (oid: Oid): Promise<Commit> => this.commit(oid);
  readBlob = async (oid: Oid): Promise<Uint8Array> => this.blob(oid);
  readTree = async (oid: Oid): Promise<TreeItem[]> => [...this.tree(oid)];

  writeBlob = async (content: Uint8Array): Promise<Oid> => this.put("blob", content);

  writeTree = async (entries: readonly TreeItem[]): Promise<Oid> => this.put("tree", formatTree(entries));

  commit(oid: Oid): Commit {
    const cached = this.#commits.get(oid);
    if (cached) return cached;
    const commit = parseCommit(oid, this.#readAs("commit", oid));
    remember(this.#commits, oid, commit);
    return commit;
  }

  tree(oid: Oid): readonly TreeItem[] {
    if (oid === EMPTY_TREE) return [];
    const cached = this.#trees.get(oid);
    if (cached) return cached;
    const tree = parseTree(oid, this.#readAs("tree", oid));
    remember(this.#trees, oid, tree);
    return tree;
  }

  blob(oid: Oid): Uint8Array {
    return this.#readAs("blob", oid);
  }

  /** Throws `not_found` when absent. */
  read(oid: Oid): StoredObject {
    const found = this.#find(oid);
    if (!found)
      throw new LettaError("not_found", `object ${oid} is missing in ${this.dir}`, {
        hint: "`git fsck` tells what else is. A backup or another copy of the repository may have it.",
      });
    return found;
  }

  has(oid: Oid): boolean {
    if (oid === EMPTY_TREE || this.#pending.has(oid) || this.#looseExists(oid)) return true;
    return this.#inPacks((pack) => (pack.has(oid) ? true : null)) ?? false;
  }

  /** Not on the disk before `flush`. */
  put(type: ObjectType, content: Uint8Array): Oid {
    if (content.length > MAX_OBJECT_BYTES)
      throw new LettaError(
        "invalid_data",
        `${content.length} bytes are more than one file may have (${MAX_OBJECT_BYTES})`,
      );
    const oid = hashObject(type, content);
    if (this.#pending.has(oid) || this.#looseExists(oid) || this.#inPacks((pack) => pack.has(oid) || null)) return oid;
    // The caller may reuse its buffer.
    this.#pending.set(oid, { type, content: content.slice() });
    this.#pendingBytes += content.length;
    return oid;
  }

  /** For loops that write much: brings what waits to the disk when it has become too much for memory. */
  async relieve(): Promise<void> {
    if (this.#pendingBytes > MAX_PENDING_BYTES) await this.flush();
  }

  /** Everything written so far is durable when it returns. */
  flush(): Promise<void> {
    const done = this.#flushing.then(() => this.#flushPending());
    this.#flushing = done.catch(() => undefined);
    return done;
  }

  /** What begins so; two or more are ambiguous. */
  findByPrefix(prefix: string): Oid[] {
    const found = new Set<Oid>();
    for (const oid of this.#pending.keys()) if (oid.startsWith(prefix)) found.add(oid);
    for (const name of listFolder(join(this.dir, prefix.slice(0, 2)))) {
      const oid = prefix.slice(0, 2) + name;
      if (isOid(oid) && oid.startsWith(prefix)) found.add(oid);
    }
    for (const pack of this.packs()) for (const oid of pack.startingWith(prefix)) found.add(oid);
    return [...found];
  }

  /** Loose objects on the disk. */
  listLoose(): Oid[] {
    const oids: Oid[] = [];
    for (const folder of listFolder(this.dir)) {
      if (!/^[0-9a-f]{2}$/.test(folder)) continue;
      for (const name of listFolder(join(this.dir, folder))) if (isOid(folder + name)) oids.push(folder + name);
    }
    return oids;
  }

  loosePath(oid: Oid): string {
    return join(this.dir, oid.slice(0, 2), oid.slice(2));
  }

  packs(): PackFile[] {
    this.#packs ??= this.#openPacks([]);
    return this.#packs;
  }

  /** Packs have come or gone. */
  rescanPacks(): void {
    this.#packs = this.#openPacks(this.#packs ?? []);
  }

  /** Returns its path, without the ending. */
  async writePack(oids: readonly Oid[]): Promise<string> {
    const folder = join(this.dir, "pack");
    ensureFolder(this.disk, folder);
    const path = await writePack(this.disk, { folder, scratch: this.scratch }, oids, (oid) => this.read(oid));
    this.rescanPacks();
    return path;
  }

  async #flushPending(): Promise<void> {
    const batch = [...this.#pending];
    if (batch.length === 0) return;
    if (batch.length >= PACK_FROM_OBJECTS) await this.writePack(batch.map(([oid]) => oid));
    else await this.#writeLoose(batch);
    for (const [oid, { content }] of batch) {
      this.#pending.delete(oid);
      this.#pendingBytes -= content.length;
    }
  }

  async #writeLoose(batch: readonly [Oid, StoredObject][]): Promise<void> {
    const files = batch.map(([oid]) => ({ oid, temporary: this.scratch.path(), written: false }));
    try {
      const writes = batch.map(async ([, { type, content }], index) => {
        const file = files[index]!;
        const bytes = deflateSync(Buffer.concat([objectHeader(type, content.length), content]), { level: 6 });
        await this.disk.create(file.temporary, [bytes], { mode: 0o444, durable: true });
        file.written = true;
      });
      const failed = (await Promise.allSettled(writes)).find((result) => result.status === "rejected");
      if (failed) throw failed.reason;
      const folders = new Set<string>();
      for (const file of files) {
        const folder = join(this.dir, file.oid.slice(0, 2));
        ensureFolder(this.disk, folder);
        folders.add(folder);
        this.disk.rename(file.temporary, this.loosePath(file.oid));
        file.written = false;
      }
      await Promise.all([...folders].map((folder) => this.disk.syncDir(folder)));
    } finally {
      for (const { temporary, written } of files) if (written) removeQuietly(this.disk, temporary);
    }
  }

  #readAs(type: ObjectType, oid: Oid): Uint8Array {
    const found = this.read(oid);
    if (found.type !== type) throw new LettaError("invalid_data", `object ${oid} is a ${found.type}, not a ${type}`);
    return found.content;
  }

  #find(oid: Oid): StoredObject | null {
    if (oid === EMPTY_TREE) return { type: "tree", content: new Uint8Array() };
    const pending = this.#pending.get(oid);
    if (pending) return pending;
    if (!isOid(oid)) return null;
    const found = this.#readLoose(oid) ?? this.#inPacks((pack) => pack.read(oid, (base) => this.read(base)));
    if (found && hashObject(found.type, found.content) !== oid) throw damaged(oid);
    return found;
  }

  #readLoose(oid: Oid): StoredObject | null {
    const path = this.loosePath(oid);
    const stat = lstatSync(path, { throwIfNoEntry: false });
    if (!stat) return null;
    // Not through a link out of the repository, and not from a pipe, which would never end.
    if (!stat.isFile() || stat.size > MAX_OBJECT_BYTES) throw damaged(oid);
    let bytes: Buffer;
    try {
      bytes = inflateSync(readFileSync(path), { maxOutputLength: MAX_OBJECT_BYTES + 64 });
    } catch (error) {
      // Packed and removed by another process a moment ago.
      if (systemErrorCode(error) === "ENOENT") return null;
      if (["EACCES", "EIO", "EPERM"].includes(systemErrorCode(error) ?? "")) throw error;
      throw damaged(oid);
    }
    const end = bytes.indexOf(0);
    const header = /^(commit|tree|blob|tag) (\d+)$/.exec(bytes.toString("latin1", 0, Math.min(end, 40)));
    if (end === -1 || !header || Number(header[2]) !== bytes.length - end - 1) throw damaged(oid);
    return { type: header[1] as ObjectType, content: bytes.subarray(end + 1) };
  }

  #looseExists(oid: Oid): boolean {
    return lstatSync(this.loosePath(oid), { throwIfNoEntry: false })?.isFile() ?? false;
  }

  /** Looks again for new packs before it gives up: another process may have packed the object meanwhile. */
  #inPacks<T>(look: (pack: PackFile) => T | null): T | null {
    const known = this.packs();
    for (const pack of known) {
      const found = this.#lookInto(pack, look);
      if (found !== null) return found;
    }
    if (!this.#packsChanged()) return null;
    this.rescanPacks();
    for (const pack of this.packs()) {
      const found = known.includes(pack) ? null : this.#lookInto(pack, look);
      if (found !== null) return found;
    }
    return null;
  }

  #lookInto<T>(pack: PackFile, look: (pack: PackFile) => T | null): T | null {
    try {
      return look(pack);
    } catch (error) {
      // Repacked by another process since its index was read.
      if (systemErrorCode(error) === "ENOENT") return null;
      throw error;
    }
  }

  #packsChanged(): boolean {
    return this.#packFolderTime !== folderTime(join(this.dir, "pack"));
  }

  #openPacks(known: readonly PackFile[]): PackFile[] {
    const folder = join(this.dir, "pack");
    this.#packFolderTime = folderTime(folder);
    const names = listFolder(folder).filter((name) => name.endsWith(".idx"));
    const paths = names.map((name) => join(folder, name.slice(0, -".idx".length)));
    const packs: PackFile[] = [];
    for (const path of paths) {
      const open = known.find((pack) => pack.path === path) ?? openIfThere(path);
      if (open) packs.push(open);
    }
    return packs;
  }
}

function openIfThere(path: string): PackFile | null {
  try {
    if (!lstatSync(`${path}.idx`).isFile() || !lstatSync(`${path}.pack`).isFile()) return null;
    return PackFile.open(path);
  } catch (error) {
    if (systemErrorCode(error) === "ENOENT") return null;
    throw error;
  }
}

function folderTime(path: string): number {
  return lstatSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0;
}

/** The oldest go first. */
function remember<T>(cache: Map<Oid, T>, oid: Oid, value: T): void {
  if (cache.size >= MAX_CACHED_OBJECTS) cache.delete(cache.keys().next().value!);
  cache.set(oid, value);
}

function damaged(oid: Oid): LettaError {
  return new LettaError("invalid_data", `object ${oid} cannot be read: it is damaged`, {
    hint: "`git fsck` tells more. A backup or another copy of the repository may have it.",
  });
}
