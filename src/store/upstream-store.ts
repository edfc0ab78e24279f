// Reads the local store of the other Letta client (`~/.letta/lc-local-backend`): one JSON file per agent, one folder
// per conversation with an append-only JSONL transcript. Read-only: the files belong to a program that may be running.
// What does not parse becomes a problem and is left out; a torn last line is normal after a crash.

import type { Dirent } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import * as v from "valibot";
import { LettaError, systemReason } from "@/lib/errors.ts";
import { parseJson } from "@/lib/json.ts";
import { describeIssue } from "@/lib/schema-issue.ts";
import { parseTranscript, type UpstreamMessage } from "./upstream-transcript.ts";

export interface UpstreamAgent {
  id: string;
  name: string;
  description: string | null;
  system: string;
  tags: string[];
  /** "" when the other client chose at run time. */
  model: string;
  modelSettings: Record<string, unknown>;
  contextWindowLimit: number | null;
  hidden: boolean;
  compactionSettings: Record<string, unknown> | null;
}

export interface UpstreamConversation {
  /** `default` for the main thread of `agentId`. */
  id: string;
  agentId: string;
  summary: string | null;
  archivedAt: string | null;
  hidden: boolean;
  tags: string[];
  model: string | null;
  modelSettings: Record<string, unknown> | null;
  contextWindowLimit: number | null;
  createdAt: string | null;
  updatedAt: string | null;
  lastMessageAt: string | null;
  /** History first, then the window in its own order. */
  messages: UpstreamMessage[];
  /** Ids of the window; null when everything is in it. */
  windowIds: string[] | null;
}

export interface UpstreamProblem {
  file: string;
  message: string;
}

/** Throws `not_found` when there is no such store. */
export async function listUpstreamAgents(root: string, problems: UpstreamProblem[]): Promise<UpstreamAgent[]> {
  const agents: UpstreamAgent[] = [];
  for (const entry of await listFolder(join(root, "agents"), root)) {
    if (!entry.isFile() || !entry.name.endsWith(".json") || entry.name.startsWith("._")) continue;
    const file = join(root, "agents", entry.name);
    const record = await readRecord(file, AgentSchema, problems);
    if (record) agents.push(toAgent(record));
  }
  return agents;
}

/** One conversation at a time, so that memory holds only one transcript. */
export async function* readUpstreamConversations(
  root: string,
  problems: UpstreamProblem[],
): AsyncGenerator<UpstreamConversation> {
  for (const entry of await listFolder(join(root, "conversations"))) {
    if (!entry.isDirectory() || entry.name.startsWith("._")) continue;
    const folder = join(root, "conversations", entry.name);
    const record = await readRecord(join(folder, "conversation.json"), ConversationSchema, problems);
    if (!record) continue;
    const transcript = await readTranscript(folder, problems);
    if (transcript === null) continue;
    yield { ...toConversation(record, entry.name), ...orderMessages(transcript, record.in_context_message_ids) };
  }
}

const JsonObject = v.record(v.string(), v.unknown());

const AgentSchema = v.object({
  id: v.string(),
  name: v.nullish(v.string(), "Letta Code"),
  description: v.nullish(v.string(), null),
  system: v.nullish(v.string(), ""),
  tags: v.nullish(v.array(v.string()), []),
  model: v.nullish(v.string(), ""),
  model_settings: v.nullish(JsonObject, {}),
  context_window_limit: v.nullish(v.number(), null),
  compaction_settings: v.nullish(JsonObject, null),
  hidden: v.nullish(v.boolean()),
  /** How older versions said it. */
  llm_config: v.nullish(
    v.object({
      context_window: v.nullish(v.number()),
      model: v.nullish(v.string()),
      model_endpoint_type: v.nullish(v.string()),
    }),
  ),
});

const ConversationSchema = v.object({
  id: v.nullish(v.string()),
  agent_id: v.string(),
  archived: v.nullish(v.boolean(), false),
  archived_at: v.nullish(v.string(), null),
  created_at: v.nullish(v.string(), null),
  updated_at: v.nullish(v.string(), null),
  last_message_at: v.nullish(v.string(), null),
  summary: v.nullish(v.string(), null),
  in_context_message_ids: v.nullish(v.array(v.string()), []),
  model: v.nullish(v.string(), null),
  model_settings: v.nullish(JsonObject, null),
  context_window_limit: v.nullish(v.number(), null),
  hidden: v.nullish(v.boolean(), false),
  tags: v.nullish(v.array(v.string()), []),
});

const ManifestSchema = v.object({ schema_version: v.number(), message_format: v.string() });

