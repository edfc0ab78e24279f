// Writes what `store/upstream-store.ts` read into our database: each agent and each conversation in one transaction,
// so that an interrupted import leaves nothing half-done. Ids stay, and what is here already is never changed.

import type { Database } from "bun:sqlite";
import { conversationKey } from "@/backend/backend.ts";
import type { CompactionStats } from "@/backend/wire.ts";
import { sha256 } from "@/lib/hash.ts";
import { durable } from "@/store/db.ts";
import {
  listUpstreamAgents,
  readUpstreamConversations,
  type UpstreamAgent,
  type UpstreamConversation,
  type UpstreamProblem,
} from "@/store/upstream-store.ts";
import type { UpstreamMessage } from "@/store/upstream-transcript.ts";
import { saveAgent } from "./agents.ts";
import { type LocalContext, offlineContext } from "./context.ts";
import { insertRow } from "./conversations.ts";
import { insertMessage, type MessageMeta } from "./messages.ts";

export interface ImportReport {
  root: string;
  agents: { imported: number; present: number };
  conversations: { imported: number; extended: number; present: number };
  messages: number;
  problems: UpstreamProblem[];
}

/** Null database: nothing is written, only counted. */
export async function importStore(root: string, db: Database | null, now: () => number): Promise<ImportReport> {
  const report: ImportReport = {
    root,
    agents: { imported: 0, present: 0 },
    conversations: { imported: 0, extended: 0, present: 0 },
    messages: 0,
    problems: [],
  };
  const known = new Set<string>();
  for (const agent of await listUpstreamAgents(root, report.problems)) {
    known.add(agent.id);
    report.agents[db && !importAgent(db, agent, now) ? "present" : "imported"] += 1;
  }
  for await (const conversation of readUpstreamConversations(root, report.problems)) {
    const name = `conversation ${conversation.id} of ${conversation.agentId}`;
    if (!known.has(conversation.agentId)) {
      report.problems.push({ file: root, message: `${name} was left out: its agent is missing` });
      continue;
    }
    const saved = db
      ? saveConversation(db, conversation, now)
      : { outcome: "imported" as const, messages: conversation.messages.length };
    if (saved.outcome === "conflict")
      report.problems.push({ file: root, message: `${name} was left out: ${saved.why}` });
    else {
      report.conversations[saved.outcome] += 1;
      report.messages += saved.messages;
    }
  }
  return report;
}

/** False when an agent of this id is here already. */
function importAgent(db: Database, agent: UpstreamAgent, now: () => number): boolean {
  const context = offlineContext(db, now);
  const at = context.isoNow();
  return durable(db, () => {
    if (db.query("SELECT 1 FROM agents WHERE id = ?").get(agent.id)) return false;
    saveAgent(context, {
      id: agent.id,
      name: agent.name,
      description: agent.description,
      system: agent.system,
      tags: agent.tags,
      model: agent.model,
      model_settings: agent.modelSettings,
      context_window_limit: agent.contextWindowLimit,
      compaction_settings: agent.compactionSettings,
      hidden: agent.hidden,
      metadata: { imported: true },
      created_at: at,
      updated_at: at,
      last_run_completion: null,
    });
    return true;
  });
}

type Saved = { outcome: "imported" | "extended" | "present"; messages: number } | { outcome: "conflict"; why: string };

function saveConversation(db: Database, conversation: UpstreamConversation, now: () => number): Saved {
  const key = conversationKey({ agentId: conversation.agentId, conversationId: conversation.id });
  return durable(db, () => {
    const here = db.query("SELECT agent_id FROM conversations WHERE key = ?").get(key) as { agent_id: string } | null;
    if (here && here.agent_id !== conversation.agentId) {
      return { outcome: "conflict", why: "another agent has a conversation of this id here" };
    }
    const missing = here ? missingMessages(db, key, conversation.messages) : conversation.messages;
    if (missing === null) return { outcome: "present", messages: 0 };
    if (here && missing.length === 0) return { outcome: "present", messages: 0 };
    const at = new Date(now()).toISOString();
    if (!here) {
      insertRow(contextAt(db, at), {
        key,
        id: conversation.id,
        agent_id: conversation.agentId,
        summary: conversation.summary,
        description: null,
        archived_at: conversation.archivedAt,
        hidden: conversation.hidden ? 1 : 0,
        tags: JSON.stringify(conversation.tags),
        model: conversation.model,
        model_settings: conversation.modelSettings && JSON.stringify(conversation.modelSettings),
        context_window_limit: conversation.contextWindowLimit,
        created_at: conversation.createdAt ?? conversation.messages[0]?.createdAt ?? at,
        updated_at: conversation.updatedAt ?? at,
        last_message_at: conversation.lastMessageAt,
      });
    }
    saveMessages(db, key, missing);
    if (conversation.windowIds) saveWindow(db, key, conversation, conversation.windowIds, at);
    return { outcome: here ? "extended" : "imported", messages: missing.length };
  });
}

