// Conversation records. `default` is every agent's implicit main thread: it is readable before it exists and its row is
// made by the first write.

import {
  type Backend,
  type ConversationRef,
  conversationKey,
  DEFAULT_CONVERSATION,
  type Page,
} from "@/backend/backend.ts";
import type { Conversation, ConversationCreate, ConversationPatch } from "@/backend/wire.ts";
import { LettaError } from "@/lib/errors.ts";
import { durable } from "@/store/db.ts";
import { definedOnly, deleteClientRows, getAgent } from "./agents.ts";
import type { LocalContext } from "./context.ts";
import { newConversationId } from "./ids.ts";
import { likePattern } from "./like.ts";
import { listWindowIds } from "./window.ts";

export interface ConversationRow {
  key: string;
  id: string;
  agent_id: string;
  summary: string | null;
  description: string | null;
  archived_at: string | null;
  hidden: number;
  tags: string;
  model: string | null;
  model_settings: string | null;
  context_window_limit: number | null;
  created_at: string;
  updated_at: string;
  last_message_at: string | null;
}

function findConversationRow(context: LocalContext, key: string): ConversationRow | null {
  return context.db.query("SELECT * FROM conversations WHERE key = ?").get(key) as ConversationRow | null;
}

/** For writes: the row, made now for a `default` that had none. Throws `not_found`. */
export function ensureConversationRow(context: LocalContext, ref: ConversationRef): ConversationRow {
  const row = getConversationRow(context, ref);
  if (!findConversationRow(context, row.key)) insertRow(context, row);
  return row;
}

/** For reads: a `default` without a row looks like an empty one. Throws `not_found`. */
export function getConversationRow(context: LocalContext, ref: ConversationRef): ConversationRow {
  const key = conversationKey(ref);
  const row = findConversationRow(context, key);
  if (row) return row;
  if (ref.conversationId !== DEFAULT_CONVERSATION) {
    throw new LettaError("not_found", `Conversation ${ref.conversationId} not found`, {
      hint: "`letta conversations list` shows what there is.",
    });
  }
  const agent = getAgent(context, ref.agentId);
  return emptyRow(key, DEFAULT_CONVERSATION, agent.id, agent.created_at);
}

export function retrieveConversation(context: LocalContext, id: string, agentId?: string): Conversation {
  if (id === DEFAULT_CONVERSATION && !agentId) {
    throw new LettaError("usage", "The conversation `default` exists once per agent: name the agent too");
  }
  return toConversation(context, getConversationRow(context, { agentId: agentId ?? "", conversationId: id }));
}

export function listConversations(
  context: LocalContext,
  query: NonNullable<Parameters<Backend["listConversations"]>[0]> = {},
): Page<Conversation> {
  const limit = query.limit ?? 20;
  const conditions = ["(id <> 'default' OR last_message_at IS NOT NULL)"];
  const values: (string | number)[] = [];
  const where = (sql: string, ...bound: string[]): void => {
    conditions.push(sql);
    values.push(...bound);
  };
  if (query.agentId) where("agent_id = ?", query.agentId);
  if (!query.includeHidden) where("hidden = 0");
  const archived = query.archived ?? "unarchived";
  if (archived !== "all") where(archived === "archived" ? "archived_at IS NOT NULL" : "archived_at IS NULL");
  if (query.search) {
    const pattern = likePattern(query.search);
    where(
      "(id LIKE ? ESCAPE '\\' OR summary LIKE ? ESCAPE '\\' OR description LIKE ? ESCAPE '\\')",
      pattern,
      pattern,
      pattern,
    );
  }
  if (query.after) {
    const last =
      findConversationRow(context, query.after) ??
      getConversationRow(context, { agentId: query.agentId ?? "", conversationId: query.after });
    where("(coalesce(last_message_at, updated_at), key) < (?, ?)", last.last_message_at ?? last.updated_at, last.key);
  }
  const rows = context.db
    .query(
      `SELECT * FROM conversations WHERE ${conditions.join(" AND ")}
       ORDER BY coalesce(last_message_at, updated_at) DESC, key DESC LIMIT ?`,
    )
    .all(...values, limit + 1) as ConversationRow[];
  const items = rows.slice(0, limit).map((row) => toConversation(context, row));
  // The key, not the id: there is one `default` per agent.
  return { items, nextCursor: rows.length > limit ? (rows[limit - 1]?.key ?? null) : null };
}

