// Folders that hold tracked files, from the index. `git grep` reads such files by their names: where a folder has become a
// link, it reads what the link leads to.

import { lstatSync, readFileSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { findGitDirectories } from "@/store/git-root.ts";

/** Larger ones are not looked at. */
const MAX_INDEX_BYTES = 64 << 20;
const MAX_FOLDERS = 20_000;

/** May some tracked folder of the repository at `root` be a link? True also when that cannot be said. */
export function hasLinkedFolders(root: string): boolean {
  const directories = findGitDirectories(root);
  if (!directories) return true;
  try {
    const file = join(directories.gitDir, "index");
    const stat = statSync(file, { throwIfNoEntry: false });
    if (!stat) return false;
    if (!stat.isFile() || stat.size > MAX_INDEX_BYTES) return true;
    const folders = readFolders(readFileSync(file));
    if (!folders || folders.size > MAX_FOLDERS) return true;
    return [...folders].some(
      (folder) => lstatSync(join(root, folder), { throwIfNoEntry: false })?.isSymbolicLink() ?? false,
    );
  } catch {
    return true; // Not ours to look at, or a file where a folder was.
  }
}

/** Bytes of an entry before its flags, with numbers of 20 bytes. */
const BEFORE_FLAGS = 60;
const MODE_AT = 24;

interface Entries {
  /** Empty in version 4, where they are packed. */
  names: string[];
  modes: number[];
  /** Where the last one ends. */
  end: number;
}

/** Null when it is not an index of version 2 to 4 with numbers of 20 bytes. */
function readEntries(index: Buffer): Entries | null {
  if (index.length < 32 || index.toString("latin1", 0, 4) !== "DIRC") return null;
  const [version, count] = [index.readUInt32BE(4), index.readUInt32BE(8)];
  if (version < 2 || version > 4) return null;
  const entries: Entries = { names: [], modes: [], end: 12 };
  for (let entry = 0; entry < count; entry++) {
    const at = entries.end;
    if (at + BEFORE_FLAGS + 2 > index.length) return null;
    const flags = index.readUInt16BE(at + BEFORE_FLAGS);
    let start = at + BEFORE_FLAGS + 2 + (version >= 3 && flags & 0x4000 ? 2 : 0);
    // In front of a packed name: how much of the one before is left out.
    if (version === 4) {
      while (index[start]! & 0x80) start++;
      start++;
    }
    const end = index.indexOf(0, start);
    if (end === -1) return null;
    const length = flags & 0xfff;
    if (version !== 4 && (length < 0xfff ? end - start !== length : end - start < length)) return null;
    if (version !== 4) entries.names.push(index.toString("utf8", start, end));
    entries.modes.push(index.readUInt32BE(at + MODE_AT));
    // One to eight NULs behind the name; one in version 4.
    entries.end = version === 4 ? end + 1 : at + ((end - at + 8) & ~7);
  }
  return entries;
}

/** Null when it is not an index of version 2 or 3 with numbers of 20 bytes. */
export function readFolders(index: Buffer): Set<string> | null {
  const entries = readEntries(index);
  if (!entries || index.readUInt32BE(4) === 4) return null;
  const folders = new Set<string>();
  for (const name of entries.names)
    for (let folder = dirname(name); folder !== "." && !folders.has(folder); folder = dirname(folder))
      folders.add(folder);
  return folders;
}

/** Behind the last extension. */
const CHECKSUM_BYTES = 20;
/** Files, executable or not, and links. */
const FILE_MODES = new Set([0o100644, 0o100664, 0o100755, 0o120000]);

/** No submodules, no folder that stands for what is in it, nothing kept in a second file. False also when that cannot be
 *  said. Holds for a git that reads entries one after the other (`index.threads`). */
export function holdsFilesOnly(index: Buffer): boolean {
  const entries = readEntries(index);
  if (!entries?.modes.every((mode) => FILE_MODES.has(mode))) return false;
  let at = entries.end;
  while (at + CHECKSUM_BYTES + 8 <= index.length) {
    // In lower case: what a reader must understand, as it changes what the entries mean.
    if (!/^[A-Z]/.test(index.toString("latin1", at, at + 4))) return false;
    at += 8 + index.readUInt32BE(at + 4);
  }
  return at + CHECKSUM_BYTES === index.length;
}
