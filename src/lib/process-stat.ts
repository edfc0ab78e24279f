// What the kernel says about a process, where it says it (Linux), and whether there is one.

import { readFileSync } from "node:fs";
import { systemErrorCode } from "./errors.ts";

export interface ProcessStat {
  /** `Z` and `X` are dead: they answer signals but run no code any more. */
  state: string;
  parent: number;
  group: number;
  /** Clock ticks after boot at which it started. With the pid it identifies a process although pids are reused. */
  startTicks: string;
}

/** Null where there is no /proc, or no such process. */
export function readProcessStat(pid: number | string): ProcessStat | null {
  let text: string;
  try {
    text = readFileSync(`/proc/${pid}/stat`, "latin1");
  } catch {
    return null; // not Linux, or the process is gone
  }
  // `pid (command) state ppid pgrp session … starttime`; the command may hold spaces and parentheses.
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
  const [state, parent, group] = fields;
  const startTicks = fields[19];
  if (!state || !startTicks) return null;
  return { state, parent: Number(parent), group: Number(group), startTicks };
}

/** True for a process of any user, zombies included. A negative pid asks for a process group. */
export function isPidAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // EPERM: it exists, but belongs to another user.
    return systemErrorCode(error) === "EPERM";
  }
}
