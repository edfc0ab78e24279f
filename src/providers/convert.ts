// Our stored messages ↔ pi-ai's. The shapes are nearly the same on purpose; what this file adds is what providers
// insist on: no empty text, no result without its call, a user or tool message at the end. Signatures pass untouched.

import type { AssistantMessage, Message, ToolCall, Usage } from "@earendil-works/pi-ai";
import type {
  ModelAssistantMessage,
  ModelImage,
  ModelMessage,
  ModelText,
  ModelToolCall,
  ModelToolResult,
  ModelUsage,
  ModelUserMessage,
} from "@/backend/model.ts";

/** What a request may carry. */
export function toPiMessages(messages: ModelMessage[]): Message[] {
  const answered = new Set(messages.flatMap((message) => (message.role === "toolResult" ? [message.toolCallId] : [])));
  const asked = new Set<string>();
  const out: Message[] = [];
  for (const message of messages) {
    const converted = convert(message, answered, asked);
    if (converted !== null) out.push(converted);
  }
  while (out.at(-1)?.role === "assistant") out.pop();
  return out;
}

/** `calls` replaces pi-ai's tool calls, by content index: their arguments were checked against the raw text. */
export function fromPiMessage(
  message: AssistantMessage,
  options: { calls: Map<number, ModelToolCall>; priced: boolean; stopReason: ModelAssistantMessage["stopReason"] },
): ModelAssistantMessage {
  const content: ModelAssistantMessage["content"] = [];
  message.content.forEach((block, index) => {
    if (block.type === "toolCall") {
      const call = options.calls.get(index);
      if (call !== undefined) content.push(call);
    } else if (block.type === "text") {
      content.push({ type: "text", text: textOf(block.text), ...defined({ textSignature: block.textSignature }) });
    } else {
      const { thinking, thinkingSignature, redacted } = block;
      content.push({ type: "thinking", thinking: textOf(thinking), ...defined({ thinkingSignature, redacted }) });
    }
  });
  return {
    role: "assistant",
    content,
    api: message.api,
    provider: message.provider,
    model: message.model,
    ...defined({ responseModel: message.responseModel, responseId: message.responseId }),
    usage: fromPiUsage(message.usage, options.priced),
    stopReason: options.stopReason,
    ...defined({ errorMessage: options.stopReason === "error" ? message.errorMessage : undefined }),
    timestamp: message.timestamp,
  };
}

/** pi-ai passes on what the server sent, whatever its type. */
function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

/** OpenAI's Responses API glues the item's id to the call's; only the call's is the protocol's. */
export function toolCallId({ id }: Pick<ToolCall, "id">, api: string): string {
  // Servers send numbers and nulls, too. The backend gives a call without an id one of its own.
  if (typeof id !== "string") return "";
  return api === "openai-responses" ? (id.split("|")[0] ?? id) : id;
}

/** The strictest of the providers. */
const MAX_NAME_CHARS = 64;
/** More than any model reads in its life; sums of it stay whole numbers. */
const MAX_TOKEN_COUNT = 1e12;
const EMPTY_RESULT = "(no output)";

function convert(message: ModelMessage, answered: Set<string>, asked: Set<string>): Message | null {
  switch (message.role) {
    case "user":
      return convertUser(message);
    case "toolResult":
      return asked.has(message.toolCallId) ? convertResult(message) : null;
    case "assistant": {
      const converted = convertAssistant(message, answered);
      for (const block of converted?.content ?? []) if (block.type === "toolCall") asked.add(block.id);
      return converted;
    }
  }
}

function convertUser({ content, timestamp }: ModelUserMessage): Message | null {
  if (typeof content === "string") return content.trim() === "" ? null : { role: "user", content, timestamp };
  const kept = content.filter(hasContent);
  return kept.length === 0 ? null : { role: "user", content: kept, timestamp };
}

function convertResult({ toolCallId: id, toolName, content, isError, timestamp }: ModelToolResult): Message {
  const kept = content.filter(hasContent);
  const filled = kept.length === 0 ? [{ type: "text" as const, text: EMPTY_RESULT }] : kept;
  return { role: "toolResult", toolCallId: id, toolName: requestName(toolName), content: filled, isError, timestamp };
}

/** A model may call a tool by any name, even none; providers refuse whole conversations that hold such a one. */
function requestName(name: string): string {
  return name.replace(/[^A-Za-z0-9_-]/g, "_").slice(0, MAX_NAME_CHARS) || "unnamed";
}

/** pi-ai leaves interrupted messages out of requests. What had arrived whole belongs there: the model should know what
 *  it already said. Unsigned thinking and calls that were never answered do not. */
function convertAssistant(message: ModelAssistantMessage, answered: Set<string>): AssistantMessage | null {
  const interrupted = message.stopReason === "error" || message.stopReason === "aborted";
  const content = message.content.flatMap((block): AssistantMessage["content"] => {
    if (block.type === "toolCall") {
      if (interrupted && !answered.has(block.id)) return [];
      const { argumentsError: _, ...call } = block;
      return [{ ...(call as ToolCall), name: requestName(block.name) }];
    }
    if (block.type === "text") return block.text.trim() !== "" || block.textSignature !== undefined ? [block] : [];
    return interrupted && block.thinkingSignature === undefined ? [] : [block];
  });
  if (!content.some((block) => block.type !== "thinking")) return null;
  const { input, output, cacheRead, cacheWrite, totalTokens } = message.usage;
  return {
    role: "assistant",
    content,
    api: message.api,
    provider: message.provider,
    model: message.model,
    ...defined({ responseModel: message.responseModel, responseId: message.responseId }),
    usage: { input, output, cacheRead, cacheWrite, totalTokens, cost: NO_COST },
    stopReason: content.some((block) => block.type === "toolCall") ? "toolUse" : "stop",
    timestamp: message.timestamp,
  };
}

const NO_COST = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 };

/** What servers count is theirs to get wrong: some send text, null or less than nothing. */
function fromPiUsage(usage: Usage, priced: boolean): ModelUsage {
  const input = toCount(usage.input);
  const output = toCount(usage.output);
  const cacheRead = toCount(usage.cacheRead);
  const cacheWrite = toCount(usage.cacheWrite);
  const totalTokens = toCount(usage.totalTokens) || input + output + cacheRead + cacheWrite;
  const cost = usage.cost.total > 0 && Number.isFinite(usage.cost.total) ? usage.cost.total : 0;
  return {
    input,
    output,
    cacheRead,
    cacheWrite,
    totalTokens,
    ...defined({ reasoning: toCount(usage.reasoning) || undefined, costUsd: priced || cost > 0 ? cost : undefined }),
  };
}

function toCount(value: unknown): number {
  if (typeof value !== "number" || !(value > 0)) return 0;
  return Math.min(Math.round(value), MAX_TOKEN_COUNT);
}

function hasContent(part: ModelText | ModelImage): boolean {
  return part.type === "image" || part.text.trim() !== "";
}

function defined<T extends Record<string, unknown>>(fields: T): { [K in keyof T]?: NonNullable<T[K]> } {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]?: NonNullable<T[K]>;
  };
}
