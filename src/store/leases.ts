// One conversation has one turn at a time, across processes. A lease row names its owner and a fencing number that
// only grows; whoever lost the lease may not write (backend/local checks the fence inside its transactions).

import type { Fence } from "@/backend/backend.ts";

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
  /** Aborts when another process took over. */
  readonly lost: AbortSignal;
  release(): void;
}

export type LeaseAttempt =
  | { status: "acquired"; lease: Lease; tookOver: LeaseHolder | null }
  | { status: "busy"; holder: LeaseHolder };

export interface Leases {
  /** Answers at once. A dead owner (same host, pid gone, or no heartbeat for 60 s) is taken over. */
  tryAcquire(key: string, label: string): LeaseAttempt;
}
