// Reads table rows straight from the pages of a SQLite file, without its b-trees: where an inner page or the schema is
// destroyed, the leaves below it are still whole. Which table a row belongs to must be told from its values. Rows on
// free pages are left out, because they were deleted. Format: https://sqlite.org/fileformat2.html

import { closeSync, fstatSync, openSync, readSync } from "node:fs";

export type PageValue = string | number | bigint | Uint8Array | null;

export interface PageRow {
  rowid: number;
  values: PageValue[];
}

const LEAF_OF_TABLE = 0x0d;
const DEFAULT_PAGE_SIZE = 4096;
/** A record longer than this is noise that looks like a length. */
const MAX_RECORD_BYTES = 1 << 28;
const MAX_COLUMNS = 64;

/** Every row that decodes completely. Noise may decode by accident: the caller checks the values. */
export function* readPageRows(file: string): Generator<PageRow> {
  const fd = openSync(file, "r");
  try {
    const pages = openPages(fd);
    const free = freePages(pages);
    for (let number = 1; number <= pages.count; number++) {
      if (!free.has(number)) yield* leafRows(pages, number);
    }
  } finally {
    closeSync(fd);
  }
}

interface Pages {
  count: number;
  /** Bytes of a page that hold data. */
  usable: number;
  /** Undefined outside of the file. */
  read(number: number): Buffer | undefined;
}

function openPages(fd: number): Pages {
  const head = Buffer.alloc(100);
  readSync(fd, head, 0, head.length, 0);
  const isDatabase = head.toString("latin1", 0, 15) === "SQLite format 3";
  const stored = head.readUInt16BE(16) === 1 ? 65_536 : head.readUInt16BE(16);
  const size = isDatabase && stored >= 512 && (stored & (stored - 1)) === 0 ? stored : DEFAULT_PAGE_SIZE;
  const reserved = isDatabase ? head.readUInt8(20) : 0;
  const count = Math.floor(fstatSync(fd).size / size);
  return {
    count,
    usable: size - reserved,
    read(number) {
      if (number < 1 || number > count) return undefined;
      const page = Buffer.alloc(size);
      return readSync(fd, page, 0, size, (number - 1) * size) === size ? page : undefined;
    },
  };
}

/** The list of free pages: trunks, each naming its successor and many leaves. A broken list ends early. */
function freePages(pages: Pages): Set<number> {
  const free = new Set<number>();
  let trunk = pages.read(1)?.readUInt32BE(32) ?? 0;
  while (trunk > 0 && !free.has(trunk)) {
    const page = pages.read(trunk);
    if (!page) break;
    free.add(trunk);
    const leaves = Math.min(page.readUInt32BE(4), (pages.usable - 8) / 4);
    for (let index = 0; index < leaves; index++) free.add(page.readUInt32BE(8 + index * 4));
    trunk = page.readUInt32BE(0);
  }
  return free;
}

function* leafRows(pages: Pages, number: number): Generator<PageRow> {
  const page = pages.read(number);
  // The first page begins with the header of the file.
  const start = number === 1 ? 100 : 0;
  if (!page || page[start] !== LEAF_OF_TABLE) return;
  const cells = page.readUInt16BE(start + 3);
  for (let index = 0; index < cells; index++) {
    const pointer = start + 8 + index * 2;
    if (pointer + 2 > pages.usable) return;
    try {
      const row = readCell(pages, page, page.readUInt16BE(pointer));
      if (row) yield row;
    } catch (error) {
      // Lengths and offsets that lead out of the page: this cell is broken, the next may be whole.
      if (!(error instanceof RangeError)) throw error;
    }
  }
}

function readCell(pages: Pages, page: Buffer, offset: number): PageRow | undefined {
  const [length, afterLength] = readVarint(page, offset);
  const [rowid, start] = readVarint(page, afterLength);
  if (length > MAX_RECORD_BYTES) return undefined;
  const record = readPayload(pages, page, start, Number(length));
  const values = record && decodeRecord(record);
  return values && { rowid: Number(BigInt.asIntN(64, rowid)), values };
}

/** The part on the page, and the rest from the chain of overflow pages. */
function readPayload(pages: Pages, page: Buffer, start: number, length: number): Buffer | undefined {
  const { usable } = pages;
  if (length <= usable - 35) return start + length <= usable ? page.subarray(start, start + length) : undefined;
  const least = Math.floor(((usable - 12) * 32) / 255) - 23;
  const wanted = least + ((length - least) % (usable - 4));
  const local = wanted <= usable - 35 ? wanted : least;
  const parts = [page.subarray(start, start + local)];
  let missing = length - local;
  let next = page.readUInt32BE(start + local);
  while (missing > 0) {
    const overflow = pages.read(next);
    if (!overflow) return undefined;
    const size = Math.min(missing, usable - 4);
    parts.push(overflow.subarray(4, 4 + size));
    missing -= size;
    next = overflow.readUInt32BE(0);
  }
  return Buffer.concat(parts);
}

function decodeRecord(record: Buffer): PageValue[] | undefined {
  const [headerLength, afterLength] = readVarint(record, 0);
  if (headerLength > record.length) return undefined;
  const types: number[] = [];
  let at = afterLength;
  while (at < headerLength) {
    const [type, after] = readVarint(record, at);
    types.push(Number(type));
    at = after;
    if (types.length > MAX_COLUMNS) return undefined;
  }
  const values: PageValue[] = [];
  for (const type of types) {
    const size = sizeOf(type);
    if (size === undefined || at + size > record.length) return undefined;
    values.push(decodeValue(record, at, type, size));
    at += size;
  }
  return at === record.length ? values : undefined;
}

/** Undefined for the two types SQLite keeps for itself. */
function sizeOf(type: number): number | undefined {
  if (type >= 12) return Math.floor((type - 12) / 2);
  return [0, 1, 2, 3, 4, 6, 8, 8, 0, 0][type];
}

function decodeValue(record: Buffer, at: number, type: number, size: number): PageValue {
  if (type === 0) return null;
  if (type === 7) return record.readDoubleBE(at);
  if (type === 8 || type === 9) return type - 8;
  if (type === 6) return record.readBigInt64BE(at);
  if (type < 7) return record.readIntBE(at, size);
  const bytes = record.subarray(at, at + size);
  return type % 2 === 1 ? bytes.toString("utf8") : new Uint8Array(bytes);
}

/** Big-endian groups of seven bits, at most nine bytes; returns the value and the offset behind it. */
function readVarint(bytes: Buffer, offset: number): [value: bigint, after: number] {
  let value = 0n;
  for (let index = 0; index < 8; index++) {
    const byte = bytes.readUInt8(offset + index);
    value = (value << 7n) | BigInt(byte & 0x7f);
    if (byte < 0x80) return [value, offset + index + 1];
  }
  return [(value << 8n) | BigInt(bytes.readUInt8(offset + 8)), offset + 9];
}
