// What the model sees of a conversation. A window is a record "summary, then everything from message N on, these few
// replaced": appending a message costs nothing, compaction adds a record, undoing it removes the record, and the
// messages themselves are never touched. Loading is incremental, because messages never change.

import type { ModelAssistantMessage, ModelMessage, ModelToolResult } from "@/backend/model.ts";
import { reading } from "@/store/db.ts";
import type { LocalContext } from "./context.ts";
import { parseStored } from "./stored-json.ts";
import { estimateMessage } from "./tokens.ts";

export interface WindowRow {
  id: number;
  from_seq: number;
  summary_seq: number | null;
  after_seq: number;
}

export interface WindowEntry {
  seq: number;
  id: string;
  isSummary: boolean;
  interrupted: boolean;
  /** Positions of parts that stay whole as long as anything else can be made shorter. */
  keep: readonly number[];
  /** Already replaced by the window's shorter form. */
  message: ModelMessage;
  /** Estimate, made once. */
  tokens: number;
}

export interface ConversationWindow {
  /** Null: no compaction happened, everything is in. */
  row: WindowRow | null;
  entries: WindowEntry[];
}

export interface CachedWindow {
  rowId: number | null;
  entries: WindowEntry[];
}

/** Conversations whose parsed window is kept in memory. */
const CACHE_SIZE = 4;

export function currentWindow(context: LocalContext, key: string): WindowRow | null {
  return context.db
    .query(
      `SELECT id, from_seq, summary_seq, after_seq FROM windows
       WHERE conversation_key = ? AND undone = 0 ORDER BY id DESC LIMIT 1`,
    )
    .get(key) as WindowRow | null;
}

export function listWindowIds(context: LocalContext, key: string): string[] {
  return reading(context.db, () => {
    const window = currentWindow(context, key);
    const ids = context.db
      .query("SELECT id FROM messages WHERE conversation_key = ? AND kind = 'message' AND seq >= ? ORDER BY seq")
      .values(key, window?.from_seq ?? 0) as [string][];
    const flat = ids.map(([id]) => id);
    if (!window?.summary_seq) return flat;
    const summary = context.db.query("SELECT id FROM messages WHERE seq = ?").get(window.summary_seq);
    return summary ? [(summary as { id: string }).id, ...flat] : flat;
  });
}

export function loadWindow(context: LocalContext, key: string): ConversationWindow {
  return reading(context.db, () => {
    const row = currentWindow(context, key);
    const cached = context.windowCache.get(key);
    const isCurrent = cached !== undefined && cached.rowId === (row?.id ?? null) && stillThere(context, key, cached);
    const entries = isCurrent ? cached.entries : loadSummary(context, row);
    const last = entries.at(-1);
    const fromSeq = last && !last.isSummary ? last.seq + 1 : (row?.from_seq ?? 0);
    for (const entry of loadEntries(context, key, row, fromSeq)) entries.push(entry);
    remember(context, key, { rowId: row?.id ?? null, entries });
    return { row, entries: entries.slice() };
  });
}

/** The request's messages. Only depends on the entries, so a longer conversation only appends to it. */
export function toModelMessages(entries: WindowEntry[]): ModelMessage[] {
  const messages: ModelMessage[] = [];
  for (let index = 0; index < entries.length; index++) {
    const entry = entries[index] as WindowEntry;
    const { message } = entry;
    if (message.role === "user") {
      const cleaned = cleanUser(message);
      if (cleaned) messages.push(cleaned);
    } else if (message.role === "assistant") {
      const next = entries[index + 1]?.message.role;
      const reply = entry.interrupted ? cutReply(message, next) : cleanReply(message);
      if (!reply) continue;
      messages.push(reply);
      index += pushResults(messages, reply, entries, index + 1);
    }
    // A tool result that does not follow its call has no meaning to a provider: left out.
  }
  // Providers want a user message or a tool result at the end.
  while (messages.at(-1)?.role === "assistant") messages.pop();
  return messages;
}

/** False when another process deleted the conversation meanwhile. */
function stillThere(context: LocalContext, key: string, cached: CachedWindow): boolean {
  const last = cached.entries.at(-1);
  if (!last) return true;
  return context.db.query("SELECT 1 FROM messages WHERE seq = ? AND conversation_key = ?").get(last.seq, key) !== null;
}

