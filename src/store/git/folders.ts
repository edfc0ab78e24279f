// Folders below a root that is ours, and only real ones: a link in the place of a folder would lead a write out of the
// repository, so it refuses.

import { lstatSync, readdirSync } from "node:fs";
import { join, sep } from "node:path";
import { LettaError, systemErrorCode } from "@/lib/errors.ts";
import type { Disk, DiskPath } from "./disk.ts";
import { toDiskPath } from "./names.ts";

export function ensureFolder(disk: Disk, path: DiskPath): void {
  if (isFolder(path)) return;
  try {
    disk.makeDir(path);
  } catch (error) {
    // Another process made it. A file or link there is an error.
    if (systemErrorCode(error) !== "EEXIST" || !isFolder(path)) throw error;
  }
}

/** Makes the folders that a file of `root` is in; returns those that were not there, outermost first. */
export function makeParents(disk: Disk, root: string, file: string): string[] {
  const made: string[] = [];
  for (let slash = file.indexOf("/"); slash !== -1; slash = file.indexOf("/", slash + 1)) {
    const folder = file.slice(0, slash);
    const path = toDiskPath(root, folder);
    const stat = lstatSync(path, { throwIfNoEntry: false });
    if (stat?.isDirectory()) continue;
    if (stat) throw notAFolder(join(root, folder), stat.isSymbolicLink());
    ensureFolder(disk, path);
    made.push(folder);
  }
  return made;
}

/** Throws when a folder on the way is a link or file; what does not exist is fine. */
export function assertRealParents(root: string, file: string): void {
  for (let slash = file.indexOf("/"); slash !== -1; slash = file.indexOf("/", slash + 1)) {
    const folder = file.slice(0, slash);
    const stat = lstatSync(toDiskPath(root, folder), { throwIfNoEntry: false });
    if (!stat) return;
    if (!stat.isDirectory()) throw notAFolder(join(root, folder), stat.isSymbolicLink());
  }
}

/** From the innermost up, as long as they are empty; `root` itself stays. */
export function removeEmptyParents(disk: Disk, root: string, file: string): void {
  for (let slash = file.lastIndexOf("/"); slash > 0; slash = file.lastIndexOf("/", slash - 1)) {
    try {
      disk.removeDir(toDiskPath(root, file.slice(0, slash)));
    } catch {
      return; // Not empty.
    }
  }
}

/** Names in a folder, none when it does not exist or is a link to elsewhere. */
export function listFolder(path: string): string[] {
  try {
    return isFolder(path) ? readdirSync(path) : [];
  } catch (error) {
    if (["ENOENT", "ENOTDIR"].includes(systemErrorCode(error) ?? "")) return [];
    throw error;
  }
}

export function isFolder(path: DiskPath): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}

export function isFile(path: DiskPath): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isFile() ?? false;
}

/** A folder with all it holds; links are removed, not followed. `last` names what goes after everything else in it. */
export function removeFolder(disk: Disk, path: string, last?: string): void {
  if (!isFolder(path)) return;
  const entries = readdirSync(path, { withFileTypes: true }).filter(({ name }) => name !== last);
  for (const entry of entries) {
    const inner = join(path, entry.name);
    if (entry.isDirectory()) removeFolder(disk, inner);
    else disk.remove(inner);
  }
  if (last !== undefined && lstatSync(join(path, last), { throwIfNoEntry: false })) disk.remove(join(path, last));
  disk.removeDir(path);
}

/** Throws `conflict` when there is more in a folder than folders. */
export function assertNoFiles(path: DiskPath): void {
  for (const name of readdirSync(path, { encoding: "buffer" })) {
    const inner = Buffer.concat([Buffer.from(path), Buffer.from(sep), name]);
    if (!isFolder(inner)) throw new LettaError("conflict", `${String(path)} is a folder with files of its own`);
    assertNoFiles(inner);
  }
}

/** A folder with nothing but folders in it. Throws the system's error when there is more. */
export function removeEmptyFolders(disk: Disk, path: DiskPath): void {
  if (!isFolder(path)) return;
  for (const name of readdirSync(path, { encoding: "buffer" }))
    removeEmptyFolders(disk, Buffer.concat([Buffer.from(path), Buffer.from(sep), name]));
  disk.removeDir(path);
}

export function removeQuietly(disk: Disk, path: DiskPath): void {
  try {
    disk.remove(path);
  } catch {
    // Gone, or the disk is in trouble: whoever failed first says so, and `maintain` sweeps.
  }
}

function notAFolder(path: string, isLink: boolean): LettaError {
  return new LettaError("conflict", `${path} is a ${isLink ? "symbolic link" : "file"}, not a folder`, {
    hint: "Nothing was written through it. Move it away first.",
  });
}
