// A model that follows a script instead of thinking: for `letta demo` and for tests that need no wire. It streams like
// a real one, in small pieces, and a step may look at the request, for example at what a tool returned.

import {
  estimateTokens,
  type ModelAdapter,
  type ModelAssistantMessage,
  type ModelEvent,
  type ModelRequest,
  type ModelToolCall,
  ProviderError,
} from "@/backend/model.ts";
import type { ModelRecord } from "@/backend/wire.ts";
import { wait } from "@/lib/abort.ts";

export interface ScriptedStep {
  thinking?: string;
  text?: string;
  tools?: { name: string; args: Record<string, unknown> }[];
}

export interface ScriptedOptions {
  /** Wait before each word of text. Default 0. */
  wordDelayMs?: number;
  now?: () => number;
}

export const SCRIPTED_HANDLE = "scripted/stand-in";

/** One entry per model call, in order. After the last one every call answers with an empty farewell. */
export function createScriptedAdapter(
  steps: (ScriptedStep | ((request: ModelRequest) => ScriptedStep))[],
  { wordDelayMs = 0, now = Date.now }: ScriptedOptions = {},
): ModelAdapter {
  let calls = 0;
  return {
    async *stream(request, signal) {
      const index = calls++;
      const entry = steps[index] ?? { text: "(The script has ended.)" };
      const step = typeof entry === "function" ? entry(request) : entry;
      yield* play(step, { index, wordDelayMs, now, signal, inputTokens: estimateTokens(JSON.stringify(request)) });
    },
    listModels: async () => [RECORD],
    async resolveModel(handle) {
      if (handle === SCRIPTED_HANDLE) return RECORD;
      throw new ProviderError("not_found", `there is no model ${handle}`, { retryable: false });
    },
    defaultModel: async () => SCRIPTED_HANDLE,
  };
}

const RECORD: ModelRecord = {
  handle: SCRIPTED_HANDLE,
  model: "stand-in",
  display_name: "Scripted stand-in",
  provider_type: "scripted",
  provider_name: "scripted",
  provider_category: "base",
  max_context_window: 200_000,
  max_tokens: 8_000,
  reasoning: false,
  vision: false,
};

interface Playback {
  index: number;
  wordDelayMs: number;
  now: () => number;
  signal: AbortSignal;
  inputTokens: number;
}

async function* play(step: ScriptedStep, playback: Playback): AsyncGenerator<ModelEvent> {
  const message: ModelAssistantMessage = {
    role: "assistant",
    content: [],
    api: "scripted",
    provider: "scripted",
    model: RECORD.model,
    usage: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, totalTokens: 0, costUsd: 0 },
    stopReason: step.tools?.length ? "toolUse" : "stop",
    timestamp: playback.now(),
  };
  for (const type of ["thinking", "text"] as const) {
    const whole = step[type];
    if (!whole) continue;
    const index = message.content.length;
    let said = "";
    message.content.push(block(type, said));
    for (const delta of whole.split(/(?<=\s)/)) {
      if (!(await pause(playback))) return yield cancelled(message);
      said += delta;
      message.content[index] = block(type, said);
      yield { type, index, delta };
    }
  }
  for (const [position, { name, args }] of (step.tools ?? []).entries()) {
    if (!(await pause(playback))) return yield cancelled(message);
    const index = message.content.length;
    const call: ModelToolCall = { type: "toolCall", id: `call_${playback.index}_${position}`, name, arguments: args };
    yield { type: "tool_start", index, id: call.id, name };
    yield { type: "tool_args", index, delta: JSON.stringify(args) };
    yield { type: "tool_end", index, call };
    message.content.push(call);
  }
  const output = estimateTokens(JSON.stringify(message.content));
  const { inputTokens: input } = playback;
  message.usage = { ...message.usage, input, output, totalTokens: input + output };
  yield { type: "done", message };
}

function block(type: "thinking" | "text", text: string): ModelAssistantMessage["content"][number] {
  return type === "thinking" ? { type, thinking: text } : { type, text };
}

/** False when the turn was aborted. */
async function pause({ wordDelayMs, signal }: Playback): Promise<boolean> {
  if (wordDelayMs > 0) await wait(wordDelayMs, signal);
  return !signal.aborted;
}

function cancelled(message: ModelAssistantMessage): ModelEvent {
  const partial = message.content.length > 0 ? ({ ...message, stopReason: "aborted" } as const) : null;
  return { type: "error", error: new ProviderError("cancelled", "cancelled", { retryable: false }), partial };
}