function loadSummary(context: LocalContext, row: WindowRow | null): WindowEntry[] {
  if (!row?.summary_seq) return [];
  const summary = context.db
    .query("SELECT seq, id, body, json_extract(meta, '$.keep') AS keep FROM messages WHERE seq = ?")
    .get(row.summary_seq) as {
    seq: number;
    id: string;
    body: string;
    keep: string | null;
  } | null;
  if (!summary) return [];
  const message = parseStored<ModelMessage>(summary.body, summary.id);
  return [
    {
      seq: summary.seq,
      id: summary.id,
      isSummary: true,
      interrupted: false,
      keep: parsePositions(summary.keep),
      message,
      tokens: estimateMessage(message),
    },
  ];
}

function loadEntries(context: LocalContext, key: string, row: WindowRow | null, fromSeq: number): WindowEntry[] {
  const rows = context.db
    .query(
      `SELECT m.seq, m.id, m.interrupted, coalesce(o.body, m.body) AS body,
         CASE m.role WHEN 'user' THEN json_extract(m.meta, '$.keep') END AS keep
       FROM messages m
       LEFT JOIN window_overrides o ON o.window_id = ? AND o.seq = m.seq
       WHERE m.conversation_key = ? AND m.kind = 'message' AND m.seq >= ? ORDER BY m.seq`,
    )
    .all(row?.id ?? -1, key, fromSeq) as {
    seq: number;
    id: string;
    interrupted: number;
    body: string;
    keep: string | null;
  }[];
  return rows.map((found) => {
    const message = parseStored<ModelMessage>(found.body, found.id);
    return {
      seq: found.seq,
      id: found.id,
      isSummary: false,
      interrupted: found.interrupted === 1,
      keep: parsePositions(found.keep),
      message,
      tokens: estimateMessage(message),
    };
  });
}

function parsePositions(json: string | null): number[] {
  return json === null ? [] : (JSON.parse(json) as number[]);
}

function remember(context: LocalContext, key: string, cached: CachedWindow): void {
  const { windowCache } = context;
  windowCache.delete(key);
  windowCache.set(key, cached);
  const oldest = windowCache.keys().next().value;
  if (windowCache.size > CACHE_SIZE && oldest !== undefined) windowCache.delete(oldest);
}

function cleanUser(message: ModelMessage & { role: "user" }): ModelMessage | null {
  if (typeof message.content === "string") return message.content.trim() ? message : null;
  const content = message.content.filter((part) => part.type !== "text" || part.text.trim());
  if (content.length === message.content.length) return content.length ? message : null;
  return content.length ? { ...message, content } : null;
}

/** Null for a reply that neither says nor asks anything: some providers refuse thinking that nothing follows. */
function cleanReply(message: ModelAssistantMessage): ModelAssistantMessage | null {
  const content = message.content.filter((part) => part.type !== "text" || part.text.trim());
  if (content.every((part) => part.type === "thinking")) return null;
  return content.length === message.content.length ? message : { ...message, content };
}

/** What was said before the cut, without thinking (it has no signature yet) and calls. When the reply was then given
 *  in full, the model does not need the first try. */
function cutReply(
  message: ModelAssistantMessage,
  next: ModelMessage["role"] | undefined,
): ModelAssistantMessage | null {
  if (next === "assistant") return null;
  const content = message.content.filter((part) => part.type === "text" && part.text.trim());
  return content.length ? { ...message, content, stopReason: "stop" } : null;
}

/** Puts the results of a reply's calls behind it, in call order. Returns how many entries were used. */
function pushResults(
  messages: ModelMessage[],
  reply: ModelAssistantMessage,
  entries: WindowEntry[],
  from: number,
): number {
  const calls = reply.content.filter((part) => part.type === "toolCall");
  if (calls.length === 0) return 0;
  const results = new Map<string, ModelToolResult>();
  let used = 0;
  for (const entry of entries.slice(from, from + calls.length)) {
    if (entry.message.role !== "toolResult") break;
    results.set(entry.message.toolCallId, entry.message);
    used++;
  }
  for (const call of calls) {
    const result = results.get(call.id) ?? {
      role: "toolResult",
      toolCallId: call.id,
      toolName: call.name,
      content: [{ type: "text", text: "No result was recorded." }],
      isError: true,
      timestamp: reply.timestamp,
    };
    messages.push(cleanResult(result));
  }
  return used;
}

function cleanResult(result: ModelToolResult): ModelToolResult {
  const content = result.content.filter((part) => part.type !== "text" || part.text.trim());
  if (content.length === 0) return { ...result, content: [{ type: "text", text: "(no output)" }] };
  return content.length === result.content.length ? result : { ...result, content };
}
