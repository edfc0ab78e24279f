// A private, append-only text file for output: 0600 in a 0700 directory, bounded, and never in the way. When it cannot be
// written (disk full, read-only), the command goes on without it.

import { closeSync, openSync, readSync, writeSync } from "node:fs";
import { basename, dirname } from "node:path";
import { holdDirectory, holdOrMakeDirectory, openRegularSync } from "@/lib/held-directory.ts";
import { OUTPUT_FILE_BYTES } from "./limits.ts";

export class OutputFile {
  /** Bytes written. */
  size = 0;
  /** False once something is missing in the file. */
  complete = true;
  #fd: number | null = null;

  /** The links of `path` are followed already: where there is one, nothing is written. */
  constructor(readonly path: string) {
    try {
      using folder = holdOrMakeDirectory(dirname(path), 0o700).folder;
      this.#fd = openSync(folder.at(basename(path)), "ax", 0o600);
    } catch {
      this.complete = false; // Nowhere to write: the caller sees it in `complete`.
    }
  }

  write(text: string): void {
    if (this.#fd === null) return;
    const bytes = Buffer.from(text);
    if (this.size + bytes.length > OUTPUT_FILE_BYTES) {
      this.#append(Buffer.from("\n[The file ends here: it reached its size limit.]\n"));
      this.close();
      this.complete = false;
      return;
    }
    this.#append(bytes);
  }

  /** Fills `bytes` from this offset as far as there is something. Throws when the file is gone. */
  read(bytes: Uint8Array, offset: number): number {
    using folder = holdDirectory(dirname(this.path));
    const fd = openRegularSync(folder, basename(this.path));
    try {
      return readSync(fd, bytes, 0, bytes.length, offset);
    } finally {
      closeSync(fd);
    }
  }

  close(): void {
    if (this.#fd === null) return;
    closeSync(this.#fd);
    this.#fd = null;
  }

  #append(bytes: Buffer): void {
    let offset = 0;
    try {
      while (offset < bytes.length) offset += writeSync(this.#fd!, bytes, offset);
      this.size += offset;
    } catch {
      this.size += offset;
      this.close();
      this.complete = false; // Disk full or the like; what is there stays readable.
    }
  }
}