/** What the other client added since the last import. Null when the conversation went on here: the two cannot be
 *  merged, and ours is kept. */
function missingMessages(db: Database, key: string, messages: UpstreamMessage[]): UpstreamMessage[] | null {
  const theirs = new Set(messages.map((message) => storedId(key, message.id)));
  const ours = db.query("SELECT id FROM messages WHERE conversation_key = ?").values(key) as [string][];
  if (ours.some(([id]) => !theirs.has(id))) return null;
  const present = new Set(ours.map(([id]) => id));
  return messages.filter((message) => !present.has(storedId(key, message.id)));
}

function saveMessages(db: Database, key: string, messages: UpstreamMessage[]): void {
  for (const message of messages) {
    insertMessage(contextAt(db, message.createdAt), key, {
      id: storedId(key, message.id),
      body: message.body,
      kind: message.kind,
      interrupted: message.interrupted,
      meta: toMeta(message),
      ...(message.otid ? { otid: message.otid } : {}),
    });
    if (message.otid) db.query("INSERT OR IGNORE INTO inputs VALUES (?, ?)").run(key, message.otid);
  }
  // Only the last reply may still wait for answers; what was left open earlier will never come.
  const last = messages.findLast(({ body }) => body.role === "assistant");
  const open = last && !last.interrupted && last === messages.at(-1) ? storedId(key, last.id) : "";
  db.query("UPDATE tool_calls SET answered = 1 WHERE conversation_key = ? AND message_id <> ?").run(key, open);
}

/** The summary, then everything from the first message that was not compacted away. */
function saveWindow(
  db: Database,
  key: string,
  { messages }: UpstreamConversation,
  windowIds: string[],
  at: string,
): void {
  const byId = new Map(messages.map((message) => [message.id, message]));
  const seqOf = (id: string) =>
    (db.query("SELECT seq FROM messages WHERE id = ?").get(storedId(key, id)) as { seq: number } | null)?.seq ?? null;
  const summaryId = windowIds.find((id) => byId.get(id)?.kind === "summary");
  const firstId = windowIds.find((id) => byId.get(id)?.kind === "message");
  const lastSeq = Number(db.query("SELECT max(seq) FROM messages WHERE conversation_key = ?").values(key)[0]?.[0] ?? 0);
  const stats = { ...emptyStats(messages.length, windowIds.length), ...byId.get(summaryId ?? "")?.compaction?.stats };
  db.query("UPDATE windows SET undone = 1 WHERE conversation_key = ?").run(key);
  db.query(
    `INSERT INTO windows (conversation_key, from_seq, summary_seq, after_seq, stats, undone, created_at)
     VALUES (?, ?, ?, ?, ?, 0, ?)`,
  ).run(
    key,
    firstId === undefined ? lastSeq + 1 : (seqOf(firstId) ?? 0),
    summaryId === undefined ? null : seqOf(summaryId),
    lastSeq,
    JSON.stringify(stats),
    at,
  );
}

function toMeta({ compaction, body }: UpstreamMessage): MessageMeta {
  if (!compaction) return {};
  const text = typeof body.content === "string" ? body.content : "";
  return { compaction: { summary: compaction.summary || text, stats: { ...emptyStats(0, 0), ...compaction.stats } } };
}

function emptyStats(before: number, after: number): CompactionStats {
  return { trigger: "manual", context_window: 0, messages_count_before: before, messages_count_after: after };
}

/** The other client counts messages per store, so its ids may repeat between two stores. */
function storedId(key: string, id: string): string {
  return id.startsWith("ui-msg-") ? `${id}-${sha256(key).slice(0, 12)}` : id;
}

/** Rows keep the time at which they were written there. */
function contextAt(db: Database, at: string): LocalContext {
  return offlineContext(db, () => Date.parse(at));
}
