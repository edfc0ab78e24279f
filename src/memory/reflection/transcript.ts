// What was said and done in a conversation, as rows a dream reads, and which of them it has not seen. Derived from the
// messages every time: also what was interrupted or failed is there, because messages are stored before anything happens.

import * as v from "valibot";
import type { Backend, ConversationRef } from "@/backend/backend.ts";
import { contentText, stripReminders } from "@/backend/content.ts";
import type { ContentPart, Message } from "@/backend/wire.ts";
import { codeOf } from "@/lib/errors.ts";
import { parseJson } from "@/lib/json.ts";

interface RowCommon {
  at: string;
  /** Of the message it comes from, as the backend names it; absent in some transcripts of other programs. */
  messageId?: string;
}

export type TranscriptRow =
  | (RowCommon & { kind: "user" | "reasoning" | "error"; text: string })
  | (RowCommon & {
      kind: "assistant";
      text: string;
      /** Cut by a person, a crash or a broken stream. */
      interrupted?: boolean;
    })
  | (RowCommon & {
      kind: "tool_call";
      id: string;
      name: string;
      argsText: string;
      /** Null while there is no result. */
      resultText: string | null;
      resultOk: boolean;
    });

/** A contiguous part of a conversation. */
export interface Slice extends ConversationRef {
  mode: "unreflected" | "replay";
  rows: TranscriptRow[];
  startMessageId: string;
  endMessageId: string;
  /** Of the whole conversation, as far as it was read. */
  newestMessageId: string;
  /** What a dream of this slice moves the cursor from. */
  from: string | null;
  /** User messages. */
  turns: number;
  lastAt: string;
  /** There is more behind it. */
  more: boolean;
}

/** Messages of one conversation, oldest first → rows. A result joins its call. */
export function toRows(messages: readonly Message[]): TranscriptRow[] {
  const rows: TranscriptRow[] = [];
  const calls = new Map<string, Extract<TranscriptRow, { kind: "tool_call" }>>();
  const settle = (id: string, content: string | ContentPart[], ok: boolean) => {
    const call = calls.get(id);
    if (!call) return;
    call.resultText = contentText(content);
    call.resultOk = ok;
  };
  for (const message of messages) {
    const common = { at: message.date, messageId: message.id };
    switch (message.message_type) {
      case "user_message": {
        const text = stripReminders(contentText(message.content)).trim();
        // Nobody said it: news of a background task.
        if (text !== "" && !text.startsWith("<task-notification>")) rows.push({ ...common, kind: "user", text });
        break;
      }
      case "assistant_message": {
        const text = contentText(message.content);
        rows.push({ ...common, kind: "assistant", text, ...(message.interrupted && { interrupted: true }) });
        break;
      }
      case "reasoning_message":
        rows.push({ ...common, kind: "reasoning", text: message.reasoning });
        break;
      case "approval_request_message":
      case "tool_call_message": {
        const { tool_call_id: id, name, arguments: argsText } = message.tool_call;
        const row = { ...common, kind: "tool_call" as const, id, name, argsText, resultText: null, resultOk: false };
        calls.set(id, row);
        rows.push(row);
        break;
      }
      case "tool_return_message":
        settle(message.tool_call_id, message.tool_return, message.status === "success");
        break;
      case "approval_response_message":
        for (const item of message.approvals) {
          if (item.type === "tool") settle(item.tool_call_id, item.tool_return, item.status === "success");
          else settle(item.tool_call_id, item.reason, false);
        }
        break;
      default:
      // Prompts, summaries and events of the harness: nothing a person or the agent said.
    }
  }
  return rows;
}

export type RowRange = { start: number; end: number };

/** From right after the row of that message (an unknown one: from the top) to the last thing a person or the agent said;
 *  `end` is behind it. Null when there is no such thing. */
export function selectRange(rows: readonly TranscriptRow[], through: string | null): RowRange | null {
  // The last row of that message: one message may have given several.
  const anchor = through === null ? -1 : rows.findLastIndex((row) => row.messageId === through);
  const end = rows.findLastIndex((row) => isSaid(row) && row.messageId !== undefined);
  return end > anchor ? { start: anchor + 1, end: end + 1 } : null;
}

function isSaid(row: TranscriptRow): boolean {
  return row.kind === "user" || row.kind === "assistant";
}

const PAGE = 200;

export interface ReadOptions {
  /** What a row costs of `budget`. */
  cost(row: TranscriptRow): number;
  budget: number;
}

/** What no dream has seen, from the oldest on, as much as the budget takes but always something; null when there is
 *  nothing. */
export async function readUnreflected(
  backend: Pick<Backend, "listMessages">,
  ref: ConversationRef,
  through: string | null,
  options: ReadOptions,
): Promise<Slice | null> {
  const { messages, complete } = await readMessages(backend, ref, through, options);
  return cutSlice(ref, toRows(messages), { from: through, more: !complete, ...options });
}

