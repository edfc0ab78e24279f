// One conversation has one turn at a time, across processes. A lease row names its owner and a fencing number that
// only grows; whoever lost the lease may not write (backend/local checks the fence inside its transactions).

import type { Database } from "bun:sqlite";
import type { Fence } from "@/backend/backend.ts";
import { LettaError } from "@/lib/errors.ts";
import { relaxed } from "./db.ts";
import { currentOwner, isOwnerAlive, type Owner } from "./owner.ts";

const HEARTBEAT_MS = 5_000;

export interface LeaseHolder {
  pid: number;
  host: string;
  /** What the process is, for people: `interactive`, `headless`, `server`. */
  label: string;
  startedAt: string;
  heartbeatAt: string;
}

export interface Lease extends AsyncDisposable {
  readonly fence: Fence;
  /** Aborts when another process took over; up to a heartbeat late. */
  readonly lost: AbortSignal;
  /** Asks the database. */
  isCurrent(): boolean;
  release(): void;
}

export type LeaseAttempt =
  | { status: "acquired"; lease: Lease; tookOver: LeaseHolder | null }
  | { status: "busy"; holder: LeaseHolder };

export interface Leases {
  /** Answers at once. A dead owner (same host, pid gone, or no heartbeat for 60 s) is taken over. */
  tryAcquire(key: string, label: string): LeaseAttempt;
}

export interface LeaseOptions {
  now?: () => number;
  /** Default 5 s. */
  heartbeatMs?: number;
  /** Default: this process. */
  owner?: Owner;
}

/** Lease writes are relaxed: a power loss ends every owner too. */
export function createLeases(db: Database, options: LeaseOptions = {}): Leases {
  const { now = Date.now, heartbeatMs = HEARTBEAT_MS, owner = currentOwner() } = options;
  const isoNow = (): string => new Date(now()).toISOString();

  return {
    tryAcquire(key, label) {
      const attempt = relaxed(db, () => {
        const row = findRow(db, key);
        if (row && row.released === 0 && isOwnerAlive(toOwner(row), row.heartbeat_at, owner, now())) {
          return { status: "busy" as const, holder: toHolder(row) };
        }
        const fence = (row?.fence ?? 0) + 1;
        const at = isoNow();
        db.query(`INSERT OR REPLACE INTO leases VALUES (?, ?, 0, ?, ?, ?, ?, ?, ?)`).run(
          key,
          fence,
          owner.pid,
          owner.host,
          owner.startTicks,
          label,
          at,
          at,
        );
        return { status: "acquired" as const, fence, tookOver: row && row.released === 0 ? toHolder(row) : null };
      });
      if (attempt.status === "busy") return attempt;
      const lease = createLease(db, { key, fence: attempt.fence }, heartbeatMs, isoNow);
      return { status: "acquired", lease, tookOver: attempt.tookOver };
    },
  };
}

/** For use inside a write transaction: throws `lease_lost` unless the fence is the current, unreleased one. */
export function assertFence(db: Database, fence: Fence): void {
  const row = findRow(db, fence.key);
  if (isHeld(row, fence)) return;
  const holder = row && row.fence !== fence.fence ? ` to ${row.label} (pid ${row.pid} on ${row.host})` : "";
  throw new LettaError("lease_lost", `This process lost the right to write to the conversation${holder}`, {
    hint: "Another process took the conversation over. Open it again to go on.",
  });
}

function isHeld(row: LeaseRow | null, fence: Fence): boolean {
  return row?.fence === fence.fence && row.released === 0;
}

interface LeaseRow {
  fence: number;
  released: number;
  pid: number;
  host: string;
  start_ticks: string;
  label: string;
  started_at: string;
  heartbeat_at: string;
}

function createLease(db: Database, fence: Fence, heartbeatMs: number, isoNow: () => string): Lease {
  const lost = new AbortController();
  let released = false;
  const timer = setInterval(beat, heartbeatMs);
  timer.unref();

  function beat(): void {
    try {
      const { changes } = relaxed(db, () =>
        db
          .query("UPDATE leases SET heartbeat_at = ? WHERE key = ? AND fence = ? AND released = 0")
          .run(isoNow(), fence.key, fence.fence),
      );
      if (changes > 0) return;
      clearInterval(timer);
      lost.abort(new LettaError("lease_lost", "Another process took the conversation over"));
    } catch {
      // A full disk or a busy database: the next beat tries again, and the fence guards every write meanwhile.
    }
  }

  function release(): void {
    if (released) return;
    released = true;
    clearInterval(timer);
    try {
      relaxed(db, () =>
        db.query("UPDATE leases SET released = 1 WHERE key = ? AND fence = ?").run(fence.key, fence.fence),
      );
    } catch {
      // The store is closed or full: others find this process gone, or its heartbeat stale.
    }
  }

  return {
    fence,
    lost: lost.signal,
    isCurrent: () => isHeld(findRow(db, fence.key), fence),
    release,
    [Symbol.asyncDispose]: async () => release(),
  };
}

function findRow(db: Database, key: string): LeaseRow | null {
  return db.query("SELECT * FROM leases WHERE key = ?").get(key) as LeaseRow | null;
}

function toOwner(row: LeaseRow): Owner {
  return { pid: row.pid, host: row.host, startTicks: row.start_ticks };
}

function toHolder(row: LeaseRow): LeaseHolder {
  return {
    pid: row.pid,
    host: row.host,
    label: row.label,
    startedAt: row.started_at,
    heartbeatAt: row.heartbeat_at,
  };
}