/** What the other client wrote where nobody had chosen a window; its own reader replaces it as well. */
const LEGACY_CONTEXT_WINDOW = 128_000;

function toAgent(record: v.InferOutput<typeof AgentSchema>): UpstreamAgent {
  const { llm_config: old } = record;
  const oldModel = old?.model && old.model_endpoint_type ? `${old.model_endpoint_type}/${old.model}` : "";
  const model = record.model || oldModel;
  const limit = record.context_window_limit ?? old?.context_window ?? null;
  return {
    id: record.id,
    name: record.name,
    description: record.description,
    system: record.system,
    tags: record.tags,
    model: model === "auto" || model.startsWith("letta/") ? "" : model,
    modelSettings: record.model_settings,
    contextWindowLimit: limit === LEGACY_CONTEXT_WINDOW ? null : limit,
    hidden: record.hidden ?? record.tags.includes("role:subagent"),
    compactionSettings: record.compaction_settings,
  };
}

function toConversation(
  record: v.InferOutput<typeof ConversationSchema>,
  folderName: string,
): Omit<UpstreamConversation, "messages" | "windowIds"> {
  const key = Buffer.from(folderName, "base64url").toString();
  const id = key.startsWith("default:") ? "default" : (record.id ?? key.replace(/^conversation:/, ""));
  return {
    id,
    agentId: record.agent_id,
    summary: record.summary,
    archivedAt: record.archived ? (record.archived_at ?? record.updated_at) : null,
    hidden: record.hidden,
    tags: record.tags,
    model: record.model,
    modelSettings: record.model_settings,
    contextWindowLimit: record.context_window_limit,
    createdAt: record.created_at,
    updatedAt: record.updated_at,
    lastMessageAt: record.last_message_at,
  };
}

/** Null, with a problem, when the format is not one we can read without losing something. */
async function readTranscript(folder: string, problems: UpstreamProblem[]): Promise<UpstreamMessage[] | null> {
  const file = join(folder, "messages.jsonl");
  const text = await readText(file);
  if (text === null || text.trim() === "") return [];
  const manifest = await readText(join(folder, "manifest.json"));
  const format = manifest === null ? null : v.safeParse(ManifestSchema, parseJson(manifest));
  const known = format?.success && [1, 2].includes(format.output.schema_version);
  if (!known) {
    const what = format === null ? "has no manifest: its format is too old" : "has an unsupported format";
    problems.push({ file, message: `${what}; open it once with the client that wrote it, then import again` });
    return null;
  }
  const transcript = parseTranscript(text);
  for (const message of transcript.problems) problems.push({ file, message });
  return transcript.messages;
}

/** The window goes last in its own order: what is not in it was compacted away and is older. */
function orderMessages(
  messages: UpstreamMessage[],
  windowIds: string[],
): Pick<UpstreamConversation, "messages" | "windowIds"> {
  const byId = new Map(messages.map((message) => [message.id, message]));
  const window = [...new Set(windowIds)].flatMap((id) => byId.get(id) ?? []);
  if (window.length === 0 || window.length === messages.length) {
    return { messages: window.length === 0 ? messages : window, windowIds: null };
  }
  const inWindow = new Set(window);
  const history = messages.filter((message) => !inWindow.has(message));
  return { messages: [...history, ...window], windowIds: window.map(({ id }) => id) };
}

async function readRecord<Schema extends v.GenericSchema>(
  file: string,
  schema: Schema,
  problems: UpstreamProblem[],
): Promise<v.InferOutput<Schema> | null> {
  const text = await readText(file);
  const value = text === null ? undefined : parseJson(text);
  const result = value === undefined ? null : v.safeParse(schema, value);
  if (result?.success) return result.output;
  const issue = result?.issues[0];
  const what = issue ? describeIssue(issue) : text === null ? "cannot be read" : "is not JSON";
  problems.push({ file, message: `left out: ${what}` });
  return null;
}

/** An empty list for a missing folder, unless `mustBe` names the store that has to exist. */
async function listFolder(folder: string, mustBe?: string): Promise<Dirent[]> {
  try {
    const entries = await readdir(folder, { withFileTypes: true });
    return entries.sort((a, b) => (a.name < b.name ? -1 : 1));
  } catch (error) {
    if (mustBe === undefined) return [];
    throw new LettaError("not_found", `no local store to import in ${mustBe}: ${systemReason(error)}`, {
      cause: error,
      hint: "Name its folder: letta import FOLDER (it holds agents/ and conversations/).",
    });
  }
}

async function readText(file: string): Promise<string | null> {
  try {
    return await readFile(file, "utf8");
  } catch {
    return null; // missing or unreadable: the caller decides whether that matters
  }
}
