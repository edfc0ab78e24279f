// The system prompt as the model gets it: the agent's own text with its memory in it. It holds nothing volatile (no time,
// no counts): providers cache the prefix of a request, and a changed byte here is paid for with the whole conversation.
// Stored per conversation; compiled again when the agent's text changed, after a compaction, on request, and at the start
// of a turn when the memory is another one by then. What changes in memory during a turn never changes that turn.

import { type ConversationRef, conversationKey } from "@/backend/backend.ts";
import { estimateTokens } from "@/backend/model.ts";
import type { AgentState, ClientSkill, SendBody } from "@/backend/wire.ts";
import { errorMessage } from "@/lib/errors.ts";
import { sha256 } from "@/lib/hash.ts";
import { durable } from "@/store/db.ts";
import { getAgent } from "./agents.ts";
import type { LocalContext } from "./context.ts";
import { getConversationRow } from "./conversations.ts";
import { estimateEntries } from "./tokens.ts";
import { loadWindow } from "./window.ts";

/** Where an agent's system text wants its memory. */
const MEMORY_PLACEHOLDER = "{CORE_MEMORY}";
/** An update stays in the window, a new prompt is paid for once with all of the window: below this share of it, telling
 *  what changed is the better deal. */
const UPDATE_SHARE = 0.25;
/** A shorter window is hardly worth sparing. */
const SPARED_WINDOW_TOKENS = 2_000;

export function compilePrompt(system: string, coreMemory = ""): string {
  const withMemory = system.includes(MEMORY_PLACEHOLDER)
    ? system.replaceAll(MEMORY_PLACEHOLDER, () => coreMemory)
    : [system, coreMemory].filter(Boolean).join("\n\n");
  return withMemory.trim();
}

/** `mayChange`: a turn begins, so the memory as it is now may come in. */
export async function resolvePrompt(
  context: LocalContext,
  ref: ConversationRef,
  agent: AgentState,
  { mayChange }: { mayChange: boolean },
): Promise<string> {
  const stored = findStored(context, conversationKey(ref), agent);
  if (stored && (!mayChange || (await isCurrent(context, agent, stored)))) return stored.content;
  const compiled = await compile(context, ref, agent);
  // A memory that cannot be read now was read before.
  if (compiled === null) return stored?.content ?? compilePrompt(agent.system);
  save(context, conversationKey(ref), agent, compiled);
  return compiled.content;
}

/** As it would be compiled now. */
export async function previewPrompt(context: LocalContext, ref: ConversationRef, agent: AgentState): Promise<string> {
  return (await compile(context, ref, agent))?.content ?? compilePrompt(agent.system);
}

/** Inside the caller's transaction: the next request compiles it anew. */
export function forgetPrompt(context: LocalContext, key: string): void {
  context.db.query("DELETE FROM system_prompts WHERE conversation_key = ?").run(key);
}

/** A person begins a turn; what answers calls or goes on with one does not. */
export function beginsTurn({ messages }: Pick<SendBody, "messages">): boolean {
  return (
    messages.some((item) => item.type === "message" && item.role === "user") &&
    !messages.some((item) => item.type === "approval")
  );
}

export interface MemoryUpdate {
  since: string;
  revision: string;
  /** For the model; empty when the difference does not concern it. */
  text: string;
}

/** What a conversation is told of its agent's memory instead of getting a new prompt, to keep the provider's cache. */
export async function findMemoryUpdate(
  context: LocalContext,
  ref: ConversationRef,
  body: SendBody,
): Promise<MemoryUpdate | null> {
  if (!context.memory || !beginsTurn(body) || body.override_system !== undefined) return null;
  const { key, agent_id } = getConversationRow(context, ref);
  const agent = getAgent(context, agent_id);
  const since = findStored(context, key, agent)?.memory_revision;
  if (!since) return null;
  try {
    if ((await context.memory.revision(agent)) === since) return null;
    const changed = await context.memory.changes(agent, since);
    const window = estimateEntries(loadWindow(context, key).entries);
    const isCheap = window >= SPARED_WINDOW_TOKENS && estimateTokens(changed?.text ?? "") <= window * UPDATE_SHARE;
    if (!changed || !isCheap) return null;
    return { since, ...changed };
  } catch (error) {
    warn(context, agent, error);
    return null;
  }
}

