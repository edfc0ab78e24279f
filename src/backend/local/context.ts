// What the parts of the local backend share. One per backend; nothing here outlives it except through the database.

import type { Database } from "bun:sqlite";
import type { ModelAdapter } from "@/backend/model.ts";
import type { Owner } from "@/store/owner.ts";
import type { CachedWindow } from "./window.ts";

export interface LocalContext {
  readonly db: Database;
  readonly owner: Owner;
  now(): number;
  isoNow(): string;
  /** Loads providers on first use. */
  models(): Promise<ModelAdapter>;
  /** Told once per text. */
  warnOnce(text: string): void;
  /** Runs of this backend that are streaming. */
  readonly activeRuns: Map<string, AbortController>;
  /** Runs whose end could not be stored (disk full); retried with the next operation. */
  readonly unfinishedRuns: Set<string>;
  /** When old streams were last dropped, counted from the first run: short-lived processes do it on close only. */
  prunedAt?: number;
  readonly windowCache: Map<string, CachedWindow>;
}
