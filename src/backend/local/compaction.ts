// Compaction: makes the model's window smaller by writing a new window record; messages are never changed or deleted, so
// it can be undone. First without a model (old tool outputs, images, giant texts), and only if that is not enough by a
// summary of the older part.

import type { CompactResult, ConversationRef, SendOptions } from "@/backend/backend.ts";
import { estimateTokens, type ModelUsage, type ModelUserMessage } from "@/backend/model.ts";
import type { CompactionSettings, CompactionStats } from "@/backend/wire.ts";
import { LettaError } from "@/lib/errors.ts";
import { durable } from "@/store/db.ts";
import { assertFence } from "@/store/leases.ts";
import { getAgent } from "./agents.ts";
import {
  applyOverrides,
  chooseCut,
  clipText,
  clipToFit,
  firstUnanswered,
  type Overrides,
  shrinkEntries,
} from "./compaction-plan.ts";
import type { LocalContext } from "./context.ts";
import { getConversationRow } from "./conversations.ts";
import { newMessageId } from "./ids.ts";
import { yieldFromOtherRuns } from "./input.ts";
import { collectKept, withoutKept } from "./kept.ts";
import { insertMessage, type MessageMeta } from "./messages.ts";
import { FALLBACK_WINDOW, type ModelConfig, resolveConfig } from "./model-config.ts";
import { forgetPrompt } from "./prompt.ts";
import { parseStored } from "./stored-json.ts";
import { renderAlert, requestText, summarise } from "./summary.ts";
import { type ContextEstimate, estimateContext, estimateEntries } from "./tokens.ts";
import { type ConversationWindow, currentWindow, loadWindow, type WindowEntry } from "./window.ts";

const DEFAULT_PERCENTAGE = 0.3;
/** Shrinking alone is enough when it leaves this much room below the budget; else the next turn would be back here. */
const ENOUGH_SHARE = 0.8;
/** What a summary may take. */
const SUMMARY_TOKENS = 1_500;
/** The part of the room that texts of skills from before the cut may take. */
const KEPT_SHARE = 0.3;
/** What the user's last request may take beside it. */
const REQUEST_TOKENS = 1_000;
const SHRUNK = "Long messages, older tool outputs and images were shortened; nothing was summarised.";

export interface CompactionRequest {
  key: string;
  config: ModelConfig;
  trigger: CompactionStats["trigger"];
  settings: CompactionSettings;
  signal: AbortSignal;
  /** A durable transaction that checks the caller may still write. */
  write<T>(work: () => T): T;
}

export interface CompactionDone {
  summary: string;
  stats: CompactionStats;
  /** Of the summary; a fresh one when nothing was summarised. */
  messageId: string;
  usage: ModelUsage | null;
}

/** Above the threshold, and by what was said: a large system prompt alone cannot be compacted away. */
export function needsCompaction(window: ConversationWindow, config: ModelConfig): boolean {
  const { tokens, density } = estimateContext(window, config.fixedTokens);
  return tokens > config.threshold && estimateEntries(window.entries) * density > 2 * SUMMARY_TOKENS;
}

/** Null when there is nothing that could be made smaller. Throws `cancelled`, `storage`, `lease_lost`, `usage`. */
export async function compact(context: LocalContext, request: CompactionRequest): Promise<CompactionDone | null> {
  const { config, trigger } = request;
  const window = loadWindow(context, request.key);
  if (window.entries.length === 0) return null;
  const estimate = estimateContext(window, config.fixedTokens);
  const { before, budget, density } = planBudget(config, trigger, estimate);
  // Entries are estimated at one token per four bytes; the budget is in the provider's tokens.
  const room = Math.max(256, Math.floor(budget / density) - config.fixedTokens);

  const shrunk = trigger === "manual" ? new Map() : shrinkEntries(window.entries, room);
  const entries = applyOverrides(window.entries, shrunk);
  const saved = estimateEntries(window.entries) - estimateEntries(entries);
  const after = before - Math.ceil(saved * density);
  if (shrunk.size > 0 && after <= budget * ENOUGH_SHARE) {
    const stats = makeStats(request, window, { before, after, count: entries.length });
    recordWindow(context, request, window, { fromSeq: null, summary: null, overrides: shrunk, stats });
    return { summary: SHRUNK, stats, messageId: newMessageId(), usage: null };
  }
  return summariseOlder(context, request, { window, entries, shrunk, before, room, density });
}

