// Run records: what is running, who runs it, how it ended. A run whose process died is closed by whoever looks next:
// its streamed text becomes an interrupted message and its stream gets an end.

import type { ConversationRef, StreamQuery } from "@/backend/backend.ts";
import { conversationKey } from "@/backend/backend.ts";
import type { ModelAssistantMessage, ModelUsage } from "@/backend/model.ts";
import type { Run, StopReason, StreamChunk, UsageStatistics } from "@/backend/wire.ts";
import { wait } from "@/lib/abort.ts";
import { LettaError } from "@/lib/errors.ts";
import { durable, relaxed } from "@/store/db.ts";
import { isOwnerAlive } from "@/store/owner.ts";
import type { LocalContext } from "./context.ts";
import { newMessageId, newRunId } from "./ids.ts";
import { insertMessage } from "./messages.ts";
import { baseMessageId } from "./projection.ts";
import { deltaText, type NewChunk, readChunks } from "./run-log.ts";
import type { RunFailure } from "./wire-error.ts";

/** How often a follower of a run of another process looks for more. */
const FOLLOW_MS = 25;
/** How often a silent run's process is looked for. */
const RECHECK_MS = 250;
/** Streams of ended runs are kept this long for a client that comes back. */
const KEEP_CHUNKS_MS = 3 * 24 * 3_600_000;

export interface RunRow {
  id: string;
  conversation_key: string;
  agent_id: string | null;
  conversation_id: string;
  status: Run["status"];
  stop_reason: StopReason | null;
  error: string | null;
  message_id: string;
  cancel_requested: number;
  fence: number | null;
  owner_pid: number;
  owner_host: string;
  owner_start: string;
  heartbeat_at: string;
  created_at: string;
  completed_at: string | null;
}

export interface RunEnd {
  status: "completed" | "failed" | "cancelled";
  stopReason: StopReason;
  error?: RunFailure["error"];
}

/** Inside the caller's transaction. */
export function insertRun(context: LocalContext, ref: ConversationRef, fence: number | null): RunRow {
  const at = context.isoNow();
  const { owner } = context;
  const row: RunRow = {
    id: newRunId(),
    conversation_key: conversationKey(ref),
    agent_id: ref.agentId,
    conversation_id: ref.conversationId,
    status: "running",
    stop_reason: null,
    error: null,
    message_id: newMessageId(),
    cancel_requested: 0,
    fence,
    owner_pid: owner.pid,
    owner_host: owner.host,
    owner_start: owner.startTicks,
    heartbeat_at: at,
    created_at: at,
    completed_at: null,
  };
  context.db
    .query("INSERT INTO runs VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 1)")
    .run(
      row.id,
      row.conversation_key,
      row.agent_id,
      row.conversation_id,
      row.status,
      row.stop_reason,
      row.error,
      row.message_id,
      row.cancel_requested,
      row.fence,
      row.owner_pid,
      row.owner_host,
      row.owner_start,
      row.heartbeat_at,
      row.created_at,
      row.completed_at,
    );
  return row;
}

/** Inside the caller's transaction. */
export function endRun(context: LocalContext, run: Pick<RunRow, "id" | "agent_id">, end: RunEnd): void {
  const at = context.isoNow();
  context.db
    .query("UPDATE runs SET status = ?, stop_reason = ?, error = ?, completed_at = ? WHERE id = ?")
    .run(end.status, end.stopReason, end.error ? JSON.stringify(end.error) : null, at, run.id);
  if (run.agent_id) context.db.query("UPDATE agents SET last_run_completion = ? WHERE id = ?").run(at, run.agent_id);
}

/** What the client is told at the very end of a run. */
export function endChunks(context: LocalContext, end: RunEnd, usage: UsageStatistics): NewChunk[] {
  const common = (): { id: string; date: string } => ({ id: newMessageId(), date: context.isoNow() });
  return [
    ...(end.error ? [{ ...common(), message_type: "error_message" as const, ...end.error }] : []),
    { ...common(), message_type: "stop_reason", stop_reason: end.stopReason },
    { ...common(), message_type: "usage_statistics", ...usage },
  ];
}

const NO_USAGE: UsageStatistics = { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0, step_count: 0 };

/** Stores what a cut run had streamed, marked interrupted. Inside the caller's transaction, after the log's flush. */
export function storePartial(context: LocalContext, run: RunRow, usage?: ModelUsage): void {
  if (context.db.query("SELECT 1 FROM messages WHERE id = ?").get(run.message_id)) return;
  const content = readPartial(context, run);
  if (content.length === 0) return;
  insertMessage(context, run.conversation_key, {
    id: run.message_id,
    runId: run.id,
    interrupted: true,
    body: {
      role: "assistant",
      content,
      api: "",
      provider: "",
      model: "",
      usage: usage ?? { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, totalTokens: 0 },
      stopReason: "aborted",
      timestamp: context.now(),
    },
  });
}

/** Ends runs of dead processes. Cheap when there are none, so every operation that looks at runs begins with it. */
export function recoverDeadRuns(context: LocalContext): void {
  const running = context.db.query("SELECT * FROM runs WHERE status = 'running'").all() as RunRow[];
  for (const run of running) {
    if (isRunAlive(context, run)) continue;
    closeRun(context, run, {
      status: "failed",
      stopReason: "error",
      error: {
        run_id: run.id,
        error_type: "local_backend_error",
        message: "The process that ran this was ended before the reply was complete",
        retryable: true,
      },
    });
  }
}

export function isRunAlive(context: LocalContext, run: RunRow): boolean {
  if (context.unfinishedRuns.has(run.id)) return false;
  if (context.activeRuns.has(run.id)) return true;
  const owner = { pid: run.owner_pid, host: run.owner_host, startTicks: run.owner_start };
  return isOwnerAlive(owner, run.heartbeat_at, context.owner, context.now());
}

