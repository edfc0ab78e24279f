// Real git's locks (`index.lock`, `refs/….lock`, `packed-refs.lock`, `config.lock`): whoever made the file may replace the
// one it is named after. Ours hold a line that names the process, never the new content, so a lock left by a killed
// process of ours can be told from one of real git, which is not touched before it is ten minutes old.

import { lstatSync, readFileSync, utimesSync } from "node:fs";
import { LettaError, systemErrorCode } from "@/lib/errors.ts";
import { isLockOwnerDead, withFileLock } from "@/store/atomic-file.ts";
import { currentOwner } from "@/store/owner.ts";
import type { Disk } from "./disk.ts";
import { removeQuietly } from "./folders.ts";
import { FOREIGN_LOCK_STALE_MS, LOCK_WAIT_MS, WRITER_STALE_MS, WRITER_WAIT_MS } from "./limits.ts";
import type { Scratch } from "./scratch.ts";

/** One writer of ours at a time; `<path>.lock`. */
export function withWriterLock<T>(path: string, purpose: string, change: () => Promise<T>): Promise<T> {
  return withFileLock(path, change, { waitMs: WRITER_WAIT_MS, staleMs: WRITER_STALE_MS, keepFresh: true, purpose });
}

export interface GitLock extends Disposable {
  /** The file it protects. */
  readonly path: string;
  /** Puts the content in the place of the file, whole. */
  replace(content: Uint8Array): Promise<void>;
}

/** Waits for real git. Throws `busy`. */
export async function lockGitFile(disk: Disk, scratch: Scratch, path: string): Promise<GitLock> {
  const lock = `${path}.lock`;
  const deadline = performance.now() + LOCK_WAIT_MS;
  while (!(await tryLock(disk, scratch, lock))) {
    if (isLeftBehind(lock)) {
      removeQuietly(disk, lock);
      continue;
    }
    if (performance.now() > deadline) throw heldLock(lock);
    await Bun.sleep(5 + Math.random() * 20);
  }
  const heartbeat = setInterval(() => touch(lock), WRITER_STALE_MS / 5);
  heartbeat.unref();
  return {
    path,
    replace: async (content) => {
      const temporary = scratch.path();
      await disk.create(temporary, [content], { mode: 0o644, durable: true });
      try {
        disk.rename(temporary, path);
      } catch (error) {
        removeQuietly(disk, temporary);
        throw error;
      }
    },
    [Symbol.dispose]: () => {
      clearInterval(heartbeat);
      removeQuietly(disk, lock);
    },
  };
}

/** True for a lock nobody will release any more. */
export function isLeftBehind(lock: string): boolean {
  const stat = lstatSync(lock, { throwIfNoEntry: false });
  if (!stat) return false;
  const age = Date.now() - stat.mtimeMs;
  const text = readLock(lock);
  if (text.startsWith("{")) return isLockOwnerDead(text) || age > WRITER_STALE_MS;
  return age > FOREIGN_LOCK_STALE_MS;
}

async function tryLock(disk: Disk, scratch: Scratch, lock: string): Promise<boolean> {
  if (lstatSync(lock, { throwIfNoEntry: false })) return false;
  const temporary = scratch.path();
  const owner = new TextEncoder().encode(`${JSON.stringify(currentOwner())}\n`);
  await disk.create(temporary, [owner], { mode: 0o644, durable: false });
  try {
    // Appears with its text, in one step.
    disk.link(temporary, lock);
    return true;
  } catch (error) {
    if (systemErrorCode(error) === "EEXIST") return false;
    return await createInPlace(disk, lock, owner);
  } finally {
    removeQuietly(disk, temporary);
  }
}

/** For file systems without hard links. */
async function createInPlace(disk: Disk, lock: string, owner: Uint8Array): Promise<boolean> {
  try {
    await disk.create(lock, [owner], { mode: 0o644, durable: false });
    return true;
  } catch (error) {
    if (systemErrorCode(error) === "EEXIST") return false;
    throw error;
  }
}

function heldLock(lock: string): LettaError {
  const text = readLock(lock);
  const pid = text.startsWith("{") ? /"pid":(\d+)/.exec(text)?.[1] : undefined;
  const holder = pid ? `process ${pid}` : "another program, perhaps git,";
  return new LettaError("busy", `${holder} holds ${lock}`, {
    hint: `Try again when it is done. If nothing uses the repository any more, remove ${lock}.`,
  });
}

function readLock(lock: string): string {
  try {
    return readFileSync(lock).subarray(0, 1_000).toString();
  } catch {
    return ""; // Released this moment.
  }
}

function touch(path: string): void {
  try {
    utimesSync(path, new Date(), new Date());
  } catch {
    // Whoever judged us dead removed it.
  }
}