/** `/compact`: always by summary. */
export async function compactConversation(
  context: LocalContext,
  ref: ConversationRef,
  settings: CompactionSettings = {},
  options: SendOptions = {},
): Promise<CompactResult> {
  const row = getConversationRow(context, ref);
  const agent = getAgent(context, row.agent_id);
  const write = <T>(work: () => T): T =>
    durable(context.db, () => {
      if (options.fence) assertFence(context.db, options.fence);
      yieldFromOtherRuns(context, row.key, options);
      return work();
    });
  write(() => undefined);
  const before = loadWindow(context, row.key).entries.length;
  if (before === 0) throw new LettaError("usage", "There is nothing to compact yet");
  const done = await compact(context, {
    key: row.key,
    config: await resolveConfig(context, agent, row, {}),
    trigger: "manual",
    settings: mergeSettings(agent.compaction_settings, settings),
    signal: options.signal ?? new AbortController().signal,
    write,
  });
  if (!done)
    throw new LettaError("usage", "There is nothing to compact: the conversation only holds a pending request");
  return {
    num_messages_before: done.stats.messages_count_before,
    num_messages_after: done.stats.messages_count_after,
    summary: done.summary,
  };
}

/** Takes the latest window back; what came since is in the earlier one by itself. */
export function undoCompaction(context: LocalContext, ref: ConversationRef): boolean {
  return durable(context.db, () => {
    const { key } = getConversationRow(context, ref);
    yieldFromOtherRuns(context, key, {});
    const window = currentWindow(context, key);
    if (!window) return false;
    context.db.query("UPDATE windows SET undone = 1 WHERE id = ?").run(window.id);
    return true;
  });
}

/** Tokens before, and what may be left: an overflow says that our count was too low. */
function planBudget(
  config: ModelConfig,
  trigger: CompactionStats["trigger"],
  estimate: ContextEstimate,
): { before: number; budget: number; density: number } {
  const { tokens, density } = estimate;
  if (trigger === "context_window_limit") return { before: tokens, budget: config.threshold, density };
  if (trigger === "manual") return { before: tokens, budget: Math.min(config.threshold, tokens), density };
  const real = Math.max(tokens, config.contextWindow ?? 0);
  return {
    before: real,
    budget: Math.min(config.threshold, Math.floor(tokens * 0.7)),
    density: density * Math.min(2, real / Math.max(1, tokens)),
  };
}

interface SummaryPlan {
  window: ConversationWindow;
  /** With the shrunk messages in place. */
  entries: WindowEntry[];
  shrunk: Overrides;
  before: number;
  room: number;
  density: number;
}

async function summariseOlder(
  context: LocalContext,
  request: CompactionRequest,
  plan: SummaryPlan,
): Promise<CompactionDone | null> {
  const { config, settings } = request;
  const { window, entries, room, density } = plan;
  const unanswered = firstUnanswered(entries);
  const keepTokens = settings.mode === "all" ? 0 : Math.floor(room * (1 - keepPercentage(settings))) - SUMMARY_TOKENS;
  const wanted = chooseCut(entries, unanswered, Math.max(0, keepTokens));
  // Asked for by a person, a short conversation is summarised whole rather than not at all.
  const cut = wanted === 0 && request.trigger === "manual" ? unanswered : wanted;
  const kept = entries.slice(cut);
  const fromSeq = kept[0]?.seq ?? (entries.at(-1)?.seq ?? 0) + 1;
  const skills =
    cut === 0
      ? ""
      : collectKept(context, request.key, { beforeSeq: fromSeq, maxTokens: Math.floor(room * KEPT_SHARE) });
  const clipped = clipToFit(kept, Math.max(256, room - SUMMARY_TOKENS - estimateTokens(skills)));
  const overrides: Overrides = new Map([...plan.shrunk, ...clipped]);
  for (const entry of entries.slice(0, cut)) overrides.delete(entry.seq);
  const keptTokens = Math.ceil(estimateEntries(applyOverrides(kept, clipped)) * density);

  if (cut === 0) {
    // Everything is still unanswered: the only thing left is to clip it.
    if (overrides.size === 0) return null;
    const after = config.fixedTokens + keptTokens;
    const stats = makeStats(request, window, { before: plan.before, after, count: kept.length });
    recordWindow(context, request, window, { fromSeq: null, summary: null, overrides, stats });
    return { summary: SHRUNK, stats, messageId: newMessageId(), usage: null };
  }
  const written = await summarise(window.entries.slice(0, cut), {
    config,
    handle: settings.model || config.handle,
    prompt: settings.prompt ?? null,
    ...(settings.clip_chars !== undefined && { clipChars: settings.clip_chars }),
    signal: request.signal,
  });
  const asked = isMidTurn(entries) && !kept.some(isRequest) ? latestRequest(context, request.key) : null;
  const summary = { ...written, text: asked ? `${written.text}\n\n${asked}` : written.text };
  const after = config.fixedTokens + keptTokens + estimateTokens(summary.text) + estimateTokens(skills);
  const stats = makeStats(request, window, { before: plan.before, after, count: kept.length + 1 });
  const messageId = newMessageId();
  recordWindow(context, request, window, {
    fromSeq,
    summary: { id: messageId, text: summary.text, skills },
    overrides,
    stats,
  });
  return { summary: summary.text, stats, messageId, usage: summary.usage };
}

