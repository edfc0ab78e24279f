// One transcript of the other client: JSON lines, append-only, where a later row with the same message id replaces the
// earlier snapshot. Pure: text in, messages in the shape of our own rows out. Signatures are kept verbatim, because
// without them thinking cannot be replayed to a provider.

import * as v from "valibot";
import type { ModelAssistantMessage, ModelMessage } from "@/backend/model.ts";
import { parseJson } from "@/lib/json.ts";
import { describeIssue } from "@/lib/schema-issue.ts";

export interface UpstreamMessage {
  id: string;
  /** Summary a compaction left in place of older messages. */
  kind: "message" | "summary";
  otid: string | null;
  /** The reply was cut: by an error or by the user. */
  interrupted: boolean;
  createdAt: string;
  body: ModelMessage;
  /** Of a `summary`: its text and the numbers the other client noted. */
  compaction: { summary: string; stats: Record<string, unknown> } | null;
}

export interface Transcript {
  messages: UpstreamMessage[];
  /** For people: what was left out and where. */
  problems: string[];
}

/** Reads both layouts: rows of `{type, message}`, and one bare message per line (version 1). */
export function parseTranscript(text: string): Transcript {
  const messages = new Map<string, UpstreamMessage>();
  const problems: string[] = [];
  const lines = text.split("\n");
  let lastTime = 0;
  for (const [index, line] of lines.entries()) {
    if (line.trim() === "") continue;
    const row = parseJson(line);
    if (row === undefined) {
      // Only a write that was cut leaves a last line without its newline.
      const torn = index === lines.length - 1;
      problems.push(`line ${index + 1} is not JSON and was left out${torn ? " (a write was cut there)" : ""}`);
      continue;
    }
    if (typeof row === "object" && row !== null && "type" in row && row.type === "session") continue;
    const result = v.safeParse(RowSchema, row);
    if (!result.success) {
      problems.push(`line ${index + 1} was left out: ${describeIssue(result.issues[0])}`);
      continue;
    }
    const message = toMessage(result.output, lastTime);
    lastTime = message.body.timestamp;
    // Deleting first moves the newer snapshot to the end.
    messages.delete(message.id);
    messages.set(message.id, message);
  }
  const paired = pairResults([...messages.values()]);
  const orphans = messages.size - paired.length;
  if (orphans > 0) problems.push(`${orphans} tool results without their call were left out`);
  return { messages: paired, problems };
}

const Text = v.object({ type: v.literal("text"), text: v.string(), textSignature: v.optional(v.string()) });
const Image = v.object({ type: v.literal("image"), mimeType: v.string(), data: v.string() });
const Thinking = v.object({
  type: v.literal("thinking"),
  thinking: v.string(),
  thinkingSignature: v.optional(v.string()),
  redacted: v.optional(v.boolean()),
});
const ToolCall = v.object({
  type: v.literal("toolCall"),
  id: v.string(),
  name: v.string(),
  arguments: v.nullish(v.record(v.string(), v.unknown()), {}),
  thoughtSignature: v.optional(v.string()),
});
const Usage = v.object({
  input: v.fallback(v.number(), 0),
  output: v.fallback(v.number(), 0),
  cacheRead: v.fallback(v.number(), 0),
  cacheWrite: v.fallback(v.number(), 0),
  reasoning: v.optional(v.number()),
  totalTokens: v.fallback(v.number(), 0),
  cost: v.nullish(v.object({ total: v.nullish(v.number()) })),
});
const CompactionSchema = v.object({
  summary: v.nullish(v.string(), ""),
  stats: v.nullish(v.record(v.string(), v.unknown()), {}),
});
const Metadata = v.nullish(v.object({ created_at: v.nullish(v.string()), compaction: v.nullish(CompactionSchema) }));

const shared = { id: v.string(), timestamp: v.nullish(v.number()), metadata: Metadata };
const MessageSchema = v.variant("role", [
  v.object({
    ...shared,
    role: v.literal("user"),
    content: v.union([v.string(), v.array(v.variant("type", [Text, Image]))]),
    otid: v.nullish(v.string()),
  }),
  v.object({
    ...shared,
    role: v.literal("assistant"),
    content: v.array(v.variant("type", [Text, Thinking, ToolCall])),
    api: v.nullish(v.string(), ""),
    provider: v.nullish(v.string(), ""),
    model: v.nullish(v.string(), ""),
    responseModel: v.nullish(v.string()),
    responseId: v.nullish(v.string()),
    usage: v.nullish(Usage),
    stopReason: v.fallback(v.picklist(["stop", "length", "toolUse", "error", "aborted"]), "stop"),
    errorMessage: v.nullish(v.string()),
  }),
  v.object({
    ...shared,
    role: v.literal("toolResult"),
    toolCallId: v.string(),
    toolName: v.nullish(v.string(), ""),
    content: v.union([
      v.array(v.variant("type", [Text, Image])),
      v.pipe(
        v.string(),
        v.transform((text) => [{ type: "text" as const, text }]),
      ),
    ]),
    isError: v.nullish(v.boolean(), false),
  }),
]);

