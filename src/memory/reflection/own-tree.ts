// The folder a dreamer worked in, read and taken away whatever it did to permissions and names: what it closed is opened
// again, what cannot be read is told and not thrown. No link is followed.

import type { Stats } from "node:fs";
import { chmod, lstat, readdir, rm } from "node:fs/promises";
import { LettaError, systemErrorCode, systemReason } from "@/lib/errors.ts";
import { storageError } from "@/store/atomic-file.ts";
import { decodeName, toDiskPath } from "@/store/git/names.ts";

export interface OwnEntry {
  /** Relative to the root, with `/`. */
  path: string;
  name: string;
  /** Null when it could not even be looked at. */
  stat: Stats | null;
  /** Why it, or what is in it, cannot be read. */
  problem: string | null;
}

/** Everything below `root`, a folder before what is in it; git's own folders are not gone into. Throws `storage` when
 *  `root` is no folder that can be read. */
export async function* readEntries(root: string): AsyncGenerator<OwnEntry> {
  const top = await open(root);
  const closed = top.problem ?? (top.stat?.isDirectory() ? null : "it is no folder any more");
  if (closed !== null) throw new LettaError("storage", `cannot read ${root}: ${closed}`);
  const folders = [""];
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
    let names: Buffer[];
    try {
      names = await readdir(folder === "" ? root : toDiskPath(root, folder), { encoding: "buffer" });
    } catch (error) {
      const problem = reasonOf(error);
      if (folder === "") throw new LettaError("storage", `cannot read ${root}: ${problem}`, { cause: error });
      yield { path: folder, name: folder.slice(folder.lastIndexOf("/") + 1), stat: null, problem };
      continue;
    }
    for (const bytes of names) {
      const name = decodeName(bytes);
      const path = folder === "" ? name : `${folder}/${name}`;
      const { stat, problem } = await open(toDiskPath(root, path));
      yield { path, name, stat, problem };
      if (problem === null && stat?.isDirectory() && name.toLowerCase() !== ".git") folders.push(path);
    }
  }
}

/** All of it. Throws `storage`. */
export async function removeOwnTree(root: string): Promise<void> {
  try {
    const stat = await lstat(root).catch(() => null);
    // Of a link, only the link.
    if (stat?.isDirectory()) for await (const _ of readEntries(root));
  } catch {
    // What is left closed is told by the removal.
  }
  try {
    await rm(root, { recursive: true, force: true });
  } catch (error) {
    throw storageError(`cannot remove ${root}`, error);
  }
}

/** With the permissions that its owner needs. */
async function open(file: string | Buffer): Promise<Pick<OwnEntry, "stat" | "problem">> {
  let stat: Stats | null = null;
  try {
    stat = await lstat(file);
    const needed = stat.isDirectory() ? 0o700 : stat.isFile() ? 0o400 : 0;
    if ((stat.mode & needed) !== needed) await chmod(file, (stat.mode & 0o7777) | needed);
    return { stat, problem: null };
  } catch (error) {
    return { stat, problem: reasonOf(error) };
  }
}

/** Only what the system says: anything else is a bug. */
function reasonOf(error: unknown): string {
  if (systemErrorCode(error) === undefined) throw error;
  return systemReason(error);
}
