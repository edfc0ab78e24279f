// Files of ours are replaced whole or not at all: temp file in the same directory, fsync, rename. A lock file serialises
// read-change-write between processes; it names its owner, so a lock left by a killed process is taken over.
// Every failure is a `storage` error that names the file; the old content stays on disk.

import { randomBytes } from "node:crypto";
import {
  closeSync,
  constants,
  copyFileSync,
  fsyncSync,
  linkSync,
  lstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  realpathSync,
  renameSync,
  statSync,
  unlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import { LettaError, systemErrorCode, systemReason } from "@/lib/errors.ts";
import { currentOwner, isOwnerAlive } from "./owner.ts";

export interface AtomicWriteOptions {
  /** Mode of a new file; an existing file keeps its own. Default 0o600. */
  mode?: number;
  /** Keeps the previous content beside the file as `<file>.bak`. */
  backup?: boolean;
}

export interface FileLockOptions {
  /** Milliseconds to wait for another process's lock. Default 5 s: holders keep it for one write. */
  waitMs?: number;
  /** A lock that was not touched for so long belongs to a process that was killed or stopped in the middle. Default 10 s;
   *  a holder who may need longer touches it (`keepFresh`). */
  staleMs?: number;
  keepFresh?: boolean;
  /** For whoever has to wait, in the lock's text. */
  purpose?: string;
}

const LOCK_WAIT_MS = 5_000;
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

/** Runs `change` while nobody else holds the lock of `path`, `<path>.lock`. */
export async function withFileLock<T>(
  path: string,
  change: () => T | Promise<T>,
  { waitMs = LOCK_WAIT_MS, staleMs = LOCK_STALE_MS, keepFresh, purpose }: FileLockOptions = {},
): Promise<T> {
  const lock = `${path}.lock`;
  const nonce = randomBytes(8).toString("hex");
  const startedAt = new Date().toISOString();
  const owner = JSON.stringify({ ...currentOwner(), startedAt, ...(purpose && { purpose }), nonce });
  await acquire({ path, lock, owner, waitMs, staleMs });
  const fresh = keepFresh ? setInterval(() => touchQuietly(lock), staleMs / 5) : undefined;
  fresh?.unref();
  try {
    return await change();
  } finally {
    clearInterval(fresh);
    // Only our own lock: whoever judged us dead and took over must keep theirs.
    if (readOrNull(lock) === owner) removeQuietly(lock);
  }
}

/** True when a lock's text names a process of this machine that no longer runs. */
export function isLockOwnerDead(text: string): boolean {
  try {
    const { pid, host, startTicks = "" } = JSON.parse(text) as { pid?: unknown; host?: unknown; startTicks?: unknown };
    if (typeof pid !== "number" || typeof host !== "string" || typeof startTicks !== "string") return false;
    const now = Date.now();
    return !isOwnerAlive({ pid, host, startTicks }, new Date(now).toISOString(), currentOwner(), now);
  } catch {
    return false; // Being written right now, or another program's; its age decides.
  }
}

interface LockRequest {
  path: string;
  lock: string;
  owner: string;
  waitMs: number;
  staleMs: number;
}

async function acquire(request: LockRequest): Promise<void> {
  const { path, lock, owner, waitMs } = request;
  const deadline = performance.now() + waitMs;
  for (;;) {
    if (tryCreate(path, lock, owner)) return;
    if (isStale(request)) {
      removeStale(request);
      continue;
    }
    if (performance.now() > deadline)
      throw new LettaError("busy", `cannot write ${path}: another process holds ${lock}`, {
        hint: `If no other letta is running, remove ${lock}.`,
      });
    await Bun.sleep(2 + Math.random() * 10);
  }
}

/** Appears with its text: a lock without its owner's name could only be judged by its age. */
function tryCreate(path: string, lock: string, owner: string): boolean {
  const temp = `${lock}.${process.pid}.${randomBytes(4).toString("hex")}.tmp`;
  try {
    // `EEXIST` of mkdir means that a file is in the way; only that of the lock itself means that it is taken.
    if (!statOrNull(dirname(lock))?.isDirectory()) mkdirSync(dirname(lock), { recursive: true, mode: 0o700 });
    // Nobody waits faster by making files: most of the time the lock is there.
    if (lstatSync(lock, { throwIfNoEntry: false })) return false;
    writeFileSync(temp, owner, { flag: "wx", mode: 0o600 });
    try {
      linkSync(temp, lock);
    } catch (error) {
      if (systemErrorCode(error) === "EEXIST") return false;
      // A file system without hard links.
      return createInPlace(lock, owner);
    }
    return true;
  } catch (error) {
    throw storageError(`cannot write ${path}`, error);
  } finally {
    removeQuietly(temp);
  }
}

function createInPlace(lock: string, owner: string): boolean {
  let file: number;
  try {
    file = openSync(lock, "wx", 0o600);
  } catch (error) {
    if (systemErrorCode(error) === "EEXIST") return false;
    throw error;
  }
  try {
    writeFileSync(file, owner);
    return true;
  } catch (error) {
    removeQuietly(lock);
    throw error;
  } finally {
    closeSync(file);
  }
}

/** Two processes may find the same stale lock; without this second lock the slower one would remove the lock the
 *  faster one has just made. It judges again once it holds it. */
function removeStale(request: LockRequest): void {
  const guard = `${request.lock}.takeover`;
  if (!tryCreate(request.path, guard, JSON.stringify(currentOwner()))) {
    if (isStale({ lock: guard, staleMs: LOCK_STALE_MS })) removeQuietly(guard);
    return;
  }
  if (isStale(request)) removeQuietly(request.lock);
  removeQuietly(guard);
}

function isStale({ lock, staleMs }: Pick<LockRequest, "lock" | "staleMs">): boolean {
  const text = readOrNull(lock);
  if (text === null) return false;
  const stat = statOrNull(lock);
  return (stat !== null && Date.now() - stat.mtimeMs > staleMs) || isLockOwnerDead(text);
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

function touchQuietly(path: string): void {
  try {
    const now = new Date();
    utimesSync(path, now, now);
  } catch {
    /* Whoever judged us dead removed it. */
  }
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

export function storageError(message: string, cause: unknown): LettaError {
  const code = systemErrorCode(cause);
  const hint =
    code === "ENOSPC" || code === "EDQUOT"
      ? "The disk is full. The old content is unchanged."
      : code === "EROFS" || code === "EACCES" || code === "EPERM"
        ? "Check owner and permissions of the file and its folder. LETTA_HOME puts letta's own files elsewhere."
        : undefined;
  return new LettaError("storage", `${message}: ${systemReason(cause)}`, { cause, ...(hint && { hint }) });
}
