// A run while it streams in this process: its abort signal, its log, its heartbeat, and the guard of its writes. A timer
// flushes the log, keeps the heartbeat and looks whether another process cancelled the run or took the conversation.

import type { SendOptions } from "@/backend/backend.ts";
import type { StreamChunk } from "@/backend/wire.ts";
import { LettaError } from "@/lib/errors.ts";
import { durable, relaxed } from "@/store/db.ts";
import { assertFence } from "@/store/leases.ts";
import type { LocalContext } from "./context.ts";
import { type NewChunk, RunLog } from "./run-log.ts";
import { closeRun, endRun, findRow, pruneChunks, type RunEnd, type RunRow } from "./runs.ts";
import { toRunFailure } from "./wire-error.ts";

/** Upper bound for noticing a cancel of another process, and for streamed text that is not on disk. */
const TICK_MS = 50;
const HEARTBEAT_MS = 5_000;
/** How often a process that stays drops old streams. */
const PRUNE_MS = 3_600_000;

export class LiveRun {
  readonly #controller = new AbortController();
  readonly #log: RunLog;
  readonly #timer: Timer;
  #failure: unknown = null;
  #ended = false;
  #beatAt: number;

  constructor(
    private readonly context: LocalContext,
    readonly row: RunRow,
    private readonly options: SendOptions,
  ) {
    this.#log = new RunLog(context, row.id);
    this.#beatAt = context.now();
    context.activeRuns.set(row.id, this.#controller);
    this.#timer = setInterval(() => this.#tick(), TICK_MS);
    this.#timer.unref();
    options.signal?.addEventListener("abort", this.#onAbort, { once: true });
    if (options.signal?.aborted) this.#onAbort();
  }

  /** Aborts when the run is cancelled, by whomever, and when it may no longer write. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }
  get isCancelled(): boolean {
    return this.#controller.signal.aborted && this.#failure === null;
  }
  get ended(): boolean {
    return this.#ended;
  }

  /** Throws what went wrong beside the stream (disk full, conversation taken over). */
  throwIfFailed(): void {
    if (this.#failure !== null) throw this.#failure;
  }

  append(chunk: NewChunk): StreamChunk {
    return this.#log.append(chunk);
  }

  flush(): void {
    this.#log.flush();
  }

  /** One durable transaction of this run. Refused when the lease is lost or somebody else ended the run. */
  write<T>(work: () => T): T {
    return durable(this.context.db, () => {
      if (this.options.fence) assertFence(this.context.db, this.options.fence);
      if (findRow(this.context, this.row.id)?.status !== "running") throw takenOver();
      return work();
    });
  }

  /** Inside `write`: the last chunks and the record. */
  end(end: RunEnd, chunks: NewChunk[]): StreamChunk[] {
    const placed = chunks.map((chunk) => this.append(chunk));
    this.flush();
    endRun(this.context, this.row, end);
    return placed;
  }

  /** After the transaction with `end` was committed. */
  markEnded(): void {
    this.#ended = true;
  }

  /** Releases everything. A run that did not end (reader left, error thrown) is closed with what it had. */
  dispose(error: unknown): void {
    clearInterval(this.#timer);
    this.options.signal?.removeEventListener("abort", this.#onAbort);
    if (!this.#ended) {
      this.#controller.abort(new LettaError("cancelled", "The run was left"));
      this.#closeUnended(error);
    }
    this.context.activeRuns.delete(this.row.id);
    this.context.prunedAt ??= this.context.now();
    if (this.context.now() - this.context.prunedAt > PRUNE_MS) pruneChunks(this.context);
  }

  readonly #onAbort = (): void => {
    this.#controller.abort(this.options.signal?.reason ?? new LettaError("cancelled", "The run was cancelled"));
  };

  #closeUnended(error: unknown): void {
    try {
      durable(this.context.db, () => {
        if (this.options.fence) assertFence(this.context.db, this.options.fence);
        this.#log.flush();
        closeRun(this.context, this.row, this.#endOf(error));
      });
    } catch {
      // The disk is full or the store is gone. The error that led here is the one to show; the next operation of this
      // backend, or the next process, closes the run.
      this.context.unfinishedRuns.add(this.row.id);
    }
  }

  #endOf(error: unknown): RunEnd {
    if (error === null) return { status: "cancelled", stopReason: "cancelled" };
    const { error: wireError } = toRunFailure(error, this.row.id);
    return { status: "failed", stopReason: "error", error: wireError };
  }

  #tick(): void {
    if (this.#failure !== null) return;
    try {
      this.#log.flush();
      const row = findRow(this.context, this.row.id);
      if (row?.status !== "running") throw takenOver();
      if (row.cancel_requested) this.#controller.abort(new LettaError("cancelled", "The run was cancelled"));
      this.#beat();
    } catch (error) {
      if (this.#ended) return;
      this.#failure = error;
      this.#controller.abort(error);
    }
  }

  #beat(): void {
    if (this.context.now() - this.#beatAt < HEARTBEAT_MS) return;
    this.#beatAt = this.context.now();
    relaxed(this.context.db, () =>
      this.context.db.query("UPDATE runs SET heartbeat_at = ? WHERE id = ?").run(this.context.isoNow(), this.row.id),
    );
  }
}

function takenOver(): LettaError {
  return new LettaError("lease_lost", "Another process ended this run", {
    hint: "Open the conversation again to go on.",
  });
}
