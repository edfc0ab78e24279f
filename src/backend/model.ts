// What the local backend asks of a model provider. `providers/` implements it; the backend is handed an adapter and
// never imports a provider. The message shape is provider-neutral and is also the format of our message rows:
// signatures must survive verbatim, or thinking cannot be replayed.

import { LettaError, type LettaErrorOptions } from "@/lib/errors.ts";
import type { ModelRecord } from "./wire.ts";

/** No tool's arguments nest so deep. What arrives deeper counts as not arrived: writing it out again would recurse. */
export const MAX_ARGUMENT_DEPTH = 200;

export interface ModelText {
  type: "text";
  text: string;
  textSignature?: string;
}
export interface ModelThinking {
  type: "thinking";
  thinking: string;
  thinkingSignature?: string;
  redacted?: boolean;
}
export interface ModelImage {
  type: "image";
  /** Base64. */
  data: string;
  mimeType: string;
}
export interface ModelToolCall {
  type: "toolCall";
  id: string;
  name: string;
  arguments: Record<string, unknown>;
  thoughtSignature?: string;
  /** Set when the complete argument text was not a JSON object: it is never executed. Holds what arrived. */
  argumentsError?: string;
}

export interface ModelUsage {
  input: number;
  output: number;
  cacheRead: number;
  cacheWrite: number;
  /** Subset of `output`. */
  reasoning?: number;
  totalTokens: number;
  /** US dollars; absent when the model has no known price. */
  costUsd?: number;
}

export interface ModelUserMessage {
  role: "user";
  content: string | (ModelText | ModelImage)[];
  /** Milliseconds since the epoch. */
  timestamp: number;
}
export interface ModelAssistantMessage {
  role: "assistant";
  content: (ModelText | ModelThinking | ModelToolCall)[];
  api: string;
  provider: string;
  model: string;
  responseModel?: string;
  responseId?: string;
  usage: ModelUsage;
  /** `error` and `aborted` messages hold what had arrived. */
  stopReason: "stop" | "length" | "toolUse" | "error" | "aborted";
  errorMessage?: string;
  timestamp: number;
}
export interface ModelToolResult {
  role: "toolResult";
  toolCallId: string;
  toolName: string;
  content: (ModelText | ModelImage)[];
  isError: boolean;
  timestamp: number;
}
export type ModelMessage = ModelUserMessage | ModelAssistantMessage | ModelToolResult;

export interface ModelTool {
  name: string;
  description: string;
  /** JSON Schema of type object. */
  parameters: Record<string, unknown>;
}

export interface ModelRequest {
  /** `provider/model`. */
  handle: string;
  system: string;
  messages: ModelMessage[];
  tools: ModelTool[];
  /** Conversation id: keeps a provider's prompt cache warm. */
  sessionId: string;
  /** The agent's model_settings, as several generations of clients wrote them; only the adapter reads their keys (output
   *  limit, reasoning level, sampling). */
  settings?: Record<string, unknown>;
}

/** Ends with exactly one `done` or `error`. `index` is the position in the final message's content. */
export type ModelEvent =
  | { type: "text"; index: number; delta: string }
  | { type: "thinking"; index: number; delta: string }
  | { type: "tool_start"; index: number; id: string; name: string }
  | { type: "tool_args"; index: number; delta: string }
  /** Only after the complete arguments arrived. */
  | { type: "tool_end"; index: number; call: ModelToolCall }
  | { type: "done"; message: ModelAssistantMessage }
  /** `partial` holds what had arrived, without incomplete tool calls; null when nothing had. */
  | { type: "error"; error: ProviderError; partial: ModelAssistantMessage | null };

export interface ModelAdapter {
  /** Never throws from iteration: failures are an `error` event. An aborted signal closes the socket at once and ends
   *  with an `error` event whose code is `cancelled`. Does not retry: the engine owns the one retry budget. */
  stream(request: ModelRequest, signal: AbortSignal): AsyncIterable<ModelEvent>;
  /** Models of all connected providers. Unreachable local servers are left out, never an exception. */
  listModels(): Promise<ModelRecord[]>;
  /** The record of one handle. Throws `not_found` (with the nearest names) or `no_provider`. Never guesses a context
   *  window: `max_context_window` is null when neither the catalogue, the endpoint nor the user said it. */
  resolveModel(handle: string): Promise<ModelRecord>;
  /** The handle to use when nobody chose one, null when nothing is connected. */
  defaultModel(): Promise<string | null>;
}

/** A failed model call. Everything is decided where the response was at hand. */
export class ProviderError extends LettaError {
  override name = "ProviderError";
  /** HTTP status; absent when there was no response. */
  readonly status?: number;
  /** Sending the same request again may help. */
  readonly retryable: boolean;
  /** The provider's own wish. */
  readonly retryAfterMs?: number;

  constructor(
    code:
      | "auth"
      | "no_provider"
      | "not_found"
      | "rate_limit"
      | "quota"
      | "context_overflow"
      | "provider"
      | "stream_cut"
      | "network"
      | "cancelled",
    message: string,
    options: LettaErrorOptions & { status?: number; retryable: boolean; retryAfterMs?: number },
  ) {
    super(code, message, options);
    this.retryable = options.retryable;
    if (options.status !== undefined) this.status = options.status;
    if (options.retryAfterMs !== undefined) this.retryAfterMs = options.retryAfterMs;
  }
}

/** How to get a model when there is none. */
export const CONNECT_HINT =
  "Connect one: `letta connect <provider>`, set a key such as ANTHROPIC_API_KEY or OPENAI_API_KEY, or start a local server (Ollama, LM Studio, llama.cpp). `letta demo` needs none.";

export function noProviderError(): ProviderError {
  return new ProviderError("no_provider", "no model is connected", { retryable: false, hint: CONNECT_HINT });
}

/** A quarter of the UTF-8 bytes (spec 02 §3.6). For ASCII that is the usual four characters a token; Chinese, three bytes
 *  a character, is not underestimated fourfold as it would be by counting characters. */
export function estimateTokens(text: string): number {
  return Math.ceil(Buffer.byteLength(text) / 4);
}
