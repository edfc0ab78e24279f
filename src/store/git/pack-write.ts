// Writes many objects as one pack with its index: the same that `git index-pack` would write for it. No deltas.

import { join } from "node:path";
import { crc32, deflateSync } from "node:zlib";
import type { Disk } from "./disk.ts";
import type { ObjectType } from "./object-format.ts";
import type { StoredObject } from "./pack-file.ts";
import type { Scratch } from "./scratch.ts";
import type { Oid } from "./types.ts";

const TYPE_CODES: Record<ObjectType, number> = { commit: 1, tree: 2, blob: 3, tag: 4 };

/** Into `folder` (`objects/pack`), the index last: a pack without one does not exist for any reader. */
export async function writePack(
  disk: Disk,
  { folder, scratch }: { folder: string; scratch: Scratch },
  oids: readonly Oid[],
  read: (oid: Oid) => StoredObject,
): Promise<string> {
  const { sorted, offsets, checksums, parts, packHash } = packBytes(oids, read);
  const index = packIndex(sorted, offsets, checksums, packHash);
  const name = join(folder, `pack-${Buffer.from(packHash).toString("hex")}`);
  for (const [ending, content] of [
    [".pack", parts],
    [".idx", [index]],
  ] as const) {
    const file = scratch.path();
    await disk.create(file, content, { mode: 0o444, durable: true });
    disk.rename(file, name + ending);
  }
  await disk.syncDir(folder);
  return name;
}

interface Pack {
  sorted: Oid[];
  /** Of each object, as its index wants them. */
  offsets: number[];
  checksums: number[];
  /** The pack's bytes in order. */
  parts: Uint8Array[];
  packHash: Uint8Array;
}

/** The pack alone, as it also travels in a bundle. */
export function packBytes(oids: readonly Oid[], read: (oid: Oid) => StoredObject): Pack {
  const sorted = [...new Set(oids)].sort();
  const parts: Uint8Array[] = [packHeader(sorted.length)];
  const offsets: number[] = [];
  const checksums: number[] = [];
  let at = 12;
  for (const oid of sorted) {
    const { type, content } = read(oid);
    const head = entryHeader(TYPE_CODES[type], content.length);
    const body = deflateSync(content, { level: 6 });
    offsets.push(at);
    checksums.push(crc32(body, crc32(head)));
    parts.push(head, body);
    at += head.length + body.length;
  }
  const packHash = sha1(parts);
  parts.push(packHash);
  return { sorted, offsets, checksums, parts, packHash };
}

function packHeader(count: number): Uint8Array {
  const header = Buffer.alloc(12);
  header.write("PACK", "latin1");
  header.writeUInt32BE(2, 4);
  header.writeUInt32BE(count, 8);
  return header;
}

function entryHeader(type: number, size: number): Uint8Array {
  const bytes = [(type << 4) | (size & 15)];
  for (let rest = Math.floor(size / 16); rest > 0; rest = Math.floor(rest / 128)) {
    bytes[bytes.length - 1]! |= 0x80;
    bytes.push(rest & 0x7f);
  }
  return Uint8Array.from(bytes);
}

function packIndex(oids: Oid[], offsets: number[], checksums: number[], packHash: Uint8Array): Uint8Array {
  const large = offsets.filter((offset) => offset >= 0x80000000);
  const index = Buffer.alloc(8 + 256 * 4 + oids.length * 28 + large.length * 8 + 40);
  index.writeUInt32BE(0xff744f63, 0);
  index.writeUInt32BE(2, 4);
  let at = 8;
  for (let first = 0, count = 0; first < 256; first++) {
    while (count < oids.length && Number.parseInt(oids[count]!.slice(0, 2), 16) <= first) count++;
    at = index.writeUInt32BE(count, at);
  }
  for (const oid of oids) at += index.write(oid, at, "hex");
  for (const checksum of checksums) at = index.writeUInt32BE(checksum >>> 0, at);
  let larger = 0;
  for (const offset of offsets) at = index.writeUInt32BE(offset < 0x80000000 ? offset : 0x80000000 + larger++, at);
  for (const offset of large) at = index.writeBigUInt64BE(BigInt(offset), at);
  index.set(packHash, at);
  index.set(sha1([index.subarray(0, at + 20)]), at + 20);
  return index;
}

function sha1(parts: readonly Uint8Array[]): Uint8Array {
  const hash = new Bun.CryptoHasher("sha1");
  for (const part of parts) hash.update(part);
  return hash.digest();
}
