// Who holds a lease or runs a run, and whether that process still lives. A pid alone is not enough: pids are reused, so
// where the kernel tells it, the start time of the process is part of the identity.

import { hostname } from "node:os";
import { isPidAlive, readProcessStat } from "@/lib/process-stat.ts";

/** Without a heartbeat for this long an owner counts as dead, wherever it runs. */
const OWNER_STALE_MS = 60_000;

export interface Owner {
  pid: number;
  host: string;
  /** Clock ticks after boot at which the process started; "" where the platform does not say. */
  startTicks: string;
}

export function currentOwner(): Owner {
  return { pid: process.pid, host: hostname(), startTicks: readProcessStat(process.pid)?.startTicks ?? "" };
}

/** `heartbeatAt` is an ISO time. Processes of other hosts are judged by their heartbeat alone. */
export function isOwnerAlive(owner: Owner, heartbeatAt: string, self: Owner, nowMs: number): boolean {
  if (nowMs - Date.parse(heartbeatAt) > OWNER_STALE_MS) return false;
  if (owner.host !== self.host) return true;
  if (!isPidAlive(owner.pid)) return false;
  const found = readProcessStat(owner.pid);
  if (!found) return true;
  // A zombie answers signals but runs no code any more.
  if (found.state === "Z" || found.state === "X") return false;
  return owner.startTicks === "" || owner.startTicks === found.startTicks;
}
