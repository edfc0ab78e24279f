// A file or directory held by descriptor. Whoever may write beside it can put something else under its name at any
// moment; the descriptor stays what was checked. Linux only.

import { closeSync, constants, fstatSync, openSync, readlinkSync } from "node:fs";
import { basename, dirname } from "node:path";

const O_PATH = 0o10000000;

/** Of exactly this path, which must be without links, for passing on or for `/proc/self/fd`. Null when something else is
 *  there by now, or nothing. The caller closes it. */
export function openPlace(path: string, kind: "file" | "directory"): number | null {
  const flags = O_PATH | constants.O_NOFOLLOW | (kind === "directory" ? constants.O_DIRECTORY : 0);
  let fd: number;
  try {
    fd = openSync(path, flags);
  } catch {
    return null; // Gone, a link, or another kind.
  }
  const stat = fstatSync(fd);
  // Where it was opened is not where it was looked for when a directory on the way is a link.
  const isThere = readlinkSync(`/proc/self/fd/${fd}`) === path && !stat.isSymbolicLink();
  if (isThere && stat.isDirectory() === (kind === "directory")) return fd;
  closeSync(fd);
  return null;
}

/** Calls `act` with a name for `path` whose directory cannot be replaced. False, and not called, when the directory is
 *  not where it should be. Throws what `act` throws. */
export function actInPlace(path: string, act: (name: string) => void): boolean {
  if (process.platform !== "linux") {
    act(path);
    return true;
  }
  const fd = openPlace(dirname(path), "directory");
  if (fd === null) return false;
  try {
    act(`/proc/self/fd/${fd}/${basename(path)}`);
    return true;
  } finally {
    closeSync(fd);
  }
}
