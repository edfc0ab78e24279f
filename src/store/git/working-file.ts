// Looks at one file of the working tree: what the system says about it, and which blob it would be. Never through a link
// in the place of a folder.

import { closeSync, constants, fstatSync, lstatSync, openSync, readFileSync, readlinkSync } from "node:fs";
import { join } from "node:path";
import { LettaError, systemErrorCode } from "@/lib/errors.ts";
import type { GitContext } from "./context.ts";
import type { IndexEntry, StatData } from "./index-file.ts";
import { MAX_OBJECT_BYTES } from "./limits.ts";
import { toDiskPath } from "./names.ts";
import { hashObject } from "./object-format.ts";
import type { FileMode, Oid } from "./types.ts";

export interface FileStat extends StatData {
  kind: "file" | "link" | "folder" | "other";
  executable: boolean;
  /** Whole. */
  bytes: number;
  permissions: number;
}

/** Null when there is nothing, also because a folder on the way is a file or link. */
export function statFile(dir: string, path: string): FileStat | null {
  for (let slash = path.indexOf("/"); slash !== -1; slash = path.indexOf("/", slash + 1)) {
    const parent = lstatSync(toDiskPath(dir, path.slice(0, slash)), { throwIfNoEntry: false });
    if (!parent?.isDirectory()) return null;
  }
  return statHere(dir, path);
}

/** For whoever came down through the folders. */
export function statHere(dir: string, path: string): FileStat | null {
  let stat: ReturnType<typeof lstatBig>;
  try {
    stat = lstatBig(dir, path);
  } catch (error) {
    if (systemErrorCode(error) === "ENOTDIR" || systemErrorCode(error) === "ENAMETOOLONG") return null;
    throw error;
  }
  if (!stat) return null;
  const mode = Number(stat.mode);
  const kind = KINDS[mode & constants.S_IFMT] ?? "other";
  return {
    kind,
    executable: (mode & 0o100) !== 0,
    bytes: Number(stat.size),
    permissions: mode & 0o7777,
    ctimeSeconds: seconds(stat.ctimeNs),
    ctimeNanos: nanos(stat.ctimeNs),
    mtimeSeconds: seconds(stat.mtimeNs),
    mtimeNanos: nanos(stat.mtimeNs),
    dev: Number(stat.dev & 0xffffffffn),
    ino: Number(stat.ino & 0xffffffffn),
    uid: Number(stat.uid & 0xffffffffn),
    gid: Number(stat.gid & 0xffffffffn),
    size: Number(stat.size & 0xffffffffn),
  };
}

/** The file has not been touched since the entry was made; see `isRacy`. */
export function sameStat(entry: StatData, stat: StatData): boolean {
  return (
    entry.mtimeSeconds === stat.mtimeSeconds &&
    entry.mtimeNanos === stat.mtimeNanos &&
    entry.size === stat.size &&
    entry.ctimeSeconds === stat.ctimeSeconds &&
    entry.ctimeNanos === stat.ctimeNanos &&
    entry.ino === stat.ino
  );
}

/** When an index was written. */
export interface WrittenAt {
  seconds: number;
  nanos: number;
}

export function writtenAt(mtimeNs: bigint): WrittenAt {
  return { seconds: seconds(mtimeNs), nanos: nanos(mtimeNs) };
}

/** The file may have changed after the index was written, within one tick of the clock. */
export function isRacy(entry: StatData, index: WrittenAt): boolean {
  if (entry.mtimeSeconds !== index.seconds) return entry.mtimeSeconds > index.seconds;
  return entry.mtimeNanos >= index.nanos;
}

/** What the working tree has at an entry's path, without reading where the system's answer is enough. */
export function isUnchanged(git: GitContext, entry: IndexEntry, stat: FileStat, index: WrittenAt): boolean {
  if (entry.mode !== modeOf(git, stat, entry.mode) || entry.intentToAdd) return false;
  if (sameStat(entry, stat) && !isRacy(entry, index)) return true;
  // The size of a smudged entry is 0, so only other sizes speak for themselves.
  if (entry.size !== 0 && entry.size !== stat.size) return false;
  return readWorkingOid(git.dir, entry.path, stat) === entry.oid;
}

/** `known`: what git has it as, where the file system cannot say. Null: not a thing git keeps. */
export function modeOf(
  git: Pick<GitContext, "fileMode" | "symlinks">,
  stat: FileStat,
  known?: FileMode,
): FileMode | null {
  if (stat.kind === "link") return "120000";
  if (stat.kind !== "file") return null;
  if (known === "120000" && !git.symlinks) return "120000";
  if (!git.fileMode) return known === "100755" ? "100755" : "100644";
  return stat.executable ? "100755" : "100644";
}

export function readWorkingOid(dir: string, path: string, stat: FileStat): Oid {
  return hashObject("blob", readWorkingFile(dir, path, stat));
}

/** Content, or the target of a link. */
export function readWorkingFile(dir: string, path: string, stat: FileStat): Uint8Array {
  const file = toDiskPath(dir, path);
  if (stat.kind === "link") return readlinkSync(file, "buffer");
  if (stat.bytes > MAX_OBJECT_BYTES)
    throw new LettaError("invalid_data", `${join(dir, path)} is too large to be kept (${stat.bytes} bytes)`);
  // Not through a link that has just taken its place, and not waiting for the writer of a pipe.
  const opened = openSync(file, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0));
  try {
    const now = fstatSync(opened);
    if (!now.isFile() || now.size > MAX_OBJECT_BYTES)
      throw new LettaError("conflict", `${join(dir, path)} changed while it was read`);
    return readFileSync(opened);
  } finally {
    closeSync(opened);
  }
}

const KINDS: Record<number, FileStat["kind"]> = {
  [constants.S_IFREG]: "file",
  [constants.S_IFLNK]: "link",
  [constants.S_IFDIR]: "folder",
};

function lstatBig(dir: string, path: string) {
  return lstatSync(toDiskPath(dir, path), { throwIfNoEntry: false, bigint: true });
}

function seconds(ns: bigint): number {
  return Number((ns / 1_000_000_000n) & 0xffffffffn);
}

function nanos(ns: bigint): number {
  return Number(ns % 1_000_000_000n);
}
