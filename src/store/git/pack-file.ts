// Reads one pack through its index (version 2), object by object: nothing but the index is kept in memory, and sizes are
// checked before anything is inflated.

import { closeSync, fstatSync, openSync, readFileSync, readSync } from "node:fs";
import { inflateSync } from "node:zlib";
import { LettaError } from "@/lib/errors.ts";
import { MAX_DELTA_DEPTH, MAX_OBJECT_BYTES, MAX_TABLE_BYTES } from "./limits.ts";
import type { ObjectType } from "./object-format.ts";
import type { Oid } from "./types.ts";

export interface StoredObject {
  type: ObjectType;
  content: Uint8Array;
}

const TYPES: Record<number, ObjectType> = { 1: "commit", 2: "tree", 3: "blob", 4: "tag" };
const OFFSET_DELTA = 6;
const REF_DELTA = 7;
const FANOUT_AT = 8;
const NAMES_AT = FANOUT_AT + 256 * 4;
/** Type, size and base of an entry: always in the first bytes. */
const HEAD_BYTES = 64;

export class PackFile {
  readonly count: number;
  #file: number | null = null;
  #packSize = 0;
  #offsets: Float64Array | null = null;

  private constructor(
    /** Without the ending. */
    readonly path: string,
    private readonly index: Buffer,
  ) {
    this.count = index.readUInt32BE(FANOUT_AT + 255 * 4);
    if (index.length < NAMES_AT + this.count * 28 + 40) throw this.#broken();
  }

  static open(path: string): PackFile {
    const file = openSync(`${path}.idx`, "r");
    try {
      if (fstatSync(file).size > MAX_TABLE_BYTES) throw new LettaError("invalid_data", `${path}.idx is too large`);
      const index = readFileSync(file);
      if (index.length < NAMES_AT || index.readUInt32BE(0) !== 0xff744f63 || index.readUInt32BE(4) !== 2)
        throw new LettaError("invalid_data", `${path}.idx is not a pack index of version 2`, {
          hint: "`git repack -adf` writes one.",
        });
      return new PackFile(path, index);
    } finally {
      closeSync(file);
    }
  }

  has(oid: Oid): boolean {
    return this.#find(oid) !== -1;
  }

  oids(): Oid[] {
    return Array.from({ length: this.count }, (_, index) => this.#nameAt(index));
  }

  /** Names that begin so. */
  *startingWith(prefix: string): Iterable<Oid> {
    const padded = Buffer.from(prefix.padEnd(40, "0"), "hex");
    for (let index = this.#lowerBound(padded); index < this.count; index++) {
      const oid = this.#nameAt(index);
      if (!oid.startsWith(prefix)) return;
      yield oid;
    }
  }

  /** Null when it is not in here. `readBase` finds an object of a thin delta elsewhere. */
  read(oid: Oid, readBase: (oid: Oid) => StoredObject): StoredObject | null {
    const index = this.#find(oid);
    if (index === -1) return null;
    const deltas: Uint8Array[] = [];
    let at = this.#offsetAt(index);
    for (let depth = 0; depth < MAX_DELTA_DEPTH; depth++) {
      const entry = this.#entryAt(at);
      const type = TYPES[entry.type];
      if (type) return applyAll(type, this.#inflate(entry), deltas, this.path);
      deltas.push(this.#inflate(entry));
      if (entry.base === undefined) throw this.#broken();
      if (typeof entry.base === "number") at = entry.base;
      else {
        const inside = this.#find(entry.base);
        if (inside === -1) {
          const base = readBase(entry.base);
          return applyAll(base.type, base.content, deltas, this.path);
        }
        at = this.#offsetAt(inside);
      }
    }
    throw this.#broken();
  }

  #entryAt(at: number): { type: number; size: number; dataAt: number; base?: number | Oid } {
    const head = this.#bytes(at, HEAD_BYTES);
    let cursor = 0;
    let byte = head[cursor++]!;
    const type = (byte >> 4) & 7;
    let size = byte & 15;
    for (let shift = 4; byte & 0x80; shift += 7) {
      byte = head[cursor++]!;
      size += (byte & 0x7f) * 2 ** shift;
    }
    if (size > MAX_OBJECT_BYTES)
      throw new LettaError("invalid_data", `an object in ${this.path}.pack is too large (${size} bytes)`);
    if (type === OFFSET_DELTA) {
      byte = head[cursor++]!;
      let back = byte & 0x7f;
      while (byte & 0x80) {
        byte = head[cursor++]!;
        back = (back + 1) * 128 + (byte & 0x7f);
      }
      if (back <= 0 || back > at) throw this.#broken();
      return { type, size, dataAt: at + cursor, base: at - back };
    }
    if (type === REF_DELTA)
      return {
        type,
        size,
        dataAt: at + cursor + 20,
        base: Buffer.from(head.subarray(cursor, cursor + 20)).toString("hex"),
      };
    return { type, size, dataAt: at + cursor };
  }

  #inflate({ size, dataAt }: { size: number; dataAt: number }): Uint8Array {
    // Where the compressed data ends is not written anywhere: read what it can be at most (zlib grows by 0.1 %).
    const compressed = this.#bytes(dataAt, size + (size >> 9) + 256);
    try {
      const content = inflateSync(compressed, { maxOutputLength: Math.max(size, 1) });
      if (content.length === size) return content;
    } catch {
      // Told below.
    }
    throw this.#broken();
  }

  #bytes(at: number, length: number): Buffer {
    this.#file ??= this.#openPack();
    if (at + 20 > this.#packSize) throw this.#broken();
    const bytes = Buffer.alloc(Math.min(length, this.#packSize - at));
    let done = 0;
    while (done < bytes.length) {
      const count = readSync(this.#file, bytes, done, bytes.length - done, at + done);
      if (count === 0) throw this.#broken();
      done += count;
    }
    return bytes;
  }

  /** For the reads of this moment: whoever opens a repository does not have to close it. */
  #openPack(): number {
    const file = openSync(`${this.path}.pack`, "r");
    this.#packSize = fstatSync(file).size;
    setImmediate(() => this.#close());
    return file;
  }

  #close(): void {
    if (this.#file !== null) closeSync(this.#file);
    this.#file = null;
  }

  #find(oid: Oid): number {
    const name = Buffer.from(oid, "hex");
    const index = this.#lowerBound(name);
    return index < this.count && this.#compareAt(index, name) === 0 ? index : -1;
  }

  #lowerBound(name: Buffer): number {
    const first = name[0]!;
    let low = first === 0 ? 0 : this.index.readUInt32BE(FANOUT_AT + (first - 1) * 4);
    let high = this.index.readUInt32BE(FANOUT_AT + first * 4);
    if (low > high || high > this.count) throw this.#broken();
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#compareAt(middle, name) < 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  #compareAt(index: number, name: Buffer): number {
    const at = NAMES_AT + index * 20;
    return this.index.compare(name, 0, 20, at, at + 20);
  }

  #nameAt(index: number): Oid {
    return this.index.toString("hex", NAMES_AT + index * 20, NAMES_AT + index * 20 + 20);
  }

  #offsetAt(index: number): number {
    this.#offsets ??= this.#readOffsets();
    return this.#offsets[index]!;
  }

