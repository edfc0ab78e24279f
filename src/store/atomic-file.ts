// Files of ours are replaced whole or not at all: temp file in the same directory, fsync, rename. A lock file serialises
// read-change-write between processes; it names its owner, so a lock left by a killed process is taken over.
// Every failure is a `storage` error that names the file; the old content stays on disk.

import { randomBytes } from "node:crypto";
import {
  closeSync,
  constants,
  copyFileSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readFileSync,
  realpathSync,
  renameSync,
  statSync,
  unlinkSync,
  writeFileSync,
} from "node:fs";
import { hostname } from "node:os";
import { basename, dirname, join } from "node:path";
import { LettaError, systemErrorCode, systemReason } from "@/lib/errors.ts";
import { isPidAlive } from "@/lib/process-stat.ts";

export interface AtomicWriteOptions {
  /** Mode of a new file; an existing file keeps its own. Default 0o600. */
  mode?: number;
  /** Keeps the previous content beside the file as `<file>.bak`. */
  backup?: boolean;
}

/** Milliseconds to wait for another process's lock. Holders keep it for one write. */
const LOCK_WAIT_MS = 5_000;
/** A lock older than this belongs to a process that was killed or stopped in the middle. */
const LOCK_STALE_MS = 10_000;

/** Follows a link to its target, so that a settings file kept elsewhere (dotfile managers) stays a link. */
export function writeFileAtomic(
  path: string,
  content: string | Uint8Array,
  { mode = 0o600, backup }: AtomicWriteOptions = {},
): void {
  let temp: string | undefined;
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    const target = existingTarget(path);
    const previous = statOrNull(target);
    temp = join(dirname(target), `.${basename(target)}.${process.pid}.${randomBytes(4).toString("hex")}.tmp`);
    writeDurably(temp, content, previous ? previous.mode & 0o777 : mode);
    if (backup && previous) saveBackup(target);
    renameSync(temp, target);
    syncDirectory(dirname(target));
  } catch (error) {
    if (temp) removeQuietly(temp);
    throw storageError(`cannot write ${path}`, error);
  }
}

/** Runs `change` while nobody else holds the lock of `path`. `change` must be quick: others wait at most 5 s. */
export async function withFileLock<T>(path: string, change: () => T | Promise<T>): Promise<T> {
  const lock = `${path}.lock`;
  const owner = JSON.stringify({ pid: process.pid, host: hostname(), nonce: randomBytes(8).toString("hex") });
  await acquire(path, lock, owner);
  try {
    return await change();
  } finally {
    // Only our own lock: whoever judged us dead and took over must keep theirs.
    if (readOrNull(lock) === owner) removeQuietly(lock);
  }
}

async function acquire(path: string, lock: string, owner: string): Promise<void> {
  const deadline = performance.now() + LOCK_WAIT_MS;
  for (;;) {
    if (tryCreate(path, lock, owner)) return;
    if (isStale(lock)) {
      removeStale(path, lock);
      continue;
    }
    if (performance.now() > deadline)
      throw new LettaError("storage", `cannot write ${path}: another process holds ${lock}`, {
        hint: `If no other letta is running, remove ${lock}.`,
      });
    await Bun.sleep(2 + Math.random() * 10);
  }
}

function tryCreate(path: string, lock: string, owner: string): boolean {
  try {
    // `EEXIST` of mkdir means that a file is in the way; only that of the lock itself means that it is taken.
    if (!statOrNull(dirname(lock))?.isDirectory()) mkdirSync(dirname(lock), { recursive: true, mode: 0o700 });
  } catch (error) {
    throw storageError(`cannot write ${path}`, error);
  }
  let file: number;
  try {
    file = openSync(lock, "wx", 0o600);
  } catch (error) {
    if (systemErrorCode(error) === "EEXIST") return false;
    throw storageError(`cannot write ${path}`, error);
  }
  try {
    writeFileSync(file, owner);
    return true;
  } catch (error) {
    // A lock without its owner's name, left on a full disk, would look like one that is just being written.
    removeQuietly(lock);
    throw storageError(`cannot write ${path}`, error);
  } finally {
    closeSync(file);
  }
}

/** Two processes may find the same stale lock; without this second lock the slower one would remove the lock the
 *  faster one has just made. It judges again once it holds it. */
function removeStale(path: string, lock: string): void {
  const guard = `${lock}.takeover`;
  if (!tryCreate(path, guard, String(process.pid))) {
    if (isOld(guard)) removeQuietly(guard);
    return;
  }
  if (isStale(lock)) removeQuietly(lock);
  removeQuietly(guard);
}

function isStale(lock: string): boolean {
  const text = readOrNull(lock);
  if (text === null) return false;
  if (isOld(lock)) return true;
  try {
    const { pid, host } = JSON.parse(text) as { pid?: unknown; host?: unknown };
    return typeof pid === "number" && host === hostname() && !isPidAlive(pid);
  } catch {
    return false; // Being written right now; its age decides later.
  }
}

function isOld(file: string): boolean {
  const stat = statOrNull(file);
  return stat !== null && Date.now() - stat.mtimeMs > LOCK_STALE_MS;
}

function writeDurably(path: string, content: string | Uint8Array, mode: number): void {
  const file = openSync(path, "wx", mode);
  try {
    writeFileSync(file, content);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

/** Never through a link that somebody put in the place of the backup. */
function saveBackup(target: string): void {
  const backup = `${target}.bak`;
  removeQuietly(backup);
  copyFileSync(target, backup, constants.COPYFILE_EXCL);
}

/** Makes the rename itself durable. */
function syncDirectory(path: string): void {
  try {
    const directory = openSync(path, "r");
    fsyncSync(directory);
    closeSync(directory);
  } catch {
    /* Directories cannot be synced on Windows and some network mounts; the rename is still atomic there. */
  }
}

function existingTarget(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path; // Does not exist yet.
  }
}

function statOrNull(path: string) {
  return statSync(path, { throwIfNoEntry: false }) ?? null;
}

function readOrNull(path: string): string | null {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return null; // Gone, which is an answer here.
  }
}

function removeQuietly(path: string): void {
  try {
    unlinkSync(path);
  } catch {
    /* Already gone, or the directory is not ours to change: the caller reports its own failure. */
  }
}

function storageError(message: string, cause: unknown): LettaError {
  const code = systemErrorCode(cause);
  const hint =
    code === "ENOSPC" || code === "EDQUOT"
      ? "The disk is full. The old content is unchanged."
      : code === "EROFS" || code === "EACCES" || code === "EPERM"
        ? "Check owner and permissions of the file and its folder. LETTA_HOME puts letta's own files elsewhere."
        : undefined;
  return new LettaError("storage", `${message}: ${systemReason(cause)}`, { cause, ...(hint && { hint }) });
}