/** The newest turns of a conversation that was read already. */
export async function readReplay(
  backend: Pick<Backend, "listMessages">,
  ref: ConversationRef,
  { turns, cost, budget }: ReadOptions & { turns: number },
): Promise<Slice | null> {
  const found: Message[] = [];
  let before: string | undefined;
  let users = 0;
  do {
    const page = await backend.listMessages(ref, { order: "desc", limit: PAGE, ...(before && { before }) });
    for (const message of page.items) {
      found.push(message);
      if (message.message_type === "user_message") users += 1;
      if (users >= turns) break;
    }
    before = users >= turns ? undefined : (page.nextCursor ?? undefined);
  } while (before !== undefined);
  let rows = toRows(found.reverse());
  // The newest are what it is about.
  for (let total = sum(rows, cost); total > budget && rows.length > 1; rows = rows.slice(1)) total -= cost(rows[0]!);
  const slice = cutSlice(ref, rows, { from: null, more: false, cost, budget: Number.POSITIVE_INFINITY });
  return slice && { ...slice, mode: "replay" };
}

interface Cut extends ReadOptions {
  from: string | null;
  more: boolean;
}

/** The first rows that fit, ending with something said. */
export function cutSlice(ref: ConversationRef, rows: TranscriptRow[], { from, more, cost, budget }: Cut): Slice | null {
  const range = selectRange(rows, null);
  if (!range) return null;
  let end = 0;
  let used = 0;
  for (const [index, row] of rows.slice(0, range.end).entries()) {
    used += cost(row);
    if (used > budget && end > 0) break;
    if (isSaid(row) && row.messageId !== undefined) end = index + 1;
  }
  const chosen = rows.slice(0, end);
  const ids = chosen.flatMap((row) => row.messageId ?? []);
  return {
    agentId: ref.agentId,
    conversationId: ref.conversationId,
    mode: "unreflected",
    rows: chosen,
    startMessageId: ids[0]!,
    endMessageId: ids.at(-1)!,
    newestMessageId: rows.findLast((row) => row.messageId !== undefined)?.messageId ?? ids.at(-1)!,
    from,
    turns: chosen.filter((row) => row.kind === "user").length,
    lastAt: chosen.at(-1)!.at,
    more: more || end < range.end,
  };
}

async function readMessages(
  backend: Pick<Backend, "listMessages">,
  ref: ConversationRef,
  through: string | null,
  { cost, budget }: ReadOptions,
): Promise<{ messages: Message[]; complete: boolean }> {
  const messages: Message[] = [];
  let after = through;
  let used = 0;
  for (;;) {
    const page = await listFrom(backend, ref, after);
    messages.push(...page.items);
    used += sum(toRows(page.items), cost);
    if (page.nextCursor === null) return { messages, complete: true };
    if (used > budget && toRows(messages).some(isSaid)) return { messages, complete: false };
    after = page.nextCursor;
  }
}

async function listFrom(backend: Pick<Backend, "listMessages">, ref: ConversationRef, after: string | null) {
  try {
    return await backend.listMessages(ref, { order: "asc", limit: PAGE, ...(after !== null && { after }) });
  } catch (error) {
    // The message is gone (a conversation that was imported anew): everything is unseen.
    if (after === null || codeOf(error) !== "not_found") throw error;
    return backend.listMessages(ref, { order: "asc", limit: PAGE });
  }
}

function sum(rows: readonly TranscriptRow[], cost: (row: TranscriptRow) => number): number {
  return rows.reduce((total, row) => total + cost(row), 0);
}

const ExternalCommon = {
  captured_at: v.optional(v.string(), ""),
  source_line_id: v.optional(v.string()),
  source_message_id: v.optional(v.string()),
};
const ExternalRowSchema = v.variant("kind", [
  v.object({ kind: v.picklist(["user", "assistant", "reasoning", "error"]), text: v.string(), ...ExternalCommon }),
  v.object({
    kind: v.literal("tool_call"),
    name: v.string(),
    argsText: v.optional(v.string(), "{}"),
    resultText: v.optional(v.nullable(v.string()), null),
    resultOk: v.optional(v.boolean(), true),
    ...ExternalCommon,
  }),
]);

/** A transcript of another program, one row per line. Lines that are none are counted; the same message twice is once. */
export function parseTranscript(text: string): { rows: TranscriptRow[]; skipped: number } {
  const rows: TranscriptRow[] = [];
  const seen = new Set<string>();
  let skipped = 0;
  for (const [index, line] of text.split("\n").entries()) {
    if (line.trim() === "") continue;
    const parsed = v.safeParse(ExternalRowSchema, parseJson(line));
    if (!parsed.success) {
      skipped += 1;
      continue;
    }
    const row = parsed.output;
    const id = row.source_message_id;
    const identity = id === undefined ? null : `${id} ${row.kind} ${row.source_line_id ?? ""}`;
    if (identity !== null && seen.has(identity)) continue;
    if (identity !== null) seen.add(identity);
    const common = { at: row.captured_at, ...(id !== undefined && { messageId: id }) };
    if (row.kind === "tool_call") {
      const { name, argsText, resultText, resultOk } = row;
      rows.push({ ...common, kind: "tool_call", id: `call-${index + 1}`, name, argsText, resultText, resultOk });
    } else rows.push({ ...common, kind: row.kind, text: row.text });
  }
  return { rows, skipped };
}