const RowSchema = v.union([
  v.object({
    type: v.picklist(["message", "compaction"]),
    timestamp: v.nullish(v.string()),
    summary: v.nullish(v.string()),
    message: MessageSchema,
  }),
  v.pipe(
    MessageSchema,
    v.transform((message) => ({ type: "message" as const, timestamp: null, summary: null, message })),
  ),
]);
type Row = v.InferOutput<typeof RowSchema>;
type RowMessage = Row["message"];

/** A message without a time of its own gets that of the one before it. */
function toMessage({ type, timestamp, summary, message }: Row, lastTime: number): UpstreamMessage {
  const time = message.timestamp ?? Date.parse(message.metadata?.created_at ?? timestamp ?? "");
  const at = Number.isFinite(time) ? time : lastTime;
  const noted = message.metadata?.compaction ?? (type === "compaction" ? { summary: summary ?? "", stats: {} } : null);
  const cut = message.role === "assistant" && (message.stopReason === "error" || message.stopReason === "aborted");
  return {
    id: message.id,
    kind: noted ? "summary" : "message",
    otid: (message.role === "user" && message.otid) || null,
    interrupted: cut,
    createdAt: message.metadata?.created_at ?? new Date(at).toISOString(),
    body: toBody(message, at),
    compaction: noted && { summary: noted.summary || (summary ?? ""), stats: noted.stats },
  };
}

function toBody(message: RowMessage, timestamp: number): ModelMessage {
  switch (message.role) {
    case "user":
      return { role: "user", content: message.content, timestamp };
    case "toolResult":
      return {
        role: "toolResult",
        toolCallId: message.toolCallId,
        toolName: message.toolName,
        content: message.content,
        isError: message.isError,
        timestamp,
      };
    case "assistant":
      return {
        role: "assistant",
        content: message.content,
        api: message.api,
        provider: message.provider,
        model: message.model,
        ...(message.responseModel ? { responseModel: message.responseModel } : {}),
        ...(message.responseId ? { responseId: message.responseId } : {}),
        usage: toUsage(message.usage),
        stopReason: message.stopReason,
        ...(message.errorMessage ? { errorMessage: message.errorMessage } : {}),
        timestamp,
      };
  }
}

function toUsage(usage: v.InferOutput<typeof Usage> | null | undefined): ModelAssistantMessage["usage"] {
  if (!usage) return { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, totalTokens: 0 };
  const { cost, reasoning, ...counts } = usage;
  return {
    ...counts,
    ...(reasoning === undefined ? {} : { reasoning }),
    ...(typeof cost?.total === "number" ? { costUsd: cost.total } : {}),
  };
}

/** A result counts only directly after the reply that holds its call; calls of failed replies were never run. Results
 *  get exactly their call's id, and an id used twice in a conversation gets a number. */
function pairResults(messages: UpstreamMessage[]): UpstreamMessage[] {
  const used = new Set<string>();
  let open = new Map<string, string>();
  return messages.flatMap((message): UpstreamMessage[] => {
    const { body, interrupted } = message;
    if (body.role === "user") open.clear();
    if (body.role === "assistant") {
      const calls = new Map<string, string>();
      const content = body.content.map((part) => {
        if (part.type !== "toolCall") return part;
        const id = uniqueId(part.id, used);
        calls.set(callId(part.id), id);
        return id === part.id ? part : { ...part, id };
      });
      open = interrupted ? new Map() : calls;
      return [{ ...message, body: { ...body, content } }];
    }
    if (body.role !== "toolResult") return [message];
    const toolCallId = open.get(callId(body.toolCallId));
    if (toolCallId === undefined) return [];
    open.delete(callId(body.toolCallId));
    return [{ ...message, body: { ...body, toolCallId } }];
  });
}

function uniqueId(id: string, used: Set<string>): string {
  let unique = id;
  for (let count = 2; used.has(unique); count++) unique = `${id}-${count}`;
  used.add(unique);
  return unique;
}

/** Some providers append their own item id after a bar; the part before it identifies the call. */
function callId(id: string): string {
  return id.split("|", 1)[0] ?? id;
}
