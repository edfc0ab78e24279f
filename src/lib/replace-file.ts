// Replaces a file's content so that at every moment either the old or the new bytes are there, and what is not content
// (mode, owner, symlink, hard links) stays as it was.

import { constants, lstatSync, readlinkSync, realpathSync, type Stats } from "node:fs";
import { type FileHandle, mkdir, open, rename, rm, stat } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { systemErrorCode } from "./errors.ts";

/** `bytes` null deletes. `mode` is for a file that does not exist; default: what the umask gives. Follows symlinks.
 *  Throws the system's error. */
export async function replaceFile(path: string, bytes: Uint8Array | null, mode?: number): Promise<void> {
  const target = followLinks(path);
  if (bytes === null) return rm(target, { force: true });
  const old = await stat(target).catch((error: unknown) => {
    if (systemErrorCode(error) === "ENOENT") return null;
    throw error;
  });
  if (old === null) await mkdir(dirname(target), { recursive: true });
  // Renaming over one of several hard links would part it from the others.
  if (old && old.nlink > 1) return overwrite(target, bytes);
  try {
    await writeAndRename(target, bytes, old, mode);
  } catch (error) {
    // A directory we may not write in, a file of another owner, a mount point, /proc: the file itself may still be writable.
    if (old && IN_PLACE_CODES.has(systemErrorCode(error) ?? "")) return overwrite(target, bytes);
    throw error;
  }
}

/** The file a path leads to, also when the last link points to something that does not exist yet. */
export function followLinks(path: string): string {
  let current = path;
  for (let hops = 0; hops < 40; hops++) {
    if (!isLink(current)) break;
    current = resolve(dirname(current), readlinkSync(current));
  }
  try {
    return realpathSync(current);
  } catch {
    return current; // It does not exist yet.
  }
}

function isLink(path: string): boolean {
  try {
    return lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() ?? false;
  } catch {
    return false; // A parent is a file, or may not be looked into: whoever uses the path is told.
  }
}

const IN_PLACE_CODES = new Set(["EACCES", "EPERM", "EXDEV", "EBUSY", "EROFS", "ENOENT"]);

async function writeAndRename(
  target: string,
  bytes: Uint8Array,
  old: Stats | null,
  mode: number | undefined,
): Promise<void> {
  const folder = dirname(target);
  const temporary = join(folder, `.letta-${process.pid}-${crypto.randomUUID()}.tmp`);
  // Private until it has the old file's mode; a new file gets what the umask allows.
  const file = await open(temporary, "wx", old ? 0o600 : (mode ?? 0o666));
  try {
    try {
      await file.writeFile(bytes);
      if (old) await keepOwnerAndMode(file, old);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(temporary, target);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
  await syncDirectory(folder);
}

async function keepOwnerAndMode(file: FileHandle, old: Stats): Promise<void> {
  const now = await file.stat();
  // Throws EPERM when we may not give files away; then the file is overwritten in place.
  if (now.uid !== old.uid || now.gid !== old.gid) await file.chown(old.uid, old.gid);
  await file.chmod(old.mode & 0o7777);
}

async function overwrite(target: string, bytes: Uint8Array): Promise<void> {
  const file = await open(target, constants.O_WRONLY);
  try {
    let offset = 0;
    while (offset < bytes.length) {
      const { bytesWritten } = await file.write(bytes, offset, bytes.length - offset);
      offset += bytesWritten;
    }
    await file.truncate(bytes.length);
    await file.sync();
  } finally {
    await file.close();
  }
}

async function syncDirectory(folder: string): Promise<void> {
  try {
    const handle = await open(folder, "r");
    await handle.sync().finally(() => handle.close());
  } catch {
    // Some file systems cannot; the rename itself has happened.
  }
}
