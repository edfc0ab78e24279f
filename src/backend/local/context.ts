// What the parts of the local backend share. One per backend; nothing here outlives it except through the database.

import type { Database } from "bun:sqlite";
import type { BackendMemory } from "@/backend/memory.ts";
import { type ModelAdapter, noProviderError } from "@/backend/model.ts";
import { currentOwner, type Owner } from "@/store/owner.ts";
import type { CachedWindow } from "./window.ts";

export interface LocalContext {
  readonly db: Database;
  readonly owner: Owner;
  now(): number;
  isoNow(): string;
  readonly models: ModelAdapter;
  /** Null: agents have none here. */
  readonly memory: BackendMemory | null;
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

export interface ContextOptions {
  db: Database;
  models: ModelAdapter;
  /** Default: agents have none. */
  memory?: BackendMemory;
  now?: () => number;
  /** For people; each text is given once. */
  onWarning?: (text: string) => void;
}

export function createContext({ db, models, memory, now = Date.now, onWarning }: ContextOptions): LocalContext {
  const warned = new Set<string>();
  return {
    db,
    owner: currentOwner(),
    now,
    isoNow: () => new Date(now()).toISOString(),
    models,
    memory: memory ?? null,
    warnOnce: (text) => {
      if (warned.has(text)) return;
      warned.add(text);
      onWarning?.(text);
    },
    activeRuns: new Map(),
    unfinishedRuns: new Set(),
    windowCache: new Map(),
  };
}

/** For work on the rows alone, where no model is asked: importing and repairing. */
export function offlineContext(db: Database, now: () => number): LocalContext {
  return createContext({ db, now, models: NO_MODELS });
}

const NO_MODELS: ModelAdapter = {
  stream: () => {
    throw noProviderError();
  },
  listModels: async () => [],
  resolveModel: () => Promise.reject(noProviderError()),
  defaultModel: async () => null,
};
