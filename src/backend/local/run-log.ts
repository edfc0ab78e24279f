// The stream of one run on disk. Chunks get their run id and seq_id here. Deltas of one message that arrive together
// share a row, with the lengths of the pieces, so that a replay gives exactly the chunks that were streamed.

import type { StreamChunk } from "@/backend/wire.ts";
import { relaxed } from "@/store/db.ts";
import type { LocalContext } from "./context.ts";

/** What a kill may cost: deltas that came within this time, or this many characters, of the last write. The first delta
 *  and those of a slow model are on disk before they are shown. */
const FLUSH_MS = 25;
const FLUSH_CHARS = 4 * 1024;
const ROWS_PER_READ = 200;

type Body = Exclude<StreamChunk, { message_type: "ping" }>;
/** A chunk before it has its place in the run. */
export type NewChunk = Body extends infer Chunk
  ? Chunk extends Body
    ? Omit<Chunk, "run_id" | "seq_id">
    : never
  : never;

interface PendingRow {
  firstSeq: number;
  lastSeq: number;
  body: StreamChunk;
  /** Texts of the deltas; null for a chunk that stands alone. */
  pieces: string[] | null;
}

export class RunLog {
  #seq = 0;
  #pending: PendingRow[] = [];
  #pendingChars = 0;
  #flushedAt = Number.NEGATIVE_INFINITY;

  constructor(
    private readonly context: LocalContext,
    private readonly runId: string,
  ) {}

  /** `message_id`, `date` and texts are the caller's; what is returned goes to the client. */
  append(chunk: NewChunk): StreamChunk {
    this.#seq++;
    const body = { ...chunk, run_id: this.runId } as Body;
    const text = deltaText(body);
    const last = this.#pending.at(-1);
    if (text !== null && last?.pieces && last.body.message_type === body.message_type && idOf(last.body) === body.id) {
      last.pieces.push(text);
      last.lastSeq = this.#seq;
    } else {
      this.#pending.push({
        firstSeq: this.#seq,
        lastSeq: this.#seq,
        body,
        pieces: text === null ? null : [text],
      });
    }
    this.#pendingChars += text?.length ?? 0;
    const isDue = performance.now() - this.#flushedAt >= FLUSH_MS || this.#pendingChars >= FLUSH_CHARS;
    if (isDue && !this.context.db.inTransaction) this.flush();
    return { ...body, seq_id: this.#seq } as StreamChunk;
  }

  /** Joins the caller's transaction when there is one. */
  flush(): void {
    if (this.#pending.length === 0) return;
    relaxed(this.context.db, () => {
      const insert = this.context.db.query("INSERT INTO run_chunks VALUES (?, ?, ?, ?, ?)");
      for (const row of this.#pending) {
        const cuts = row.pieces && row.pieces.length > 1 ? row.pieces.map((piece) => piece.length) : null;
        const body = row.pieces ? withDelta(row.body, row.pieces.join("")) : row.body;
        insert.run(this.runId, row.lastSeq, row.firstSeq, JSON.stringify(body), cuts ? JSON.stringify(cuts) : null);
      }
    });
    this.#pending = [];
    this.#pendingChars = 0;
    this.#flushedAt = performance.now();
  }
}

/** The next chunks after a seq_id as they were streamed; empty when there are none (yet). */
export function readChunks(context: LocalContext, runId: string, after: number): StreamChunk[] {
  const rows = context.db
    .query("SELECT first_seq, body, cuts FROM run_chunks WHERE run_id = ? AND last_seq > ? ORDER BY last_seq LIMIT ?")
    .all(runId, after, ROWS_PER_READ) as { first_seq: number; body: string; cuts: string | null }[];
  return rows.flatMap((row) => split(JSON.parse(row.body) as StreamChunk, row.first_seq, row.cuts, after));
}

/** Text of a chunk that is a delta, null for any other. */
export function deltaText(chunk: StreamChunk): string | null {
  if (chunk.message_type === "reasoning_message") return chunk.reasoning;
  return chunk.message_type === "assistant_message" && typeof chunk.content === "string" ? chunk.content : null;
}

function withDelta(chunk: StreamChunk, text: string): StreamChunk {
  return chunk.message_type === "reasoning_message"
    ? { ...chunk, reasoning: text }
    : ({ ...chunk, content: text } as StreamChunk);
}

function idOf(chunk: StreamChunk): string | undefined {
  return "id" in chunk ? chunk.id : undefined;
}

function split(body: StreamChunk, firstSeq: number, cuts: string | null, after: number): StreamChunk[] {
  if (!cuts) return [{ ...body, seq_id: firstSeq } as StreamChunk];
  const text = deltaText(body) ?? "";
  const chunks: StreamChunk[] = [];
  let start = 0;
  (JSON.parse(cuts) as number[]).forEach((length, index) => {
    const seq = firstSeq + index;
    if (seq > after) {
      chunks.push({ ...withDelta(body, text.slice(start, start + length)), seq_id: seq } as StreamChunk);
    }
    start += length;
  });
  return chunks;
}
