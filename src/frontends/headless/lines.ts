// EngineEvent → stream-json lines: the one mapping. A new event fails to compile until it is shown or left out here.

import { contentText } from "@/backend/content.ts";
import type { EngineEvent, ToolCallInfo, ToolOutcome } from "@/engine/events.ts";
import type { LineBody } from "./schema.ts";

export interface LineOptions {
  /** Streamed pieces as `stream_event` instead of `message`. */
  partial: boolean;
  now: () => Date;
}

/** The lines of one event; none for what has no place on the wire. The final `result` is made by result.ts. */
export function toLines(event: EngineEvent, { partial, now }: LineOptions): LineBody[] {
  const date = () => now().toISOString();
  switch (event.type) {
    case "text_delta": {
      const { messageId: id, otid, runId: run_id, seqId: seq_id, text } = event;
      const piece = { message_type: "assistant_message", id, otid, run_id, seq_id } as const;
      if (partial) return [{ type: "stream_event", event: { ...piece, content: text }, uuid: otid }];
      return [{ type: "message", ...piece, content: [{ type: "text", text }], uuid: otid }];
    }
    case "reasoning_delta": {
      const { messageId: id, otid, runId: run_id, seqId: seq_id, text: reasoning } = event;
      const piece = { message_type: "reasoning_message", id, otid, run_id, seq_id, reasoning } as const;
      if (partial) return [{ type: "stream_event", event: piece, uuid: otid }];
      return [{ type: "message", ...piece, uuid: otid }];
    }
    case "tool_call": {
      const id = `tool-call-${event.call.toolCallId}`;
      const call = { message_type: "tool_call_message", id, date: date(), run_id: event.runId } as const;
      return [{ type: "message", ...call, tool_call: wireCall(event.call), uuid: id }];
    }
    case "auto_decided":
      return [
        {
          type: event.behavior === "allow" ? "auto_approval" : "auto_denial",
          tool_call: wireCall(event.call),
          reason: event.reason.detail,
          matched_rule: event.reason.rule ?? null,
          uuid: `decision-${event.call.toolCallId}${event.again ? "-again" : ""}`,
        },
      ];
    case "tool_started": {
      const { toolCallId: tool_call_id, tool: tool_name } = event.call;
      return [{ type: "tool_execution_started", tool_call_id, tool_name, uuid: `tool-start-${tool_call_id}` }];
    }
    case "tool_finished":
      return toolFinished(event.call, event.result, event.durationMs, date());
    case "context_added": {
      const { otid, content } = event;
      const parts = content.map(({ text }) => ({ type: "text" as const, text }));
      const id = `user-${otid}`;
      return [{ type: "message", message_type: "user_message", id, date: date(), otid, content: parts, uuid: otid }];
    }
    case "retry":
      return [
        {
          type: "retry",
          reason: "llm_api_error",
          code: event.code,
          message: event.reason,
          attempt: event.attempt,
          max_attempts: event.maxAttempts,
          delay_ms: Math.round(event.delayMs),
          ...(event.runId !== undefined && { run_id: event.runId }),
          uuid: crypto.randomUUID(),
        },
      ];
    case "recovery":
      return [{ type: "recovery", recovery_type: event.kind, message: event.message, uuid: crypto.randomUUID() }];
    case "compaction":
      return [
        {
          type: "message",
          message_type: "event_message",
          id: `compaction-${event.messageId}`,
          event_type: "compaction",
          event_data: { trigger: event.trigger },
          uuid: `compaction-${event.messageId}`,
        },
        {
          type: "message",
          message_type: "summary_message",
          id: event.messageId,
          summary: event.summary,
          ...(event.stats && { compaction_stats: { ...event.stats } }),
          uuid: event.messageId,
        },
      ];
    case "step_finished": {
      const { runId: run_id, stopReason: stop_reason, usage } = event;
      const stop = {
        type: "message",
        message_type: "stop_reason",
        run_id,
        stop_reason,
        uuid: `stop-${run_id}`,
      } as const;
      if (!usage) return [stop];
      const statistics = { message_type: "usage_statistics", run_id, ...usage } as const;
      return [stop, { type: "message", ...statistics, uuid: `usage-${run_id}` }];
    }
    case "notice":
      return [{ type: "system", subtype: "notice", level: event.level, text: event.text, uuid: crypto.randomUUID() }];
    case "turn_ended": {
      const { status, error, stopReason, runIds } = event.result;
      if (status === "completed" || status === "interrupted" || !error) return [];
      const runId = runIds.at(-1);
      return [
        {
          type: "error",
          message: error.message,
          stop_reason: stopReason,
          ...(runId !== undefined && { run_id: runId }),
          error,
          uuid: `error-${event.turnId}`,
        },
      ];
    }
    // `init` has said it; questions are control requests (permissions.ts); live output is for terminals.
    case "turn_started":
    case "step_started":
    case "approval_requested":
    case "approval_resolved":
    case "tool_output":
      return [];
  }
}

function toolFinished(call: ToolCallInfo, result: ToolOutcome, durationMs: number, date: string): LineBody[] {
  const { toolCallId: tool_call_id, tool: tool_name } = call;
  const returned: LineBody = {
    type: "message",
    message_type: "tool_return_message",
    id: `tool-return-${tool_call_id}`,
    date,
    tool_call_id,
    name: tool_name,
    status: result.status,
    tool_return: contentText(result.output),
    ...(result.stdout && { stdout: result.stdout }),
    ...(result.stderr && { stderr: result.stderr }),
    uuid: `tool-return-${tool_call_id}`,
  };
  if (result.outcome === "denied" || result.outcome === "invalid") return [returned];
  const duration_ms = Math.round(durationMs);
  const uuid = `tool-finish-${tool_call_id}`;
  return [
    { type: "tool_execution_finished", tool_call_id, tool_name, status: result.status, duration_ms, uuid },
    returned,
  ];
}

function wireCall(call: ToolCallInfo) {
  return { tool_call_id: call.toolCallId, name: call.tool, arguments: call.argumentsText };
}
