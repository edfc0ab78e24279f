// Runs the calls of one batch as parallel as their resources allow, never out of order where order matters: a call
// waits for every earlier call it conflicts with. A barrier conflicts with everything; a write conflicts with reads and
// writes that overlap its path; reads never conflict with each other.

import { sep } from "node:path";
import type { Resource } from "@/tools/define-tool.ts";

export interface ScheduledCall<T> {
  /** Null: nothing is executed, so nothing can conflict. */
  resource: Resource | null;
  /** Throws only when nothing can go on, such as a store that is full or lost. */
  run(): Promise<T>;
}

/** Results in call order. When one throws, what waits for it is not run, and what runs beside it ends first: nothing
 *  may go on after its turn. */
export async function runScheduled<T>(calls: ScheduledCall<T>[]): Promise<T[]> {
  const running: Promise<T>[] = [];
  for (const [index, call] of calls.entries()) {
    const blockers = running.filter((_, earlier) => conflicts(calls[earlier]!.resource, call.resource));
    running[index] = Promise.all(blockers).then(() => call.run());
  }
  await Promise.allSettled(running);
  return Promise.all(running);
}

export function conflicts(earlier: Resource | null, later: Resource | null): boolean {
  if (!earlier || !later) return false;
  if (earlier.kind === "barrier" || later.kind === "barrier") return true;
  if (earlier.kind === "read" && later.kind === "read") return false;
  return overlaps(earlier.path, later.path);
}

/** No path means the whole tree; a directory overlaps what is below it. */
function overlaps(a: string | undefined, b: string | undefined): boolean {
  if (a === undefined || b === undefined || a === b) return true;
  return a.startsWith(b.endsWith(sep) ? b : b + sep) || b.startsWith(a.endsWith(sep) ? a : a + sep);
}
