// A fork: the window of a conversation, copied into a new one. History stays with the original.

import { type Backend, type ConversationRef, conversationKey } from "@/backend/backend.ts";
import type { ModelAssistantMessage, ModelMessage } from "@/backend/model.ts";
import type { Conversation } from "@/backend/wire.ts";
import { LettaError } from "@/lib/errors.ts";
import { durable } from "@/store/db.ts";
import type { LocalContext } from "./context.ts";
import { type ConversationRow, getConversationRow, insertRow, toConversation } from "./conversations.ts";
import { newConversationId, newMessageId } from "./ids.ts";
import { insertMessage, MESSAGE_COLUMNS, type MessageRow, type StoredMessage, toStored } from "./messages.ts";
import { baseMessageId, projectMessage } from "./projection.ts";
import { currentWindow, type WindowRow } from "./window.ts";

export function forkConversation(
  context: LocalContext,
  ref: ConversationRef,
  options: NonNullable<Parameters<Backend["forkConversation"]>[1]> = {},
): Conversation {
  return durable(context.db, () => {
    const source = getConversationRow(context, ref);
    const window = currentWindow(context, source.key);
    const messages = messagesUpTo(readWindow(context, source.key, window), options.messageId);
    const id = newConversationId();
    const row: ConversationRow = {
      ...source,
      key: conversationKey({ agentId: source.agent_id, conversationId: id }),
      id,
      hidden: (options.hidden ?? source.hidden === 1) ? 1 : 0,
      archived_at: null,
      created_at: context.isoNow(),
      updated_at: context.isoNow(),
      last_message_at: null,
    };
    insertRow(context, row);
    copyMessages(context, row.key, messages, window);
    return toConversation(context, row);
  });
}

function readWindow(context: LocalContext, key: string, window: WindowRow | null): StoredMessage[] {
  const rows = context.db
    .query(
      `SELECT ${MESSAGE_COLUMNS} FROM messages
       WHERE conversation_key = ? AND ((kind = 'message' AND seq >= ?) OR seq = ?)
       ORDER BY kind = 'message', seq`,
    )
    .all(key, window?.from_seq ?? 0, window?.summary_seq ?? -1) as MessageRow[];
  return rows.map(toStored);
}

/** Up to and including the message; a reply is cut behind the named part of it. */
function messagesUpTo(messages: StoredMessage[], messageId: string | undefined): StoredMessage[] {
  if (messageId === undefined) return messages;
  const base = baseMessageId(messageId);
  const index = messages.findIndex((message) => message.id === base);
  const last = messages[index];
  if (!last) {
    throw new LettaError("not_found", `Message ${messageId} is not in the conversation's window`, {
      hint: "Only what the model still sees can be forked.",
    });
  }
  const kept = messages.slice(0, index);
  return [...kept, last.body.role === "assistant" ? cutReply(last, last.body, messageId) : last];
}

function cutReply(stored: StoredMessage, body: ModelAssistantMessage, messageId: string): StoredMessage {
  const variants = projectMessage(stored).map((variant) => variant.id);
  const wanted = variants.indexOf(messageId);
  if (wanted === -1 || wanted === variants.length - 1) return stored;
  for (let length = 1; length < body.content.length; length++) {
    const cut = { ...stored, body: { ...body, content: body.content.slice(0, length) } };
    const next = { ...stored, body: { ...body, content: body.content.slice(0, length + 1) } };
    if (projectMessage(cut).length === wanted + 1 && projectMessage(next).length > wanted + 1) return cut;
  }
  return stored;
}

function copyMessages(context: LocalContext, key: string, messages: StoredMessage[], window: WindowRow | null): void {
  const { db } = context;
  const overrides = new Map<number, ModelMessage>();
  if (window) {
    const rows = db.query("SELECT seq, body FROM window_overrides WHERE window_id = ?").all(window.id);
    for (const { seq, body } of rows as { seq: number; body: string }[]) overrides.set(seq, JSON.parse(body));
  }
  let summarySeq: number | null = null;
  let fromSeq: number | null = null;
  let lastSeq = 0;
  const copied: [number, ModelMessage][] = [];
  for (const message of messages) {
    const seq = insertMessage(context, key, {
      id: newMessageId(),
      kind: message.kind,
      interrupted: message.interrupted,
      meta: message.meta,
      body: message.body,
    });
    lastSeq = seq;
    if (message.kind === "summary") summarySeq = seq;
    else fromSeq ??= seq;
    const shorter = overrides.get(message.seq);
    if (shorter) copied.push([seq, shorter]);
  }
  if (summarySeq === null && copied.length === 0) return;
  const { lastInsertRowid } = db
    .query("INSERT INTO windows SELECT NULL, ?, ?, ?, ?, stats, 0, ? FROM windows WHERE id = ?")
    .run(key, fromSeq ?? lastSeq + 1, summarySeq, lastSeq, context.isoNow(), window?.id ?? -1);
  for (const [seq, message] of copied) {
    db.query("INSERT INTO window_overrides VALUES (?, ?, ?)").run(lastInsertRowid, seq, JSON.stringify(message));
  }
}