/** Tools are being called: what the user asked for is not done yet. */
function isMidTurn(entries: WindowEntry[]): boolean {
  const last = entries.at(-1)?.message;
  if (last?.role === "assistant") return last.content.some((part) => part.type === "toolCall");
  return last?.role === "toolResult";
}

function isRequest({ message, isSummary, keep }: WindowEntry): boolean {
  return message.role === "user" && !isSummary && requestText(withoutKept(message, keep).content) !== "";
}

/** What the user asked for last, when a long turn has pushed it out of the window: no summary may lose the task. */
function latestRequest(context: LocalContext, key: string): string | null {
  const rows = context.db
    .query(
      `SELECT id, body, meta FROM messages WHERE conversation_key = ? AND kind = 'message' AND role = 'user'
       ORDER BY seq DESC LIMIT 20`,
    )
    .all(key) as { id: string; body: string; meta: string }[];
  for (const { id, body, meta } of rows) {
    const { keep = [] } = parseStored<MessageMeta>(meta, id);
    const text = requestText(withoutKept(parseStored<ModelUserMessage>(body, id), keep).content);
    if (text) return `What the user asked last, word for word:\n${clipText(text, REQUEST_TOKENS, id)}`;
  }
  return null;
}

interface NewSummary {
  id: string;
  text: string;
  /** For the model only; empty when there are none. */
  skills: string;
}

interface NewWindow {
  /** First message kept; null keeps the present window's extent and summary. */
  fromSeq: number | null;
  summary: NewSummary | null;
  overrides: Overrides;
  stats: CompactionStats;
}

function recordWindow(
  context: LocalContext,
  request: CompactionRequest,
  window: ConversationWindow,
  next: NewWindow,
): void {
  const { db } = context;
  const { key } = request;
  request.write(() => {
    if ((currentWindow(context, key)?.id ?? null) !== (window.row?.id ?? null)) {
      throw new LettaError("busy", "Another process compacted this conversation at the same time");
    }
    const summarySeq = next.summary
      ? insertSummary(context, key, next.summary, next.stats)
      : (window.row?.summary_seq ?? null);
    const { lastInsertRowid } = db.query("INSERT INTO windows VALUES (NULL, ?, ?, ?, ?, ?, 0, ?)").run(
      key,
      next.fromSeq ?? window.row?.from_seq ?? 0,
      summarySeq,
      window.entries.reduce((highest, entry) => Math.max(highest, entry.seq), summarySeq ?? 0),
      JSON.stringify(next.stats),
      context.isoNow(),
    );
    const insert = db.query("INSERT OR REPLACE INTO window_overrides VALUES (?, ?, ?)");
    // What the present window already replaced stays replaced; the new replacements were made from it.
    if (window.row) {
      db.query(
        `INSERT INTO window_overrides SELECT ?, seq, body FROM window_overrides WHERE window_id = ? AND seq >= ?`,
      ).run(lastInsertRowid, window.row.id, next.fromSeq ?? 0);
    }
    for (const [seq, message] of next.overrides) insert.run(lastInsertRowid, seq, JSON.stringify(message));
    // Nothing the provider cached is of use any more, and what the agent did to its memory is no longer in the window.
    forgetPrompt(context, key);
  });
}

function insertSummary(context: LocalContext, key: string, summary: NewSummary, stats: CompactionStats): number {
  const alert = renderAlert(summary.text, stats, context.isoNow());
  const parts = [alert, summary.skills].map((text) => ({ type: "text" as const, text }));

  return insertMessage(context, key, {
    id: summary.id,
    kind: "summary",
    meta: { compaction: { summary: summary.text, stats }, ...(summary.skills !== "" && { keep: [1] }) },
    body: { role: "user", content: summary.skills === "" ? alert : parts, timestamp: context.now() },
  });
}

function makeStats(
  request: CompactionRequest,
  window: ConversationWindow,
  counts: { before: number; after: number; count: number },
): CompactionStats {
  return {
    trigger: request.trigger,
    context_tokens_before: counts.before,
    context_tokens_after: counts.after,
    context_window: request.config.contextWindow ?? FALLBACK_WINDOW,
    messages_count_before: window.entries.length,
    messages_count_after: counts.count,
  };
}

/** Changing the mode without a prompt drops the stored prompt: it was written for the other mode. */
function mergeSettings(stored: CompactionSettings | null, wanted: CompactionSettings): CompactionSettings {
  const merged = { ...stored, ...wanted };
  if (wanted.mode && wanted.mode !== stored?.mode && wanted.prompt === undefined) delete merged.prompt;
  return merged;
}

function keepPercentage(settings: CompactionSettings): number {
  const share = settings.sliding_window_percentage ?? DEFAULT_PERCENTAGE;
  return share <= 0 ? 0.1 : Math.min(1, share);
}
