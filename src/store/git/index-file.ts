// Git's index: which blob each tracked file had when it was last looked at, and what the file looked like to the system
// then. Pure. Reads versions 2 to 4; writes 2, or 3 where an entry needs it. Extensions are caches of what the entries say
// and are left out when writing; those that change what entries mean (split and sparse indexes) are refused.

import { LettaError } from "@/lib/errors.ts";
import { compareNames, decodeName, encodeName } from "./names.ts";
import type { FileMode, Oid } from "./types.ts";

/** What lstat said. Seconds and nanoseconds cut to 32 bits, as git stores them. */
export interface StatData {
  ctimeSeconds: number;
  ctimeNanos: number;
  mtimeSeconds: number;
  mtimeNanos: number;
  dev: number;
  ino: number;
  uid: number;
  gid: number;
  size: number;
}

export interface IndexEntry extends StatData {
  path: string;
  mode: FileMode;
  oid: Oid;
  /** 0; 1 base, 2 ours, 3 theirs while a merge of real git waits. */
  stage: number;
  assumeValid: boolean;
  /** Real git's sparse checkout: the file is not in the working tree on purpose. */
  skipWorktree: boolean;
  /** `git add -N`: known by name only. */
  intentToAdd: boolean;
  /** As it stands in the file: what did not change is written as it was read. Entries are never changed, only replaced. */
  raw?: Uint8Array;
}

const HEADER_BYTES = 12;
/** Up to and without the name. */
const FIXED_BYTES = 62;
const MODES = new Map<number, FileMode>([
  [0o100644, "100644"],
  [0o100755, "100755"],
  [0o120000, "120000"],
  [0o160000, "160000"],
]);

export function parseIndex(bytes: Uint8Array, path: string): IndexEntry[] {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  const broken = () =>
    new LettaError("invalid_data", `${path} is damaged`, {
      hint: "Removing it and `git reset` make a new one; no file is lost.",
    });
  if (buffer.length < HEADER_BYTES + 20 || buffer.toString("latin1", 0, 4) !== "DIRC") throw broken();
  const version = buffer.readUInt32BE(4);
  if (version < 2 || version > 4)
    throw new LettaError("invalid_data", `${path} has version ${version}, which is not known here`);
  const end = buffer.length - 20;
  const sum = buffer.subarray(end);
  // All zeros: `index.skipHash`.
  if (sum.some((byte) => byte !== 0) && !sum.equals(sha1(buffer.subarray(0, end)))) throw broken();
  const count = buffer.readUInt32BE(8);
  const entries: IndexEntry[] = [];
  let at = HEADER_BYTES;
  let previous: Uint8Array = new Uint8Array();
  for (let index = 0; index < count; index++) {
    if (at + FIXED_BYTES > end) throw broken();
    const flags = buffer.readUInt16BE(at + 60);
    const extended = (flags & 0x4000) !== 0;
    const more = extended ? buffer.readUInt16BE(at + 62) : 0;
    let nameAt = at + FIXED_BYTES + (extended ? 2 : 0);
    let kept: Uint8Array | null = null;
    if (version === 4) {
      const strip = readVarint(buffer, nameAt);
      if (strip.value > previous.length) throw broken();
      nameAt = strip.next;
      kept = previous.subarray(0, previous.length - strip.value);
    }
    const nameEnd = buffer.indexOf(0, nameAt);
    if (nameEnd === -1 || nameEnd > end) throw broken();
    const suffix = buffer.subarray(nameAt, nameEnd);
    const name = kept ? Buffer.concat([kept, suffix]) : suffix;
    const mode = MODES.get(buffer.readUInt32BE(at + 24));
    if (mode === undefined) {
      if (buffer.readUInt32BE(at + 24) === 0o040000)
        throw unsupported(path, "a sparse index", "git sparse-checkout disable");
      throw broken();
    }
    entries.push({
      path: decodeName(name),
      mode,
      oid: buffer.toString("hex", at + 40, at + 60),
      stage: (flags >> 12) & 3,
      assumeValid: (flags & 0x8000) !== 0,
      skipWorktree: (more & 0x4000) !== 0,
      intentToAdd: (more & 0x2000) !== 0,
      ctimeSeconds: buffer.readUInt32BE(at),
      ctimeNanos: buffer.readUInt32BE(at + 4),
      mtimeSeconds: buffer.readUInt32BE(at + 8),
      mtimeNanos: buffer.readUInt32BE(at + 12),
      dev: buffer.readUInt32BE(at + 16),
      ino: buffer.readUInt32BE(at + 20),
      uid: buffer.readUInt32BE(at + 28),
      gid: buffer.readUInt32BE(at + 32),
      size: buffer.readUInt32BE(at + 36),
      ...(version !== 4 && { raw: buffer.subarray(at, at + paddedLength(nameEnd - at)) }),
    });
    if (version === 4) {
      previous = name;
      at = nameEnd + 1;
    } else at += paddedLength(nameEnd - at);
  }
  checkExtensions(buffer, at, end, path);
  return entries;
}

