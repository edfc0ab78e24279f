// The undo store: what every file was before a tool changed it, by turn. Contents are stored once, by hash, compressed,
// under `~/.letta/local/shadow`; the table says which turn changed what. The user's git is never touched.

import type { Database } from "bun:sqlite";
import { readFileSync, rmSync, statSync, utimesSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { systemErrorCode, systemReason } from "@/lib/errors.ts";
import { sha256 } from "@/lib/hash.ts";
import { holdDirectory, openRegular } from "@/lib/held-directory.ts";
import { replaceFile } from "@/lib/replace-file.ts";
import { writeFileAtomic } from "./atomic-file.ts";
import { durable } from "./db.ts";
import type { Paths } from "./paths.ts";

export interface ShadowChange {
  conversationId: string;
  turnId: string;
  /** Absolute, symlinks followed. */
  path: string;
  /** Null: the file did not exist. `too large`: it is not kept, and this change cannot be undone. */
  before: Uint8Array | null | "too large";
  /** Null: the file is deleted. */
  after: Uint8Array | null;
  /** Permission bits before the change. */
  mode: number | null;
}

export interface ShadowTurn {
  turnId: string;
  conversationId: string;
  /** Of its first change; ISO. */
  at: string;
  files: { path: string; kind: "created" | "changed" | "deleted" }[];
  /** Its changes were taken back. */
  undone: boolean;
  /** The turn that this one took back; undoing this one does it again. */
  undoOf: string | null;
}

export interface UndoResult {
  /** Undo this to do the turn again; null when nothing was changed. */
  undoId: string | null;
  files: {
    path: string;
    /** `removed`: the turn had created it. `unchanged`: it already is what it was. `conflict`: it was changed since and
     *  is left alone. `not_kept`: it was too large, or its copy was pruned. `failed`: see `detail`. */
    outcome: "restored" | "removed" | "unchanged" | "conflict" | "not_kept" | "failed";
    detail?: string;
  }[];
}

export interface ShadowStore {
  /** Before the file is changed, so that no change is without its way back. */
  record(change: ShadowChange): Promise<void>;
  /** Newest first. Without a conversation: of all. */
  listTurns(conversationId: string | null, limit: number): ShadowTurn[];
  /** Takes back all file changes of a turn, each file atomically. `force` also overwrites files changed since. */
  undoTurn(turnId: string, options?: { force?: boolean }): Promise<UndoResult>;
}

export interface ShadowOptions {
  now?: () => number;
  maxAgeMs?: number;
  /** Of the compressed contents. */
  maxTotalBytes?: number;
}

const DAY_MS = 24 * 60 * 60 * 1000;
/** Pruning looks at all rows; doing it now and then is enough. */
const PRUNE_EVERY = 200;

export function createShadowStore(
  db: Database,
  paths: Pick<Paths, "shadow">,
  options: ShadowOptions = {},
): ShadowStore {
  return new SqliteShadow(db, paths.shadow, options);
}

interface ChangeRow {
  id: number;
  conversation_id: string;
  turn_id: string;
  path: string;
  before_sha: string | null;
  after_sha: string | null;
  kept: number;
  mode: number | null;
  undo_of: string | null;
  undone: number;
  created_at: string;
}

class SqliteShadow implements ShadowStore {
  #records = 0;
  readonly #now: () => number;
  readonly #maxAgeMs: number;
  readonly #maxTotalBytes: number;

  constructor(
    private readonly db: Database,
    private readonly directory: string,
    { now = Date.now, maxAgeMs = 30 * DAY_MS, maxTotalBytes = 1024 ** 3 }: ShadowOptions,
  ) {
    this.#now = now;
    this.#maxAgeMs = maxAgeMs;
    this.#maxTotalBytes = maxTotalBytes;
  }

  record = async (change: ShadowChange): Promise<void> => {
    this.#insert(change, null);
    if (++this.#records % PRUNE_EVERY === 1) this.#prune();
  };

  listTurns = (conversationId: string | null, limit: number): ShadowTurn[] => {
    const turns = this.db
      .query<{ turn_id: string }, [string | null, string | null, number]>(
        `SELECT turn_id FROM shadow_changes WHERE (?1 IS NULL OR conversation_id = ?2)
         GROUP BY turn_id ORDER BY MAX(id) DESC LIMIT ?3`,
      )
      .all(conversationId, conversationId, limit);
    return turns.map(({ turn_id }) => toTurn(this.#rows(turn_id)));
  };

  undoTurn = async (turnId: string, { force = false }: { force?: boolean } = {}): Promise<UndoResult> => {
    const rows = this.#rows(turnId).filter((row) => row.undone === 0);
    const undoId = `undo-${crypto.randomUUID()}`;
    const files: UndoResult["files"] = [];
    for (const changes of groupByPath(rows)) {
      const result = await this.#undoFile(changes, undoId, force);
      files.push(result);
      if (["restored", "removed", "unchanged"].includes(result.outcome)) this.#markUndone(changes);
    }
    const changed = files.some(({ outcome }) => outcome === "restored" || outcome === "removed");
    return { undoId: changed ? undoId : null, files };
  };

  async #undoFile(changes: ChangeRow[], undoId: string, force: boolean): Promise<UndoResult["files"][number]> {
    const first = changes[0]!;
    const last = changes.at(-1)!;
    const { path } = first;
    try {
      const now = await readNow(path);
      const current = now?.bytes ?? null;
      const currentSha = current === null ? null : sha256(current);
      if (first.kept && currentSha === first.before_sha) return { path, outcome: "unchanged" };
      if (currentSha !== last.after_sha && !force) {
        return { path, outcome: "conflict", detail: "it was changed after this turn" };
      }
      const before = first.before_sha === null ? null : this.#load(first.before_sha);
      if (!first.kept || before === undefined) return { path, outcome: "not_kept" };
      const mode = now?.mode ?? first.mode;
      this.#insert(
        {
          conversationId: first.conversation_id,
          turnId: undoId,
          path,
          before: current,
          after: before,
          mode,
        },
        first.turn_id,
      );
      await replaceFile(path, { bytes: before, mode: first.mode ?? undefined });
      return { path, outcome: before === null ? "removed" : "restored" };
    } catch (error) {
      return { path, outcome: "failed", detail: systemReason(error) };
    }
  }

  #markUndone(changes: ChangeRow[]): void {
    const { db } = this;
    durable(db, () => {
      for (const { id } of changes) db.query("UPDATE shadow_changes SET undone = 1 WHERE id = ?").run(id);
      // Taking back an undo brings the original changes into force again.
      const { undo_of: original, path } = changes[0]!;
      if (original === null) return;
      db.query("UPDATE shadow_changes SET undone = 0 WHERE turn_id = ? AND path = ?").run(original, path);
    });
  }

  #insert(change: ShadowChange, undoOf: string | null): void {
    const { before, after } = change;
    const beforeSha = before === null || before === "too large" ? null : this.#keep(before);
    const insert = this.db.query(
      `INSERT INTO shadow_changes
       (conversation_id, turn_id, path, before_sha, after_sha, kept, mode, undo_of, created_at)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    );
    durable(this.db, () =>
      insert.run(
        change.conversationId,
        change.turnId,
        change.path,
        beforeSha,
        after === null ? null : sha256(after),
        before === "too large" ? 0 : 1,
        change.mode,
        undoOf,
        new Date(this.#now()).toISOString(),
      ),
    );
  }

  #rows(turnId: string): ChangeRow[] {
    return this.db.query<ChangeRow, [string]>("SELECT * FROM shadow_changes WHERE turn_id = ? ORDER BY id").all(turnId);
  }

  /** Stores the bytes and returns their hash. */
  #keep(bytes: Uint8Array): string {
    const sha = sha256(bytes);
    const file = this.#fileOf(sha);
    if (statSync(file, { throwIfNoEntry: false })) {
      // Pruning goes by age: what is used again is young again.
      const now = this.#now() / 1000;
      utimesSync(file, now, now);
      return sha;
    }
    writeFileAtomic(file, Bun.zstdCompressSync(bytes));
    return sha;
  }

  /** Undefined when it was pruned or damaged. */
  #load(sha: string): Uint8Array | undefined {
    const packed = readIfThere(this.#fileOf(sha));
    if (packed === null) return undefined;
    const bytes = Bun.zstdDecompressSync(packed);
    return sha256(bytes) === sha ? bytes : undefined;
  }

  #fileOf(sha: string): string {
    return join(this.directory, sha.slice(0, 2), `${sha.slice(2)}.zst`);
  }

  /** Forgets what is too old, then the oldest until the rest fits. A content goes when no row needs it any more. */
  #prune(): void {
    const { db } = this;
    const oldest = new Date(this.#now() - this.#maxAgeMs).toISOString();
    const gone = db
      .query<{ before_sha: string }, [string]>("DELETE FROM shadow_changes WHERE created_at < ? RETURNING before_sha")
      .all(oldest)
      .map((row) => row.before_sha);
    let total = 0;
    const newestFirst = db
      .query<{ before_sha: string }, []>(
        `SELECT before_sha FROM shadow_changes WHERE before_sha IS NOT NULL GROUP BY before_sha ORDER BY MAX(id) DESC`,
      )
      .all();
    const kept = new Set<string>();
    for (const { before_sha } of newestFirst) {
      total += statSync(this.#fileOf(before_sha), { throwIfNoEntry: false })?.size ?? 0;
      if (total <= this.#maxTotalBytes) kept.add(before_sha);
      else gone.push(before_sha);
    }
    for (const sha of gone) if (sha !== null && !kept.has(sha)) rmSync(this.#fileOf(sha), { force: true });
  }
}

function toTurn(rows: ChangeRow[]): ShadowTurn {
  const first = rows[0]!;
  return {
    turnId: first.turn_id,
    conversationId: first.conversation_id,
    at: first.created_at,
    files: groupByPath(rows).map((changes) => ({
      path: changes[0]!.path,
      kind:
        changes.at(-1)!.after_sha === null
          ? "deleted"
          : changes[0]!.before_sha === null && changes[0]!.kept
            ? "created"
            : "changed",
    })),
    undone: rows.every((row) => row.undone === 1),
    undoOf: first.undo_of,
  };
}

function groupByPath(rows: ChangeRow[]): ChangeRow[][] {
  return [...Map.groupBy(rows, (row) => row.path).values()];
}

/** A link where none was leads to a file that was never changed: an error. */
async function readNow(path: string): Promise<{ bytes: Uint8Array; mode: number } | null> {
  try {
    using folder = holdDirectory(dirname(path));
    const { file, info } = await openRegular(folder, basename(path));
    try {
      return { bytes: await file.readFile(), mode: info.mode & 0o7777 };
    } finally {
      await file.close();
    }
  } catch (error) {
    if (systemErrorCode(error) === "ENOENT") return null;
    throw error;
  }
}

function readIfThere(path: string): Uint8Array | null {
  try {
    return readFileSync(path);
  } catch (error) {
    if (systemErrorCode(error) === "ENOENT") return null;
    throw error;
  }
}
