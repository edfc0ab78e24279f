// Reads the chunks of one run: shows what people should see at once and collects what the turn needs to go on.

import { toErrorCode } from "@/backend/error-types.ts";
import type { StopReason, StreamChunk, UsageStatistics, WireError } from "@/backend/wire.ts";
import type { EngineEvent, StreamPosition, TurnError } from "./events.ts";

export interface PendingCall {
  toolCallId: string;
  name: string;
  argumentsText: string;
}

export interface StepOutcome {
  runId: string;
  /** `error` when the stream ended without saying why. */
  stopReason: StopReason;
  /** In call order. */
  calls: PendingCall[];
  usage: UsageStatistics | null;
  /** Text of this step. */
  text: string;
  /** The backend answered: it has stored what was sent. */
  accepted: boolean;
  error: (TurnError & { retryAfterMs?: number }) | null;
}

/** Throws only what iterating the stream throws. */
export async function drainStream(
  chunks: AsyncIterable<StreamChunk>,
  turnId: string,
  emit: (event: EngineEvent) => Promise<void>,
): Promise<StepOutcome> {
  const calls = new Map<string, PendingCall>();
  const outcome: StepOutcome = {
    runId: "",
    stopReason: "error",
    calls: [],
    usage: null,
    text: "",
    accepted: false,
    error: null,
  };
  let stopped = false;
  for await (const chunk of chunks) {
    outcome.accepted = true;
    if (chunk.run_id) outcome.runId = chunk.run_id;
    switch (chunk.message_type) {
      case "assistant_message": {
        const text =
          typeof chunk.content === "string" ? chunk.content : chunk.content.map((part) => part.text).join("");
        outcome.text += text;
        await emit({ type: "text_delta", turnId, text, ...position(chunk) });
        break;
      }
      case "reasoning_message":
        await emit({ type: "reasoning_delta", turnId, text: chunk.reasoning, ...position(chunk) });
        break;
      case "approval_request_message":
        addFragment(calls, chunk.tool_call);
        break;
      case "tool_return_message":
        calls.delete(chunk.tool_call_id);
        break;
      case "summary_message":
        await emit({
          type: "compaction",
          turnId,
          trigger: chunk.compaction_stats?.trigger ?? "context_window_limit",
          summary: chunk.summary,
          stats: chunk.compaction_stats ?? null,
          messageId: chunk.id,
        });
        break;
      case "error_message":
        outcome.error = fromWireError(chunk);
        break;
      case "stop_reason":
        outcome.stopReason = chunk.stop_reason;
        stopped = true;
        break;
      case "usage_statistics":
        outcome.usage = toUsage(chunk);
        break;
      case "event_message":
      case "user_message":
      case "system_message":
      case "tool_call_message":
      case "approval_response_message":
      case "ping":
        break;
    }
  }
  if (!stopped && !outcome.error) {
    outcome.error = {
      code: "stream_cut",
      message: "The response stream ended before it was complete",
      retryable: true,
    };
  }
  outcome.calls = [...calls.values()];
  return outcome;
}

/** Some servers stream argument fragments: names overwrite, arguments concatenate. */
function addFragment(
  calls: Map<string, PendingCall>,
  call: { tool_call_id: string; name: string; arguments: string },
): void {
  const known = calls.get(call.tool_call_id);
  if (!known) {
    calls.set(call.tool_call_id, { toolCallId: call.tool_call_id, name: call.name, argumentsText: call.arguments });
    return;
  }
  if (call.name) known.name = call.name;
  known.argumentsText += call.arguments;
}

function position(chunk: { id: string; otid?: string; run_id?: string; seq_id?: number }): StreamPosition {
  return { messageId: chunk.id, otid: chunk.otid ?? chunk.id, runId: chunk.run_id ?? "", seqId: chunk.seq_id ?? 0 };
}

function fromWireError(error: WireError): NonNullable<StepOutcome["error"]> {
  const code = toErrorCode(error.error_type);
  return {
    code,
    message: error.message,
    // A server that does not say is believed to be having a transient problem, except where asking again cannot help.
    retryable:
      error.retryable ?? (code === "provider" || code === "network" || code === "rate_limit" || code === "stream_cut"),
    ...(error.hint !== undefined && { hint: error.hint }),
    ...(error.status !== undefined && { status: error.status }),
    ...(error.retry_after_ms !== undefined && { retryAfterMs: error.retry_after_ms }),
  };
}

function toUsage(chunk: UsageStatistics): UsageStatistics {
  const usage: UsageStatistics = {
    prompt_tokens: chunk.prompt_tokens,
    completion_tokens: chunk.completion_tokens,
    total_tokens: chunk.total_tokens,
    step_count: chunk.step_count,
  };
  for (const key of [
    "cached_input_tokens",
    "cache_write_tokens",
    "reasoning_tokens",
    "context_tokens",
    "cost_usd",
  ] as const) {
    const value = chunk[key];
    if (value !== undefined) usage[key] = value;
  }
  return usage;
}