/** Entries come ordered by path, then stage. */
export function formatIndex(entries: readonly IndexEntry[]): Uint8Array {
  const parts = entries.map((entry) => entry.raw ?? formatEntry(entry));
  const buffer = Buffer.allocUnsafe(parts.reduce((length, part) => length + part.length, HEADER_BYTES + 20));
  buffer.write("DIRC", "latin1");
  buffer.writeUInt32BE(entries.some(isExtended) ? 3 : 2, 4);
  buffer.writeUInt32BE(entries.length, 8);
  let at = HEADER_BYTES;
  for (const part of parts) {
    buffer.set(part, at);
    at += part.length;
  }
  buffer.set(sha1(buffer.subarray(0, at)), at);
  return buffer;
}

export function compareEntries(a: IndexEntry, b: IndexEntry): number {
  return compareNames(a.path, b.path) || a.stage - b.stage;
}

function formatEntry(entry: IndexEntry): Uint8Array {
  const name = encodeName(entry.path);
  const extended = isExtended(entry);
  const nameAt = FIXED_BYTES + (extended ? 2 : 0);
  const buffer = Buffer.alloc(paddedLength(nameAt + name.length));
  buffer.writeUInt32BE(entry.ctimeSeconds, 0);
  buffer.writeUInt32BE(entry.ctimeNanos, 4);
  buffer.writeUInt32BE(entry.mtimeSeconds, 8);
  buffer.writeUInt32BE(entry.mtimeNanos, 12);
  buffer.writeUInt32BE(entry.dev, 16);
  buffer.writeUInt32BE(entry.ino, 20);
  buffer.writeUInt32BE(Number.parseInt(entry.mode, 8), 24);
  buffer.writeUInt32BE(entry.uid, 28);
  buffer.writeUInt32BE(entry.gid, 32);
  buffer.writeUInt32BE(entry.size, 36);
  buffer.write(entry.oid, 40, "hex");
  const length = Math.min(name.length, 0xfff);
  buffer.writeUInt16BE((entry.assumeValid ? 0x8000 : 0) | (extended ? 0x4000 : 0) | (entry.stage << 12) | length, 60);
  const flags = (entry.skipWorktree ? 0x4000 : 0) | (entry.intentToAdd ? 0x2000 : 0);
  if (extended) buffer.writeUInt16BE(flags, FIXED_BYTES);
  buffer.set(name, nameAt);
  return buffer;
}

/** An entry ends with one to eight NULs, on a multiple of eight. */
function paddedLength(length: number): number {
  return (length + 8) & ~7;
}

function isExtended(entry: IndexEntry): boolean {
  return entry.skipWorktree || entry.intentToAdd;
}

function checkExtensions(buffer: Buffer, from: number, end: number, path: string): void {
  for (let at = from; at + 8 <= end; at += 8 + buffer.readUInt32BE(at + 4)) {
    const name = buffer.toString("latin1", at, at + 4);
    if (name === "link") throw unsupported(path, "a split index", "git update-index --no-split-index");
    if (name === "sdir") throw unsupported(path, "a sparse index", "git sparse-checkout disable");
    // In capitals: may be ignored by who does not know it.
    if (!/^[A-Z]/.test(name)) throw unsupported(path, `the extension ${JSON.stringify(name)}`, "git read-tree HEAD");
  }
}

function unsupported(path: string, what: string, remedy: string): LettaError {
  return new LettaError("invalid_data", `${path} uses ${what}, which is not supported`, {
    hint: `\`${remedy}\` turns it off.`,
  });
}

function readVarint(buffer: Buffer, at: number): { value: number; next: number } {
  let byte = buffer[at++] ?? 0;
  let value = byte & 0x7f;
  while (byte & 0x80) {
    byte = buffer[at++] ?? 0;
    value = (value + 1) * 128 + (byte & 0x7f);
  }
  return { value, next: at };
}

function sha1(bytes: Uint8Array): Uint8Array {
  return new Bun.CryptoHasher("sha1").update(bytes).digest();
}
