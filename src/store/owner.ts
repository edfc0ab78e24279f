// Who holds a lease or runs a run, and whether that process still lives. A pid alone is not enough: pids are reused, so
// where the kernel tells it, the start time of the process is part of the identity.

import { readFileSync } from "node:fs";
import { hostname } from "node:os";
import { systemErrorCode } from "@/lib/errors.ts";

/** Without a heartbeat for this long an owner counts as dead, wherever it runs. */
export const OWNER_STALE_MS = 60_000;

export interface Owner {
  pid: number;
  host: string;
  /** Clock ticks after boot at which the process started; "" where the platform does not say. */
  startTicks: string;
}

export function currentOwner(): Owner {
  return { pid: process.pid, host: hostname(), startTicks: readProcess(process.pid)?.startTicks ?? "" };
}

/** `heartbeatAt` is an ISO time. Processes of other hosts are judged by their heartbeat alone. */
export function isOwnerAlive(owner: Owner, heartbeatAt: string, self: Owner, nowMs: number): boolean {
  if (nowMs - Date.parse(heartbeatAt) > OWNER_STALE_MS) return false;
  if (owner.host !== self.host) return true;
  if (!isPidAlive(owner.pid)) return false;
  const found = readProcess(owner.pid);
  if (!found) return true;
  // A zombie answers signals but runs no code any more.
  if (found.state === "Z" || found.state === "X") return false;
  return owner.startTicks === "" || owner.startTicks === found.startTicks;
}

function isPidAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // EPERM: it exists, but belongs to another user.
    return systemErrorCode(error) === "EPERM";
  }
}

/** Null where there is no /proc, or no such process. */
function readProcess(pid: number): { state: string; startTicks: string } | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
    // The second field is the command in parentheses and may itself hold spaces and parentheses.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    const [state, startTicks] = [fields[0], fields[19]];
    return state && startTicks ? { state, startTicks } : null;
  } catch {
    return null; // not Linux, or the process is gone
  }
}