/** Ends a run from outside of its stream: partial text, end of stream, record. */
export function closeRun(context: LocalContext, run: RunRow, end: RunEnd): void {
  durable(context.db, () => {
    const current = findRow(context, run.id);
    if (current?.status !== "running") return;
    storePartial(context, current);
    const last = context.db.query("SELECT max(last_seq) AS seq FROM run_chunks WHERE run_id = ?").get(run.id) as {
      seq: number | null;
    };
    let seq = last.seq ?? 0;
    for (const chunk of endChunks(context, end, NO_USAGE)) {
      seq++;
      context.db
        .query("INSERT INTO run_chunks VALUES (?, ?, ?, ?, NULL)")
        .run(run.id, seq, seq, JSON.stringify({ ...chunk, run_id: run.id }));
    }
    endRun(context, current, end);
  });
  context.unfinishedRuns.delete(run.id);
}

export function listActiveRuns(context: LocalContext, key: string): RunRow[] {
  return context.db.query("SELECT * FROM runs WHERE conversation_key = ? AND status = 'running'").all(key) as RunRow[];
}

export function retrieveRun(context: LocalContext, id: string): Run {
  recoverDeadRuns(context);
  return toRun(getRow(context, id));
}

export function listRuns(
  context: LocalContext,
  ref: ConversationRef,
  query: { limit?: number; activeOnly?: boolean } = {},
): Run[] {
  recoverDeadRuns(context);
  const rows = context.db
    .query(
      `SELECT * FROM runs WHERE conversation_key = ? ${query.activeOnly ? "AND status = 'running'" : ""}
       ORDER BY created_at DESC, id DESC LIMIT ?`,
    )
    .all(conversationKey(ref), query.limit ?? 20) as RunRow[];
  return rows.map(toRun);
}

/** Replays, then follows until the run ended. Works for runs of any process, alive or dead. */
export async function* streamRun(
  context: LocalContext,
  runId: string,
  query: StreamQuery = {},
): AsyncGenerator<StreamChunk> {
  recoverDeadRuns(context);
  getRow(context, runId);
  let after = query.startingAfter ?? 0;
  let idleSince = performance.now();
  while (!query.signal?.aborted) {
    // Status first: what was written before the run ended is then certainly among the chunks read after it.
    const ended = findRow(context, runId)?.status !== "running";
    const chunks = readChunks(context, runId, after);
    for (const chunk of chunks) {
      yield chunk;
      after = "seq_id" in chunk ? (chunk.seq_id ?? after) : after;
    }
    if (chunks.length > 0) {
      idleSince = performance.now();
      continue;
    }
    if (ended) return;
    if (performance.now() - idleSince > RECHECK_MS) {
      idleSince = performance.now();
      recoverDeadRuns(context);
    }
    await wait(FOLLOW_MS, query.signal);
  }
}

/** Drops streams nobody will ask for again. The messages stay. Never throws: what is left goes the next time. */
export function pruneChunks(context: LocalContext): void {
  context.prunedAt = context.now();
  const before = new Date(context.now() - KEEP_CHUNKS_MS).toISOString();
  try {
    relaxed(context.db, () => {
      const old = context.db
        .query("SELECT id FROM runs WHERE has_chunks = 1 AND completed_at < ? LIMIT 50")
        .all(before) as { id: string }[];
      for (const { id } of old) {
        context.db.query("DELETE FROM run_chunks WHERE run_id = ?").run(id);
        context.db.query("UPDATE runs SET has_chunks = 0 WHERE id = ?").run(id);
      }
    });
  } catch {
    // The disk is full or the store is gone: nothing here is worth an error.
  }
}

export function findRow(context: LocalContext, id: string): RunRow | null {
  return context.db.query("SELECT * FROM runs WHERE id = ?").get(id) as RunRow | null;
}

function getRow(context: LocalContext, id: string): RunRow {
  const row = findRow(context, id);
  if (!row) throw new LettaError("not_found", `Run ${id} not found`);
  return row;
}

function toRun(row: RunRow): Run {
  return {
    id: row.id,
    agent_id: row.agent_id,
    conversation_id: row.conversation_id,
    status: row.status,
    stop_reason: row.stop_reason,
    background: false,
    created_at: row.created_at,
    completed_at: row.completed_at,
    metadata: row.error ? { error: JSON.parse(row.error) as RunFailure["error"] } : {},
  };
}

/** The parts of the reply as streamed, each at its own index, so that they keep the ids they were streamed with. */
function readPartial(context: LocalContext, run: RunRow): ModelAssistantMessage["content"] {
  const texts = new Map<number, { type: "text" | "thinking"; pieces: string[] }>();
  let after = 0;
  for (;;) {
    const chunks = readChunks(context, run.id, after);
    if (chunks.length === 0) break;
    for (const chunk of chunks) {
      if (!("seq_id" in chunk) || !("id" in chunk)) continue;
      after = chunk.seq_id ?? after;
      const text = deltaText(chunk);
      if (text === null || baseMessageId(chunk.id) !== run.message_id) continue;
      const index = Number(/^provider-\w+-(\d+)-/.exec(("otid" in chunk && chunk.otid) || "")?.[1] ?? 0);
      const type = chunk.message_type === "reasoning_message" ? "thinking" : "text";
      const part = texts.get(index) ?? { type, pieces: [] };
      part.pieces.push(text);
      texts.set(index, part);
    }
  }
  const content: ModelAssistantMessage["content"] = [];
  for (const [index, { type, pieces }] of texts) {
    while (content.length < index) content.push({ type: "text", text: "" });
    const text = pieces.join("");
    content[index] = type === "text" ? { type, text } : { type, thinking: text };
  }
  return content;
}
