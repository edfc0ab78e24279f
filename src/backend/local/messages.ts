// Message rows: append, page through, look up. Rows are never changed once written; order is `seq`.

import type { ConversationRef, ListMessagesQuery, Page, ResumeTail } from "@/backend/backend.ts";
import type { ModelMessage } from "@/backend/model.ts";
import type { CompactionStats, Message } from "@/backend/wire.ts";
import { LettaError } from "@/lib/errors.ts";
import { reading } from "@/store/db.ts";
import type { LocalContext } from "./context.ts";
import { getConversationRow, toConversation } from "./conversations.ts";
import { baseMessageId, projectMessage } from "./projection.ts";
import { searchableText } from "./search-text.ts";
import { parseStored } from "./stored-json.ts";
import { currentWindow } from "./window.ts";

/** What a model never sees but the API shows. */
export interface MessageMeta {
  /** Input of role `system`: stored as a user message wrapped in a reminder. */
  system?: true;
  stdout?: string[];
  stderr?: string[];
  compaction?: { summary: string; stats: CompactionStats };
  /** Positions of parts that nobody typed: instructions a compaction keeps. */
  keep?: number[];
  /** Call ids we replaced: ours → the model's. */
  repairedCallIds?: Record<string, string>;
}

export interface NewMessage {
  id: string;
  body: ModelMessage;
  /** `summary` rows are in a window only when its record names them. */
  kind?: "message" | "summary";
  interrupted?: boolean;
  runId?: string;
  otid?: string;
  meta?: MessageMeta;
}

export interface StoredMessage {
  seq: number;
  id: string;
  kind: "message" | "summary";
  interrupted: boolean;
  runId: string | null;
  otid: string | null;
  body: ModelMessage;
  meta: MessageMeta;
  createdAt: string;
}

export interface MessageRow {
  seq: number;
  id: string;
  kind: "message" | "summary";
  interrupted: number;
  run_id: string | null;
  otid: string | null;
  body: string;
  meta: string;
  created_at: string;
}

/** Columns of MessageRow. */
export const MESSAGE_COLUMNS = "seq, id, kind, interrupted, run_id, otid, body, meta, created_at";

export interface PendingCall {
  callId: string;
  name: string;
  messageId: string;
}