export function createConversation(context: LocalContext, body: ConversationCreate): Conversation {
  return durable(context.db, () => {
    const agent = getAgent(context, body.agent_id);
    const id = newConversationId();
    const row: ConversationRow = {
      ...emptyRow(id, id, agent.id, context.isoNow()),
      summary: body.summary ?? null,
      description: body.description ?? null,
      hidden: body.hidden ? 1 : 0,
      tags: JSON.stringify(body.tags ?? []),
      model: body.model ?? null,
      model_settings: body.model_settings ? JSON.stringify(body.model_settings) : null,
      context_window_limit: body.context_window_limit ?? null,
    };
    insertRow(context, row);
    return toConversation(context, row);
  });
}

export function updateConversation(
  context: LocalContext,
  ref: ConversationRef,
  patch: ConversationPatch,
): Conversation {
  return durable(context.db, () => {
    const row = ensureConversationRow(context, ref);
    const at = context.isoNow();
    const { archived, hidden, tags, model_settings, ...plain } = definedOnly(patch);
    const next: ConversationRow = { ...row, ...plain, updated_at: at };
    if (archived !== undefined) next.archived_at = archived ? (row.archived_at ?? at) : null;
    if (hidden !== undefined) next.hidden = hidden ? 1 : 0;
    if (tags !== undefined) next.tags = JSON.stringify(tags);
    if (model_settings !== undefined) next.model_settings = model_settings ? JSON.stringify(model_settings) : null;
    context.db
      .query(
        `UPDATE conversations SET summary = ?, description = ?, archived_at = ?, hidden = ?, tags = ?, model = ?,
           model_settings = ?, context_window_limit = ?, updated_at = ?, last_message_at = ? WHERE key = ?`,
      )
      .run(
        next.summary,
        next.description,
        next.archived_at,
        next.hidden,
        next.tags,
        next.model,
        next.model_settings,
        next.context_window_limit,
        next.updated_at,
        next.last_message_at,
        next.key,
      );
    return toConversation(context, next);
  });
}

export function deleteConversation(context: LocalContext, ref: ConversationRef): void {
  durable(context.db, () => {
    const { key } = getConversationRow(context, ref);
    context.db.query("DELETE FROM conversations WHERE key = ?").run(key);
    deleteClientRows(context, key);
  });
}

export function toConversation(context: LocalContext, row: ConversationRow): Conversation {
  const conversation: Conversation = {
    id: row.id,
    agent_id: row.agent_id,
    summary: row.summary,
    description: row.description,
    archived: row.archived_at !== null,
    archived_at: row.archived_at,
    hidden: row.hidden === 1,
    tags: JSON.parse(row.tags) as string[],
    model: row.model,
    model_settings: row.model_settings ? (JSON.parse(row.model_settings) as Conversation["model_settings"]) : null,
    context_window_limit: row.context_window_limit,
    in_context_message_ids: [],
    created_at: row.created_at,
    updated_at: row.updated_at,
    last_message_at: row.last_message_at,
  };
  // Ten thousand ids cost more than everything else in the record, and almost nobody reads them: they are fetched when
  // they are looked at. Enumerable, so that copies and JSON hold them like any other field.
  let ids: string[] | undefined;
  Object.defineProperty(conversation, "in_context_message_ids", {
    enumerable: true,
    configurable: true,
    get: () => {
      ids ??= listWindowIds(context, row.key);
      return ids;
    },
  });
  return conversation;
}

function emptyRow(key: string, id: string, agentId: string, at: string): ConversationRow {
  return {
    key,
    id,
    agent_id: agentId,
    summary: null,
    description: null,
    archived_at: null,
    hidden: 0,
    tags: "[]",
    model: null,
    model_settings: null,
    context_window_limit: null,
    created_at: at,
    updated_at: at,
    last_message_at: null,
  };
}

export function insertRow(context: LocalContext, row: ConversationRow): void {
  context.db
    .query("INSERT INTO conversations VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")
    .run(
      row.key,
      row.id,
      row.agent_id,
      row.summary,
      row.description,
      row.archived_at,
      row.hidden,
      row.tags,
      row.model,
      row.model_settings,
      row.context_window_limit,
      row.created_at,
      row.updated_at,
      row.last_message_at,
    );
}
