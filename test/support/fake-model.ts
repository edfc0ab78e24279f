// A model driven by hand: a real ModelAdapter whose replies are written in the test, with gates to stop at.

import {
  type ModelAdapter,
  type ModelAssistantMessage,
  type ModelEvent,
  type ModelRequest,
  type ModelToolCall,
  ProviderError,
} from "@/backend/model.ts";
import type { ModelRecord } from "@/backend/wire.ts";

/** Waits in the middle of a reply until the test opens it, or until the request is aborted. */
export class Gate {
  readonly #arrived = Promise.withResolvers<void>();
  readonly #opened = Promise.withResolvers<void>();
  /** Resolves when the reply came to this gate. */
  get arrived(): Promise<void> {
    return this.#arrived.promise;
  }
  open(): void {
    this.#opened.resolve();
  }
  async pass(signal: AbortSignal): Promise<void> {
    this.#arrived.resolve();
    if (signal.aborted) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    signal.addEventListener("abort", () => resolve(), { once: true });
    await Promise.race([this.#opened.promise, promise]);
  }
}

export type FakeStep = ModelEvent | Gate;
export type FakeReply = FakeStep[] | ((request: ModelRequest, signal: AbortSignal) => FakeStep[]);

export class FakeModel implements ModelAdapter {
  /** Copies of what was asked, in order. */
  readonly requests: ModelRequest[] = [];
  readonly signals: AbortSignal[] = [];
  readonly #replies: FakeReply[];
  record: ModelRecord;
  default: string | null = "fake/model";

  constructor(replies: FakeReply[] = [], record: Partial<ModelRecord> = {}) {
    this.#replies = [...replies];
    this.record = {
      handle: "fake/model",
      model: "model",
      display_name: "Fake",
      provider_type: "fake",
      provider_name: "fake",
      provider_category: "byok",
      max_context_window: 200_000,
      max_tokens: null,
      reasoning: false,
      vision: true,
      ...record,
    };
  }

  add(...replies: FakeReply[]): this {
    this.#replies.push(...replies);
    return this;
  }

  async *stream(request: ModelRequest, signal: AbortSignal): AsyncGenerator<ModelEvent> {
    this.requests.push(structuredClone({ ...request }));
    this.signals.push(signal);
    const reply = this.#replies.shift();
    if (!reply) throw new Error("the test gave no reply for this request");
    for (const step of typeof reply === "function" ? reply(request, signal) : reply) {
      if (step instanceof Gate) await step.pass(signal);
      if (signal.aborted) {
        const error = new ProviderError("cancelled", "The request was aborted", { retryable: false });
        yield { type: "error", error, partial: null };
        return;
      }
      if (!(step instanceof Gate)) yield step;
    }
  }

  async listModels(): Promise<ModelRecord[]> {
    return [this.record];
  }
  async resolveModel(handle: string): Promise<ModelRecord> {
    return { ...this.record, handle };
  }
  async defaultModel(): Promise<string | null> {
    return this.default;
  }
}

type Content = ModelAssistantMessage["content"];

export function message(content: Content, patch: Partial<ModelAssistantMessage> = {}): ModelAssistantMessage {
  const hasCall = content.some((part) => part.type === "toolCall");
  return {
    role: "assistant",
    content,
    api: "fake",
    provider: "fake",
    model: "model",
    usage: { input: 10, output: 5, cacheRead: 2, cacheWrite: 1, totalTokens: 18 },
    stopReason: hasCall ? "toolUse" : "stop",
    timestamp: 0,
    ...patch,
  };
}

export function call(id: string, name = "Bash", args: Record<string, unknown> = { command: id }): ModelToolCall {
  return { type: "toolCall", id, name, arguments: args };
}

/** A whole reply, each text and thinking in two deltas. */
export function reply(content: Content, patch: Partial<ModelAssistantMessage> = {}): FakeStep[] {
  const events = content.flatMap((part, index): ModelEvent[] => {
    if (part.type === "toolCall") {
      return [
        { type: "tool_start", index, id: part.id, name: part.name },
        { type: "tool_args", index, delta: JSON.stringify(part.arguments) },
        { type: "tool_end", index, call: part },
      ];
    }
    const text = part.type === "text" ? part.text : part.thinking;
    const half = Math.ceil(text.length / 2);
    return [text.slice(0, half), text.slice(half)].map((delta) => ({ type: part.type, index, delta }));
  });
  return [...events, { type: "done", message: message(content, patch) }];
}

export function say(text: string, patch: Partial<ModelAssistantMessage> = {}): FakeStep[] {
  return reply([{ type: "text", text }], patch);
}

export function fail(
  code: ConstructorParameters<typeof ProviderError>[0],
  options: Partial<ConstructorParameters<typeof ProviderError>[2]> = {},
): FakeStep[] {
  const error = new ProviderError(code, `it failed: ${code}`, { retryable: false, ...options });
  return [{ type: "error", error, partial: null }];
}
