// What the parts of the local backend need to work on a database without any model: for importing and repairing.

import type { Database } from "bun:sqlite";
import type { LocalContext } from "@/backend/local/context.ts";
import { currentOwner } from "@/store/owner.ts";

export function offlineContext(db: Database, now: () => number): LocalContext {
  return {
    db,
    owner: currentOwner(),
    now,
    isoNow: () => new Date(now()).toISOString(),
    models: () => Promise.reject(new Error("no model is asked here")),
    warnOnce() {},
    activeRuns: new Map(),
    unfinishedRuns: new Set(),
    windowCache: new Map(),
  };
}
