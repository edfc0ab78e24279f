// Reads tar archives as they arrive, one entry after the other: what nobody asks for is passed over, however large it is.
// Knows ustar, pax and GNU's long names.

import { MAX_TEXT_BYTES } from "./limits.ts";
import { type SourceEntry, unsafe } from "./skill-files.ts";

const BLOCK = 512;

/** Throws `UnsafeSkill` for what is no tar archive or ends in the middle, and whatever the stream throws. */
export async function* readTar(stream: AsyncIterable<Uint8Array>): AsyncGenerator<SourceEntry> {
  const input = new ByteReader(stream);
  let next: Overrides = {};
  let count = 0;
  for (;;) {
    const header = await input.take(BLOCK);
    if (header === null) {
      if (count === 0) throw damaged();
      return; // Some programs leave the two empty blocks out.
    }
    if (header.every((byte) => byte === 0)) return;
    if (!hasChecksum(header)) throw damaged();
    count += 1;
    const type = String.fromCharCode(header[156] || 0x30);
    // Links and folders have nothing behind their header, whatever it says.
    const size = "123456".includes(type) ? 0 : (next.size ?? readNumber(header, 124, 12));
    if (!Number.isSafeInteger(size) || size < 0) throw damaged();
    const padding = (BLOCK - (size % BLOCK)) % BLOCK;
    if ("xgLK".includes(type)) {
      // Extensions of the next entry; global ones hold nothing that we use.
      const content = await readWhole(input, size, MAX_TEXT_BYTES);
      await skip(input, padding);
      if (type === "x") next = { ...next, ...readPax(content) };
      if (type === "L") next.path = untilNul(content);
      continue;
    }
    let isRead = false;
    const path = next.path ?? headerPath(header);
    yield {
      path,
      kind: next.isSparse ? "special" : kindOf(type, path),
      size,
      executable: (readNumber(header, 100, 8) & 0o111) !== 0,
      read: async () => {
        isRead = true;
        return readWhole(input, size, size);
      },
    };
    await skip(input, isRead ? padding : size + padding);
    next = {};
  }
}

interface Overrides {
  path?: string;
  size?: number;
  isSparse?: boolean;
}

function kindOf(type: string, path: string): SourceEntry["kind"] {
  if (type === "0" || type === "7") return path.endsWith("/") ? "folder" : "file";
  if (type === "5") return "folder";
  return type === "1" || type === "2" ? "link" : "special";
}

function headerPath(header: Uint8Array): string {
  const name = untilNul(header.subarray(0, 100));
  const isUstar = untilNul(header.subarray(257, 263)).startsWith("ustar");
  // GNU's own format keeps times where ustar has the beginning of a long name.
  const isGnu = header[263] === 0x20;
  const prefix = isUstar && !isGnu ? untilNul(header.subarray(345, 500)) : "";
  return prefix === "" ? name : `${prefix}/${name}`;
}

/** `27 path=some/where\n`, repeated. The length counts bytes, itself included. */
function readPax(content: Uint8Array): Overrides {
  const found: Overrides = {};
  const buffer = Buffer.from(content);
  for (let at = 0; at < buffer.length; ) {
    const space = buffer.indexOf(0x20, at);
    const length = Number(buffer.toString("latin1", at, space));
    if (space === -1 || !Number.isInteger(length) || length <= space - at || at + length > buffer.length) {
      throw damaged();
    }
    const record = buffer.toString("utf8", space + 1, at + length - 1);
    const equals = record.indexOf("=");
    const [key, value] = [record.slice(0, equals), record.slice(equals + 1)];
    if (key === "path") found.path = value;
    if (key === "size") found.size = Number(value);
    if (key.startsWith("GNU.sparse.")) found.isSparse = true;
    at += length;
  }
  return found;
}

/** Octal text, or GNU's binary for what does not fit. */
function readNumber(header: Uint8Array, offset: number, length: number): number {
  const field = header.subarray(offset, offset + length);
  if (field[0]! & 0x80) return field.slice(1).reduce((sum, byte) => sum * 256 + byte, field[0]! & 0x7f);
  const text = untilNul(field).trim();
  return text === "" ? 0 : /^[0-7]+$/.test(text) ? Number.parseInt(text, 8) : Number.NaN;
}

function hasChecksum(header: Uint8Array): boolean {
  const sum = header.reduce((total, byte, index) => total + (index >= 148 && index < 156 ? 0x20 : byte), 0);
  return readNumber(header, 148, 8) === sum;
}

function untilNul(bytes: Uint8Array): string {
  const end = bytes.indexOf(0);
  return new TextDecoder("utf-8", { ignoreBOM: true }).decode(end === -1 ? bytes : bytes.subarray(0, end));
}

async function readWhole(input: ByteReader, size: number, limit: number): Promise<Uint8Array> {
  if (size > limit) throw damaged();
  const bytes = size === 0 ? new Uint8Array() : await input.take(size);
  if (bytes === null) throw cut();
  return bytes;
}

async function skip(input: ByteReader, count: number): Promise<void> {
  if (!(await input.skip(count))) throw cut();
}

/** Exact numbers of bytes of a stream. */
class ByteReader {
  readonly #chunks: AsyncIterator<Uint8Array>;
  #rest: Uint8Array = new Uint8Array();

  constructor(stream: AsyncIterable<Uint8Array>) {
    this.#chunks = stream[Symbol.asyncIterator]();
  }

  /** Null at the very end; throws `UnsafeSkill` when it comes in between. */
  async take(count: number): Promise<Uint8Array | null> {
    const parts: Uint8Array[] = [];
    let missing = count;
    while (missing > 0) {
      if (!(await this.#fill())) {
        if (missing === count) return null;
        throw cut();
      }
      const part = this.#rest.subarray(0, missing);
      this.#rest = this.#rest.subarray(part.length);
      missing -= part.length;
      parts.push(part);
    }
    return Buffer.concat(parts);
  }

  /** False when there is less. */
  async skip(count: number): Promise<boolean> {
    let missing = count;
    while (missing > 0) {
      if (!(await this.#fill())) return false;
      const length = Math.min(missing, this.#rest.length);
      this.#rest = this.#rest.subarray(length);
      missing -= length;
    }
    return true;
  }

  async #fill(): Promise<boolean> {
    while (this.#rest.length === 0) {
      const { done, value } = await this.#chunks.next();
      if (done) return false;
      this.#rest = value;
    }
    return true;
  }
}

function damaged(): Error {
  return unsafe("the archive is no tar archive, or is damaged");
}

function cut(): Error {
  return unsafe("the archive is cut off");
}