/** Inside the caller's transaction. False when another process has told it meanwhile. */
export function noteMemoryUpdate(context: LocalContext, key: string, { since, revision }: MemoryUpdate): boolean {
  const { changes } = context.db
    .query("UPDATE system_prompts SET memory_revision = ? WHERE conversation_key = ? AND memory_revision = ?")
    .run(revision, key, since);
  return changes > 0;
}

interface StoredPrompt {
  content: string;
  memory_revision: string | null;
}

function findStored(context: LocalContext, key: string, agent: AgentState): StoredPrompt | null {
  return context.db
    .query("SELECT content, memory_revision FROM system_prompts WHERE conversation_key = ? AND source_hash = ?")
    .get(key, sha256(agent.system)) as StoredPrompt | null;
}

async function isCurrent(context: LocalContext, agent: AgentState, stored: StoredPrompt): Promise<boolean> {
  if (!context.memory) return stored.memory_revision === null;
  try {
    return (await context.memory.revision(agent)) === stored.memory_revision;
  } catch (error) {
    warn(context, agent, error);
    return true;
  }
}

interface CompiledPrompt {
  content: string;
  revision: string | null;
}

/** Null when the memory cannot be read. */
async function compile(context: LocalContext, ref: ConversationRef, agent: AgentState): Promise<CompiledPrompt | null> {
  if (!context.memory) return { content: compilePrompt(agent.system), revision: null };
  try {
    const { revision, text } = await context.memory.compile(agent, ref.conversationId);
    return { content: compilePrompt(agent.system, text), revision };
  } catch (error) {
    warn(context, agent, error);
    return null;
  }
}

function save(context: LocalContext, key: string, agent: AgentState, { content, revision }: CompiledPrompt): void {
  durable(context.db, () =>
    context.db
      .query(
        `INSERT OR REPLACE INTO system_prompts (conversation_key, content, source_hash, compiled_at, memory_revision)
         VALUES (?, ?, ?, ?, ?)`,
      )
      .run(key, content, sha256(agent.system), context.isoNow(), revision),
  );
}

/** An agent without its memory is still better than none that answers. */
function warn(context: LocalContext, agent: AgentState, error: unknown): void {
  context.warnOnce(`The memory of ${agent.name} could not be read: ${errorMessage(error)}`);
}

/** The block behind the system prompt that lists what the client can load: one tree per folder, each skill with the
 *  first line of its description. `note` says what is missing. Empty when there are none. */
export function renderSkills(skills: ClientSkill[], note?: string): string {
  const byName = new Map(skills.map((skill) => [skill.name, skill]));
  if (byName.size === 0) return "";
  const byRoot = new Map<string, ClientSkill[]>();
  for (const skill of [...byName.values()].sort((a, b) => compare(a.name, b.name))) {
    const root = skillRoot(skill);
    byRoot.set(root, [...(byRoot.get(root) ?? []), skill]);
  }
  const trees = [...byRoot.entries()]
    .sort(([a], [b]) => compare(a, b))
    .map(([root, members]) => [root, ...renderTree(members)].join("\n"));
  if (note) trees.push(note);
  return `<available_skills>\n${trees.join("\n\n")}\n</available_skills>`;
}

/** `/skills/web/scraper/SKILL.md` of skill `web/scraper` lies below `/skills`. */
function skillRoot(skill: ClientSkill): string {
  const folder = skill.location.replace(/[\\/]SKILL\.md$/i, "");
  const suffix = `/${skill.name}`;
  return folder.replaceAll("\\", "/").endsWith(suffix) ? folder.slice(0, -suffix.length) : folder;
}

function renderTree(skills: ClientSkill[]): string[] {
  const lines: string[] = [];
  let shown: string[] = [];
  for (const skill of skills) {
    const path = skill.name.split("/");
    const folders = path.slice(0, -1);
    folders.forEach((folder, depth) => {
      if (shown.slice(0, depth + 1).join("/") !== folders.slice(0, depth + 1).join("/")) {
        lines.push(`${"  ".repeat(depth)}- ${folder}/`);
      }
    });
    shown = folders;
    const about = skill.description.trim().split("\n", 1)[0] ?? "";
    lines.push(`${"  ".repeat(folders.length)}- ${path.at(-1)}${about ? ` (${about})` : ""}`);
  }
  return lines;
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
