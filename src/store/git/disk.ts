// Every change the engine makes to a disk goes through this interface, so that a test can stop the process at each of
// them. Reads do not: they change nothing. Errors are the system's, with path and code.

import {
  appendFileSync,
  chmodSync,
  closeSync,
  fsync,
  linkSync,
  mkdirSync,
  openSync,
  renameSync,
  rmdirSync,
  symlinkSync,
  unlinkSync,
  writeSync,
} from "node:fs";
import { promisify } from "node:util";

export type DiskPath = string | Buffer;

export interface Disk {
  /** A new file, on the disk when it returns (`durable`); fails with `EEXIST`. Half a file is removed again. */
  create(path: DiskPath, content: readonly Uint8Array[], options: { mode: number; durable: boolean }): Promise<void>;
  append(path: DiskPath, text: string): void;
  /** Replaces what is there; a link is replaced, not followed. */
  rename(from: DiskPath, to: DiskPath): void;
  link(from: DiskPath, to: DiskPath): void;
  symlink(target: DiskPath, path: DiskPath): void;
  remove(path: DiskPath): void;
  /** One level. */
  makeDir(path: DiskPath): void;
  /** Fails when it is not empty. */
  removeDir(path: DiskPath): void;
  chmod(path: DiskPath, mode: number): void;
  /** Makes names in a folder durable, where the system can. */
  syncDir(path: DiskPath): Promise<void>;
}

/** Not the synchronous one: files are synced side by side. */
const sync = promisify(fsync);

export const systemDisk: Disk = {
  async create(path, content, { mode, durable }) {
    const file = openSync(path, "wx", mode);
    try {
      try {
        for (const part of content) writeAll(file, part);
        if (durable) await sync(file);
      } finally {
        closeSync(file);
      }
    } catch (error) {
      unlinkSync(path);
      throw error;
    }
  },
  append: (path, text) => appendFileSync(path, text),
  rename: (from, to) => renameSync(from, to),
  link: (from, to) => linkSync(from, to),
  symlink: (target, path) => symlinkSync(target, path),
  remove: (path) => unlinkSync(path),
  makeDir: (path) => mkdirSync(path),
  removeDir: (path) => rmdirSync(path),
  chmod: (path, mode) => chmodSync(path, mode),
  async syncDir(path) {
    try {
      const folder = openSync(path, "r");
      await sync(folder).finally(() => closeSync(folder));
    } catch {
      // Windows and some network file systems cannot; the name itself is there.
    }
  },
};

/** A short write (a full disk, a file size limit) is continued, so that the system says what is wrong. */
function writeAll(file: number, bytes: Uint8Array): void {
  for (let at = 0; at < bytes.length; ) at += writeSync(file, bytes, at, bytes.length - at);
}