  #readOffsets(): Float64Array {
    const table = NAMES_AT + this.count * 24;
    const large = table + this.count * 4;
    const offsets = new Float64Array(this.count);
    for (let index = 0; index < this.count; index++) {
      const value = this.index.readUInt32BE(table + index * 4);
      const at = large + (value & 0x7fffffff) * 8;
      if (value < 0x80000000) offsets[index] = value;
      else if (at + 8 <= this.index.length) offsets[index] = Number(this.index.readBigUInt64BE(at));
      else throw this.#broken();
    }
    return offsets;
  }

  #broken(): LettaError {
    return new LettaError("invalid_data", `${this.path}.pack is damaged`, { hint: "`git fsck` tells more." });
  }
}

/** `deltas` come outermost first. */
function applyAll(type: ObjectType, base: Uint8Array, deltas: Uint8Array[], path: string): StoredObject {
  let content = base;
  for (const delta of deltas.reverse()) {
    const next = applyDelta(content, delta);
    if (next === null)
      throw new LettaError("invalid_data", `${path}.pack is damaged`, { hint: "`git fsck` tells more." });
    content = next;
  }
  return { type, content };
}

/** Null when the delta does not fit its base. */
function applyDelta(base: Uint8Array, delta: Uint8Array): Uint8Array | null {
  let at = 0;
  const readSize = () => {
    let size = 0;
    for (let shift = 0; ; shift += 7) {
      const byte = delta[at++];
      if (byte === undefined) return -1;
      size += (byte & 0x7f) * 2 ** shift;
      if (!(byte & 0x80)) return size;
    }
  };
  if (readSize() !== base.length) return null;
  const size = readSize();
  if (size < 0 || size > MAX_OBJECT_BYTES) return null;
  const result = Buffer.alloc(size);
  let done = 0;
  while (at < delta.length) {
    const op = delta[at++]!;
    let from: Uint8Array;
    if (op & 0x80) {
      let offset = 0;
      let length = 0;
      for (let bit = 0; bit < 4; bit++) if (op & (1 << bit)) offset += (delta[at++] ?? 0) * 2 ** (bit * 8);
      for (let bit = 0; bit < 3; bit++) if (op & (16 << bit)) length += (delta[at++] ?? 0) * 2 ** (bit * 8);
      length ||= 0x10000;
      if (offset + length > base.length) return null;
      from = base.subarray(offset, offset + length);
    } else {
      if (op === 0 || at + op > delta.length) return null;
      from = delta.subarray(at, at + op);
      at += op;
    }
    if (done + from.length > size) return null;
    result.set(from, done);
    done += from.length;
  }
  return done === size ? result : null;
}
