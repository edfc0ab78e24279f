// Archives of either kind as entries: what kind it is, the bytes say.

import { pipeline, Readable } from "node:stream";
import { createGunzip } from "node:zlib";
import { LettaError } from "@/lib/errors.ts";
import { MAX_RATIO, MAX_UNPACKED_BYTES, RATIO_FREE_BYTES } from "./limits.ts";
import { type SourceEntry, tooMuch, unsafe } from "./skill-files.ts";
import { readTar } from "./tar.ts";
import { readZip } from "./zip.ts";

/** A ZIP file or a gzipped tar. Throws `UnsafeSkill`, also while the entries are read. */
export function readArchive(bytes: Uint8Array): Iterable<SourceEntry> | AsyncIterable<SourceEntry> {
  if (bytes[0] === 0x1f && bytes[1] === 0x8b) return readTarball([bytes]);
  if (bytes[0] === 0x50 && bytes[1] === 0x4b) return readZip(bytes);
  throw unsafe("this is neither a ZIP file nor a .tar.gz");
}

/** As it arrives. */
export function readTarball(chunks: Iterable<Uint8Array> | AsyncIterable<Uint8Array>): AsyncIterable<SourceEntry> {
  return readTar(gunzip(chunks));
}

async function* gunzip(chunks: Iterable<Uint8Array> | AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let packed = 0;
  let size = 0;
  async function* counted(): AsyncGenerator<Uint8Array> {
    for await (const chunk of chunks) {
      packed += chunk.byteLength;
      yield chunk;
    }
  }
  // Whoever reads learns of every error; the callback is only where one could learn of it, too.
  const unpacked = pipeline(Readable.from(counted()), createGunzip(), () => {});
  try {
    for await (const chunk of unpacked as AsyncIterable<Uint8Array>) {
      size += chunk.byteLength;
      if (size > MAX_UNPACKED_BYTES) throw tooMuch("its archive is too large");
      if (size > RATIO_FREE_BYTES && size > packed * MAX_RATIO) throw tooMuch("it is packed to burst");
      yield chunk;
    }
  } catch (error) {
    if (error instanceof LettaError) throw error;
    throw unsafe("the archive is damaged or cut off");
  }
}
