// The code signature of a macOS executable. Bun signs what it links for arm64, but leaves the runtime's own signature,
// which no longer fits, in a cross-compiled x64 executable; macOS would kill that at its first page. So releases are
// signed here ("ad hoc": hashes without a certificate) and checked, on whatever machine builds them.
//
// Layout of Mach-O and of the signature: Apple's <mach-o/loader.h> and <kern/cs_blobs.h>. The file is little-endian, the
// signature big-endian.

import { createHash } from "node:crypto";

const MH_MAGIC_64 = 0xfeedfacf;
const LC_SEGMENT_64 = 0x19;
const LC_CODE_SIGNATURE = 0x1d;
const HEADER_BYTES = 32;
const SUPER_BLOB_MAGIC = 0xfade0cc0;
const CODE_DIRECTORY_MAGIC = 0xfade0c02;
const CODE_DIRECTORY_BYTES = 88;
/** First version with the executable segment's fields, which macOS wants. */
const CODE_DIRECTORY_VERSION = 0x20400;
/** CS_ADHOC | CS_LINKER_SIGNED: may be replaced by a real signature later. */
const FLAGS = 0x20002;
const EXEC_SEGMENT_MAIN_BINARY = 1n;
const SHA256 = 2;
const HASH_BYTES = 32;
const PAGE_BITS = 12;
const PAGE_BYTES = 1 << PAGE_BITS;

interface Layout {
  /** Offset of LC_CODE_SIGNATURE's `dataoff`; `datasize` follows. */
  command: number;
  /** Where the signature starts: everything before it is what is signed. */
  limit: number;
  text: { offset: bigint; bytes: bigint };
  /** Offset of the __LINKEDIT command. */
  linkedit: number;
}

/** The executable with a fresh ad-hoc signature in place of the one it has. */
export function signAdHoc(executable: Uint8Array, identifier: string): Uint8Array {
  const layout = readLayout(executable);
  const name = Buffer.from(`${identifier}\0`);
  const slots = Math.ceil(layout.limit / PAGE_BYTES);
  const hashOffset = CODE_DIRECTORY_BYTES + name.length;
  const directoryBytes = hashOffset + slots * HASH_BYTES;
  const signatureBytes = 20 + directoryBytes;

  const signed = Buffer.alloc(layout.limit + signatureBytes);
  signed.set(executable.subarray(0, layout.limit));
  // The load commands lie in the first page, so they change before anything is hashed.
  signed.writeUInt32LE(signatureBytes, layout.command + 4);
  const fileOffset = signed.readBigUInt64LE(layout.linkedit + 40);
  const fileBytes = BigInt(signed.length) - fileOffset;
  signed.writeBigUInt64LE(((fileBytes + 0x3fffn) >> 14n) << 14n, layout.linkedit + 32);
  signed.writeBigUInt64LE(fileBytes, layout.linkedit + 48);

  const directory = Buffer.alloc(directoryBytes);
  const words = [CODE_DIRECTORY_MAGIC, directoryBytes, CODE_DIRECTORY_VERSION, FLAGS, hashOffset, CODE_DIRECTORY_BYTES];
  for (const [index, word] of [...words, 0, slots, layout.limit].entries()) directory.writeUInt32BE(word, index * 4);
  directory.set([HASH_BYTES, SHA256, 0, PAGE_BITS], 36);
  directory.writeBigUInt64BE(layout.text.offset, 64);
  directory.writeBigUInt64BE(layout.text.bytes, 72);
  directory.writeBigUInt64BE(EXEC_SEGMENT_MAIN_BINARY, 80);
  directory.set(name, CODE_DIRECTORY_BYTES);
  for (let slot = 0; slot < slots; slot++)
    directory.set(hashPage(signed, slot, layout.limit), hashOffset + slot * HASH_BYTES);

  const superBlob = [SUPER_BLOB_MAGIC, signatureBytes, 1, 0, 20];
  for (const [index, word] of superBlob.entries()) signed.writeUInt32BE(word, layout.limit + index * 4);
  signed.set(directory, layout.limit + 20);
  return signed;
}

/** What is wrong with an executable's signature; null when it covers the file and every page matches. */
export function findSignatureProblem(executable: Uint8Array): string | null {
  const file = Buffer.from(executable.buffer, executable.byteOffset, executable.length);
  const { limit } = readLayout(file);
  if (file.readUInt32BE(limit) !== SUPER_BLOB_MAGIC) return "there is no signature where there should be one";
  const count = file.readUInt32BE(limit + 8);
  for (let index = 0; index < count; index++) {
    const directory = limit + file.readUInt32BE(limit + 16 + index * 8);
    if (file.readUInt32BE(directory) !== CODE_DIRECTORY_MAGIC) continue;
    const [hashOffset, slots, covered] = [16, 28, 32].map((at) => file.readUInt32BE(directory + at)) as [
      number,
      number,
      number,
    ];
    if (covered !== limit) return `the signature covers ${covered} of ${limit} bytes`;
    for (let slot = 0; slot < slots; slot++) {
      const at = directory + hashOffset + slot * HASH_BYTES;
      if (!hashPage(file, slot, limit).equals(file.subarray(at, at + HASH_BYTES))) return `page ${slot} does not match`;
    }
    return null;
  }
  return "the signature has no code directory";
}

function readLayout(executable: Uint8Array): Layout {
  const file = Buffer.from(executable.buffer, executable.byteOffset, executable.length);
  if (file.readUInt32LE(0) !== MH_MAGIC_64) throw new Error("not a 64-bit Mach-O executable");
  const layout: Partial<Layout> = {};
  let at = HEADER_BYTES;
  for (let index = file.readUInt32LE(16); index > 0; index--) {
    const type = file.readUInt32LE(at);
    const segment = file.toString("latin1", at + 8, at + 24).replace(/\0+$/, "");
    if (type === LC_SEGMENT_64 && segment === "__TEXT") {
      layout.text = { offset: file.readBigUInt64LE(at + 40), bytes: file.readBigUInt64LE(at + 48) };
    } else if (type === LC_SEGMENT_64 && segment === "__LINKEDIT") {
      layout.linkedit = at;
    } else if (type === LC_CODE_SIGNATURE) {
      layout.command = at + 8;
      layout.limit = file.readUInt32LE(at + 8);
    }
    at += file.readUInt32LE(at + 4);
  }
  const { command, limit, text, linkedit } = layout;
  if (command === undefined || limit === undefined || text === undefined || linkedit === undefined) {
    throw new Error("the executable has no place for a signature");
  }
  return { command, limit, text, linkedit };
}

function hashPage(file: Uint8Array, slot: number, limit: number): Buffer {
  const page = file.subarray(slot * PAGE_BYTES, Math.min((slot + 1) * PAGE_BYTES, limit));
  return createHash("sha256").update(page).digest();
}