/** Inside the caller's transaction. Returns the row's seq. */
export function insertMessage(context: LocalContext, key: string, message: NewMessage): number {
  const { db } = context;
  const at = context.isoNow();
  const { body } = message;
  const { lastInsertRowid } = db
    .query(
      `INSERT INTO messages (id, conversation_key, kind, role, interrupted, run_id, otid, body, meta, created_at)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    )
    .run(
      message.id,
      key,
      message.kind ?? "message",
      body.role,
      message.interrupted ? 1 : 0,
      message.runId ?? null,
      message.otid ?? null,
      JSON.stringify(body),
      JSON.stringify(message.meta ?? {}),
      at,
    );
  const seq = Number(lastInsertRowid);
  if (body.role === "assistant") {
    const insertCall = db.query(
      "INSERT INTO tool_calls (conversation_key, call_id, name, message_id, answered) VALUES (?, ?, ?, ?, 0)",
    );
    for (const part of body.content) {
      if (part.type === "toolCall") insertCall.run(key, part.id, part.name, message.id);
    }
  } else if (body.role === "toolResult") {
    db.query("UPDATE tool_calls SET answered = 1 WHERE conversation_key = ? AND call_id = ?").run(key, body.toolCallId);
  }
  const found = searchableText(body, message.meta ?? {});
  if (found) {
    db.query("INSERT INTO message_texts VALUES (?, ?, ?, ?, 0)").run(seq, key, found.role, found.text);
  }
  db.query("UPDATE conversations SET last_message_at = ?1, updated_at = ?1 WHERE key = ?2").run(at, key);
  return seq;
}

/** Calls nobody answered, in call order. */
export function listPendingCalls(context: LocalContext, key: string): PendingCall[] {
  return context.db
    .query(
      `SELECT call_id AS callId, name, message_id AS messageId FROM tool_calls
       WHERE conversation_key = ? AND answered = 0 ORDER BY seq`,
    )
    .all(key) as PendingCall[];
}

export function toStored(row: MessageRow): StoredMessage {
  return {
    seq: row.seq,
    id: row.id,
    kind: row.kind,
    interrupted: row.interrupted === 1,
    runId: row.run_id,
    otid: row.otid,
    body: parseStored<ModelMessage>(row.body, row.id),
    meta: parseStored<MessageMeta>(row.meta, row.id),
    createdAt: row.created_at,
  };
}

export function retrieveMessage(context: LocalContext, id: string): Message[] {
  const row = context.db
    .query(`SELECT ${MESSAGE_COLUMNS} FROM messages WHERE id = ?`)
    .get(baseMessageId(id)) as MessageRow | null;
  if (!row) throw new LettaError("not_found", `Message ${id} not found`);
  return projectMessage(toStored(row));
}

/** A cursor takes the items nearest to it; `order` only says how they are arranged. */
export function listMessages(
  context: LocalContext,
  ref: ConversationRef,
  query: ListMessagesQuery = {},
): Page<Message> {
  const order = query.order ?? "desc";
  const limit = Math.max(1, query.limit ?? 50);
  const backwards = query.before ? true : query.after ? false : order === "desc";
  const { key } = getConversationRow(context, ref);
  return reading(context.db, () => {
    const found: Message[] = [];
    for (const message of walk(context, key, query, backwards)) {
      if (query.types && !query.types.includes(message.message_type)) continue;
      found.push(message);
      if (found.length > limit) break;
    }
    const items = found.slice(0, limit);
    const nextCursor = found.length > limit ? (items.at(-1)?.id ?? null) : null;
    return { items: backwards === (order === "desc") ? items : items.reverse(), nextCursor };
  });
}

export function resumeTail(context: LocalContext, ref: ConversationRef, limit: number): ResumeTail {
  const row = getConversationRow(context, ref);
  return reading(context.db, () => ({
    conversation: toConversation(context, row),
    messages: limit > 0 ? listMessages(context, ref, { limit, order: "desc" }).items.reverse() : [],
    pendingToolCallIds: listPendingCalls(context, row.key).map((call) => call.callId),
  }));
}

const ROWS_PER_READ = 64;

/** API messages from the cursor on, in reading direction. */
function* walk(context: LocalContext, key: string, query: ListMessagesQuery, backwards: boolean): Generator<Message> {
  const start = backwards ? query.before : query.after;
  const stop = backwards ? query.after : query.before;
  const startSeq = start ? seqOf(context, key, start) : null;
  const stopSeq = stop ? seqOf(context, key, stop) : null;
  let skipping = start !== undefined;
  for (const row of rows(context, key, { startSeq, backwards, inContextOnly: query.inContextOnly ?? false })) {
    const variants = projectMessage(toStored(row));
    if (backwards) variants.reverse();
    for (const variant of variants) {
      if (stop !== undefined && variant.id === stop) return;
      if (!skipping) yield variant;
      else if (variant.id === start) skipping = false;
    }
    // A cursor may name a message by its base id although no variant carries exactly that id.
    if (skipping && row.seq === startSeq) skipping = false;
    if (row.seq === stopSeq) return;
  }
}

function seqOf(context: LocalContext, key: string, cursor: string): number {
  const row = context.db
    .query("SELECT seq FROM messages WHERE id = ? AND conversation_key = ?")
    .get(baseMessageId(cursor), key) as { seq: number } | null;
  if (!row) throw new LettaError("not_found", `Message ${cursor} is not in this conversation`);
  return row.seq;
}

/** Rows in reading direction, from the cursor's own row on. In the window, the summary comes first. */
function* rows(
  context: LocalContext,
  key: string,
  { startSeq, backwards, inContextOnly }: { startSeq: number | null; backwards: boolean; inContextOnly: boolean },
): Generator<MessageRow> {
  const { db } = context;
  const window = inContextOnly ? currentWindow(context, key) : null;
  const summary = window?.summary_seq
    ? (db.query(`SELECT ${MESSAGE_COLUMNS} FROM messages WHERE seq = ?`).get(window.summary_seq) as MessageRow | null)
    : null;
  const atSummary = summary !== null && startSeq === summary.seq;
  if (summary && !backwards && (startSeq === null || atSummary)) yield summary;
  if (!(atSummary && backwards)) {
    const lowest = window?.from_seq ?? 0;
    let [from, to] = [lowest, Number.MAX_SAFE_INTEGER];
    if (startSeq !== null && !atSummary) [from, to] = backwards ? [lowest, startSeq] : [startSeq, to];
    const page = db.query(
      `SELECT ${MESSAGE_COLUMNS} FROM messages
       WHERE conversation_key = ? ${inContextOnly ? "AND kind = 'message'" : ""} AND seq BETWEEN ? AND ?
       ORDER BY seq ${backwards ? "DESC" : "ASC"} LIMIT ${ROWS_PER_READ}`,
    );
    for (;;) {
      const batch = page.all(key, from, to) as MessageRow[];
      yield* batch;
      const last = batch.at(-1);
      if (!last || batch.length < ROWS_PER_READ) break;
      if (backwards) to = last.seq - 1;
      else from = last.seq + 1;
    }
  }
  if (summary && backwards) yield summary;
}
