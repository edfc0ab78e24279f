// Replaces a file's content so that at every moment either the old or the new bytes are there, and what is not content
// (mode, owner, hard links) stays as it was. Links are not followed: who decided about the file has done that.

import { constants, fchmodSync, fchownSync, fstatSync, type Stats } from "node:fs";
import { open, rename, rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { systemErrorCode } from "./errors.ts";
import {
  type HeldDirectory,
  holdDirectory,
  holdOrMakeDirectory,
  openIn,
  PlaceError,
  removeDirectories,
  statIn,
} from "./held-directory.ts";

export interface Replacement {
  /** Null deletes. */
  bytes: Uint8Array | null;
  /** Permission bits of a file that does not exist; default: what the umask gives. */
  mode?: number | undefined;
}

export interface Replaced {
  /** Directories that were missing, outermost first. */
  made: string[];
  /** The file now; null when it was deleted. */
  stat: Stats | null;
}

/** `path` is absolute, its links are followed. Makes missing directories; when it fails they are gone again. `before`
 *  sees the file in the directory it will be replaced in. Throws the system's error, or PlaceError. */
export async function replaceFile(
  path: string,
  replacement: Replacement,
  before?: (folder: HeldDirectory, name: string) => Promise<void>,
): Promise<Replaced> {
  const name = basename(path);
  const { folder, made } = openFolder(dirname(path), replacement.bytes !== null);
  if (folder === null) return { made, stat: null };
  try {
    using held = folder;
    await before?.(held, name);
    return { made, stat: await replaceIn(held, name, replacement) };
  } catch (error) {
    removeDirectories(made);
    throw error;
  }
}

/** Null: there is no such directory, and so no file to delete. */
function openFolder(path: string, make: boolean): { folder: HeldDirectory | null; made: string[] } {
  if (make) return holdOrMakeDirectory(path);
  try {
    return { folder: holdDirectory(path), made: [] };
  } catch (error) {
    if (systemErrorCode(error) === "ENOENT") return { folder: null, made: [] };
    throw error;
  }
}

async function replaceIn(folder: HeldDirectory, name: string, { bytes, mode }: Replacement): Promise<Stats | null> {
  const old = statIn(folder, name);
  if (old !== null && !old.isFile() && !old.isDirectory()) throw new PlaceError("ENOTREG", join(folder.path, name));
  if (bytes === null) {
    await rm(folder.at(name), { force: true });
    return null;
  }
  // Renaming over one of several hard links would part it from the others.
  if (old && old.nlink > 1 && old.isFile()) return overwrite(folder, name, { bytes, old });
  try {
    return await writeAndRename(folder, name, { bytes, old, mode });
  } catch (error) {
    // A directory we may not write in, a file of another owner, a mount point, /proc: the file itself may still be writable.
    if (old && IN_PLACE_CODES.has(systemErrorCode(error) ?? "")) return overwrite(folder, name, { bytes, old });
    throw error;
  }
}

const IN_PLACE_CODES = new Set(["EACCES", "EPERM", "EXDEV", "EBUSY", "EROFS", "ENOENT"]);

async function writeAndRename(
  folder: HeldDirectory,
  name: string,
  { bytes, old, mode }: { bytes: Uint8Array; old: Stats | null; mode: number | undefined },
): Promise<Stats> {
  const temporary = `.letta-${process.pid}-${crypto.randomUUID()}.tmp`;
  // Private until it has the old file's mode; a new file gets what the umask allows.
  const file = await open(folder.at(temporary), "wx", old || mode !== undefined ? 0o600 : 0o666);
  let stat: Stats;
  try {
    try {
      await file.writeFile(bytes);
      if (old) keepOwnerAndMode(file.fd, old);
      else if (mode !== undefined) fchmodSync(file.fd, mode & 0o7777);
      await file.sync();
      stat = fstatSync(file.fd);
    } finally {
      await file.close();
    }
    await rename(folder.at(temporary), folder.at(name));
  } catch (error) {
    await rm(folder.at(temporary), { force: true });
    throw error;
  }
  await syncDirectory(folder);
  return stat;
}

function keepOwnerAndMode(file: number, old: Stats): void {
  const now = fstatSync(file);
  // Throws EPERM when we may not give files away; then the file is overwritten in place.
  if (now.uid !== old.uid || now.gid !== old.gid) fchownSync(file, old.uid, old.gid);
  fchmodSync(file, old.mode & 0o7777);
}

async function overwrite(
  folder: HeldDirectory,
  name: string,
  { bytes, old }: { bytes: Uint8Array; old: Stats },
): Promise<Stats> {
  const file = await openIn(folder, name, { flags: constants.O_WRONLY });
  try {
    const now = fstatSync(file.fd);
    if (now.dev !== old.dev || now.ino !== old.ino) throw new PlaceError("EPATHCHANGED", join(folder.path, name));
    let offset = 0;
    while (offset < bytes.length) {
      const { bytesWritten } = await file.write(bytes, offset, bytes.length - offset);
      offset += bytesWritten;
    }
    await file.truncate(bytes.length);
    await file.sync();
    return fstatSync(file.fd);
  } finally {
    await file.close();
  }
}

async function syncDirectory(folder: HeldDirectory): Promise<void> {
  try {
    const handle = await open(folder.at(), "r");
    await handle.sync().finally(() => handle.close());
  } catch {
    // Some file systems cannot; the rename itself has happened.
  }
}
