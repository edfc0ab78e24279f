// Reads ZIP archives without trusting them: the directory at the end says what there is, and every file must then be
// exactly what was said. Of libraries, those that unpack hide what an entry is (a link, a device) or inflate before they
// ask; inflating itself is the runtime's.

import { crc32, inflateRawSync } from "node:zlib";
import { errorMessage } from "@/lib/errors.ts";
import { MAX_ENTRIES, MAX_RATIO, RATIO_FREE_BYTES } from "./limits.ts";
import { type SourceEntry, tooMuch, unsafe } from "./skill-files.ts";

const END = 0x06054b50;
const DIRECTORY_ENTRY = 0x02014b50;
const LOCAL_ENTRY = 0x04034b50;
const END_BYTES = 22;
const DIRECTORY_ENTRY_BYTES = 46;
const LOCAL_ENTRY_BYTES = 30;
const MAX_COMMENT_BYTES = 0xffff;

/** Throws `UnsafeSkill`, also while the entries are read. */
export function* readZip(bytes: Uint8Array): Generator<SourceEntry> {
  const zip = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const end = findEnd(zip);
  const count = zip.readUInt16LE(end + 10);
  const size = zip.readUInt32LE(end + 12);
  const start = zip.readUInt32LE(end + 16);
  const isSplit = zip.readUInt16LE(end + 4) !== 0 || zip.readUInt16LE(end + 8) !== count;
  if (isSplit || count > MAX_ENTRIES || count === 0xffff || start + size !== end) throw damaged();
  const records = readDirectory(zip, { count, start, end });
  assertApart(records, start);
  for (const record of records) yield toEntry(zip, record);
}

interface ZipRecord {
  path: string;
  flags: number;
  method: number;
  crc: number;
  packed: number;
  size: number;
  /** Unix type and permissions; 0 when made elsewhere. */
  mode: number;
  /** Of its local header. */
  offset: number;
}

/** The last record whose comment ends where the file does. */
function findEnd(zip: Buffer): number {
  for (let at = zip.length - END_BYTES; at >= Math.max(0, zip.length - END_BYTES - MAX_COMMENT_BYTES); at--) {
    if (zip.readUInt32LE(at) === END && at + END_BYTES + zip.readUInt16LE(at + 20) === zip.length) return at;
  }
  throw unsafe("the archive is no ZIP file, or is cut off");
}

function readDirectory(zip: Buffer, { count, start, end }: { count: number; start: number; end: number }): ZipRecord[] {
  const records: ZipRecord[] = [];
  let at = start;
  for (let index = 0; index < count; index++) {
    if (at + DIRECTORY_ENTRY_BYTES > end || zip.readUInt32LE(at) !== DIRECTORY_ENTRY) throw damaged();
    const nameBytes = zip.readUInt16LE(at + 28);
    const next = at + DIRECTORY_ENTRY_BYTES + nameBytes + zip.readUInt16LE(at + 30) + zip.readUInt16LE(at + 32);
    if (next > end) throw damaged();
    const madeBy = zip.readUInt8(at + 5);
    records.push({
      path: decodeName(zip.subarray(at + DIRECTORY_ENTRY_BYTES, at + DIRECTORY_ENTRY_BYTES + nameBytes)),
      flags: zip.readUInt16LE(at + 8),
      method: zip.readUInt16LE(at + 10),
      crc: zip.readUInt32LE(at + 16),
      packed: zip.readUInt32LE(at + 20),
      size: zip.readUInt32LE(at + 24),
      // Whoever made it: a type that says "link" is believed, a permission only from systems that have one.
      mode: (zip.readUInt32LE(at + 38) >>> 16) & (madeBy === 3 || madeBy === 19 ? 0xffff : 0xf000),
      offset: zip.readUInt32LE(at + 42),
    });
    at = next;
  }
  if (at !== end) throw damaged();
  return records;
}

/** Entries that share their bytes are how small archives become large. */
function assertApart(records: readonly ZipRecord[], limit: number): void {
  let free = limit;
  for (const { offset, packed } of records.toSorted((a, b) => b.offset - a.offset)) {
    if (offset + LOCAL_ENTRY_BYTES + packed > free) throw damaged();
    free = offset;
  }
}

function toEntry(zip: Buffer, record: ZipRecord): SourceEntry {
  const { path, size, mode, packed } = record;
  if (size > RATIO_FREE_BYTES && size > packed * MAX_RATIO) throw tooMuch("it is packed to burst");
  return {
    path,
    kind: kindOf(record),
    size,
    executable: (mode & 0o111) !== 0,
    read: () => inflate(zip, record),
  };
}

function kindOf({ path, mode }: ZipRecord): SourceEntry["kind"] {
  switch (mode & 0o170000) {
    case 0:
    case 0o100000:
      return path.endsWith("/") ? "folder" : "file";
    case 0o040000:
      return "folder";
    case 0o120000:
      return "link";
    default:
      return "special";
  }
}

function inflate(zip: Buffer, { path, flags, method, crc, packed, size, offset }: ZipRecord): Uint8Array {
  if (flags & 1) throw unsafe(`${path} is encrypted`);
  if (zip.readUInt32LE(offset) !== LOCAL_ENTRY) throw damaged();
  const nameBytes = zip.readUInt16LE(offset + 26);
  const nameAt = offset + LOCAL_ENTRY_BYTES;
  // Programs that read from the front would see another file.
  if (decodeName(zip.subarray(nameAt, nameAt + nameBytes)) !== path) throw damaged();
  const from = nameAt + nameBytes + zip.readUInt16LE(offset + 28);
  const data = zip.subarray(from, from + packed);
  if (data.length !== packed) throw damaged();
  const content = unpack(data, method, size, path);
  if (content.length !== size || crc32(content) !== crc) throw unsafe(`${path} is damaged`);
  return content;
}

function unpack(data: Buffer, method: number, size: number, path: string): Uint8Array {
  if (method === 0) return data;
  if (method !== 8) throw unsafe(`${path} is packed in a way that is not supported`);
  try {
    return inflateRawSync(data, { maxOutputLength: Math.max(1, size) });
  } catch (error) {
    throw unsafe(`${path} is not what the archive says (${errorMessage(error)})`);
  }
}

/** Everybody writes UTF-8 today, flagged or not. */
function decodeName(bytes: Uint8Array): string {
  return new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);
}

function damaged(): Error {
  return unsafe("the archive is damaged, or made to deceive");
}
