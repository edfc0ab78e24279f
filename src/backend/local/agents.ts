// Agent records: create, read, patch, list, delete.

import type { Backend, Page } from "@/backend/backend.ts";
import type { AgentCreate, AgentPatch, AgentState } from "@/backend/wire.ts";
import { LettaError } from "@/lib/errors.ts";
import { durable } from "@/store/db.ts";
import type { LocalContext } from "./context.ts";
import { newAgentId } from "./ids.ts";
import { likePattern } from "./like.ts";

const DEFAULT_NAME = "Letta Code";
/** Agents with this tag are hidden unless they say otherwise. */
const SUBAGENT_TAG = "role:subagent";

export function getAgent(context: LocalContext, id: string): AgentState {
  const row = context.db.query("SELECT * FROM agents WHERE id = ?").get(id) as AgentRow | null;
  if (!row) {
    throw new LettaError("not_found", `Agent ${id} not found`, { hint: "`letta agents list` shows what there is." });
  }
  return toAgent(row);
}

export function createAgent(context: LocalContext, body: AgentCreate): AgentState {
  const at = context.isoNow();
  const tags = body.tags ?? [];
  const agent: AgentState = {
    id: newAgentId(),
    name: body.name ?? DEFAULT_NAME,
    description: body.description ?? null,
    system: body.system ?? "",
    tags,
    model: body.model ?? "",
    model_settings: body.model_settings ?? {},
    context_window_limit: body.context_window_limit ?? null,
    compaction_settings: body.compaction_settings ?? null,
    hidden: body.hidden ?? tags.includes(SUBAGENT_TAG),
    metadata: body.metadata ?? {},
    created_at: at,
    updated_at: at,
    last_run_completion: null,
  };
  durable(context.db, () => saveAgent(context, agent));
  return agent;
}

export function updateAgent(context: LocalContext, id: string, patch: AgentPatch): AgentState {
  return durable(context.db, () => {
    const agent = { ...getAgent(context, id), ...definedOnly(patch), updated_at: context.isoNow() };
    saveAgent(context, agent);
    return agent;
  });
}

export function deleteAgent(context: LocalContext, id: string): void {
  durable(context.db, () => {
    const keys = context.db.query("SELECT key FROM conversations WHERE agent_id = ?").all(id) as { key: string }[];
    const { changes } = context.db.query("DELETE FROM agents WHERE id = ?").run(id);
    if (changes === 0) getAgent(context, id);
    for (const { key } of keys) deleteClientRows(context, key);
  });
}

/** What this client remembers about a conversation and no foreign key reaches. */
export function deleteClientRows(context: LocalContext, key: string): void {
  context.db.query("DELETE FROM client_state WHERE conversation_key = ?").run(key);
  context.db.query("DELETE FROM journal_calls WHERE conversation_key = ?").run(key);
  context.windowCache.delete(key);
}

export function listAgents(
  context: LocalContext,
  query: NonNullable<Parameters<Backend["listAgents"]>[0]> = {},
): Page<AgentState> {
  const limit = query.limit ?? 20;
  const conditions: string[] = [];
  const values: (string | number)[] = [];
  const where = (sql: string, ...bound: (string | number)[]): void => {
    conditions.push(sql);
    values.push(...bound);
  };
  if (!query.includeHidden) where("hidden = 0");
  if (query.name !== undefined) where("name = ?", query.name);
  if (query.query) {
    const pattern = likePattern(query.query);
    where(
      `(name LIKE ? ESCAPE '\\' OR description LIKE ? ESCAPE '\\' OR id LIKE ? ESCAPE '\\' OR model LIKE ? ESCAPE '\\')`,
      pattern,
      pattern,
      pattern,
      pattern,
    );
  }
  if (query.tags?.length) {
    const has = query.tags.map(() => "EXISTS (SELECT 1 FROM json_each(tags) WHERE value = ?)");
    where(`(${has.join(query.matchAllTags ? " AND " : " OR ")})`, ...query.tags);
  }
  if (query.after) {
    const last = getAgent(context, query.after);
    where(
      "(coalesce(last_run_completion, ''), created_at, id) < (?, ?, ?)",
      last.last_run_completion ?? "",
      last.created_at,
      last.id,
    );
  }
  const rows = context.db
    .query(
      `SELECT * FROM agents ${conditions.length ? `WHERE ${conditions.join(" AND ")}` : ""}
       ORDER BY coalesce(last_run_completion, '') DESC, created_at DESC, id DESC LIMIT ?`,
    )
    .all(...values, limit + 1) as AgentRow[];
  const items = rows.slice(0, limit).map(toAgent);
  return { items, nextCursor: rows.length > limit ? (items.at(-1)?.id ?? null) : null };
}

/** A patch key that is present but undefined changes nothing. */
export function definedOnly<T extends object>(patch: T): Partial<T> {
  return Object.fromEntries(Object.entries(patch).filter(([, value]) => value !== undefined)) as Partial<T>;
}

interface AgentRow {
  id: string;
  name: string;
  description: string | null;
  system: string;
  tags: string;
  model: string;
  model_settings: string;
  context_window_limit: number | null;
  compaction_settings: string | null;
  hidden: number;
  metadata: string;
  created_at: string;
  updated_at: string;
  last_run_completion: string | null;
}

function toAgent(row: AgentRow): AgentState {
  return {
    ...row,
    tags: JSON.parse(row.tags) as string[],
    model_settings: JSON.parse(row.model_settings) as AgentState["model_settings"],
    compaction_settings: row.compaction_settings
      ? (JSON.parse(row.compaction_settings) as AgentState["compaction_settings"])
      : null,
    hidden: row.hidden === 1,
    metadata: JSON.parse(row.metadata) as AgentState["metadata"],
  };
}

/** Inside the caller's transaction. Creation time and last run of an agent that exists stay. */
export function saveAgent(context: LocalContext, agent: AgentState): void {
  context.db
    .query(
      `INSERT INTO agents VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)
       ON CONFLICT (id) DO UPDATE SET name = ?2, description = ?3, system = ?4, tags = ?5, model = ?6,
         model_settings = ?7, context_window_limit = ?8, compaction_settings = ?9, hidden = ?10, metadata = ?11,
         updated_at = ?13`,
    )
    .run(
      agent.id,
      agent.name,
      agent.description,
      agent.system,
      JSON.stringify(agent.tags),
      agent.model,
      JSON.stringify(agent.model_settings),
      agent.context_window_limit,
      agent.compaction_settings ? JSON.stringify(agent.compaction_settings) : null,
      agent.hidden ? 1 : 0,
      JSON.stringify(agent.metadata),
      agent.created_at,
      agent.updated_at,
      agent.last_run_completion,
    );
}
