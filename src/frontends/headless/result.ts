// The last line of a run, exactly one whatever happened, and the exit code that belongs to it.

import { continueCommand } from "@/agent/continue-command.ts";
import type { Session } from "@/agent/resolve.ts";
import type { TurnResult } from "@/engine/events.ts";
import { EXIT_CODES, EXIT_OK, EXIT_SIGINT } from "@/exit-codes.ts";
import { codeOf, describeError } from "@/lib/errors.ts";
import type { LineBody } from "./schema.ts";

export type ResultBody = Extract<LineBody, { type: "result" }>;

export function turnResultBody(result: TurnResult, session: Session, turnId: string): ResultBody {
  const subtype = { completed: "success", interrupted: "interrupted", limit: "error", failed: "error" } as const;
  return {
    type: "result",
    subtype: subtype[result.status],
    is_error: result.status !== "completed",
    agent_id: session.ephemeral ? null : session.agent.id,
    conversation_id: session.conversation.id,
    duration_ms: Math.round(result.durationMs),
    duration_api_ms: Math.round(result.apiDurationMs),
    num_turns: result.steps,
    result: result.text,
    stop_reason: result.stopReason,
    run_ids: result.runIds,
    usage: result.usage,
    permission_denials: result.deniedTools.map(({ tool, reason }) => ({ tool_name: tool, reason })),
    resume_command: resumeCommand(session),
    ...(result.error && { error: result.error }),
    uuid: `result-${turnId}`,
  };
}

/** A run that failed before its turn, or outside it. */
export function failureBody(error: unknown, session: Session | null, durationMs: number): ResultBody {
  const interrupted = codeOf(error) === "cancelled";
  return {
    type: "result",
    subtype: interrupted ? "interrupted" : "error",
    is_error: true,
    agent_id: session && !session.ephemeral ? session.agent.id : null,
    conversation_id: session?.conversation.id ?? null,
    duration_ms: Math.round(durationMs),
    duration_api_ms: 0,
    num_turns: 0,
    result: null,
    stop_reason: interrupted ? "cancelled" : "error",
    run_ids: [],
    usage: null,
    permission_denials: [],
    resume_command: session && resumeCommand(session),
    error: errorInfo(error),
    uuid: `result-${session?.agent.id ?? "startup"}`,
  };
}

export function errorInfo(error: unknown): NonNullable<ResultBody["error"]> {
  const retryable = error instanceof Error && "retryable" in error && error.retryable === true;
  return { ...describeError(error), retryable };
}

export function exitCodeOf(result: TurnResult): number {
  switch (result.status) {
    case "completed":
      return EXIT_OK;
    case "interrupted":
      return EXIT_SIGINT;
    case "limit":
      return EXIT_CODES.limit;
    case "failed":
      return EXIT_CODES[result.error?.code ?? "internal"];
  }
}

/** What to type to go on; null when nothing was kept. */
export function resumeCommand(session: Session): string | null {
  if (session.ephemeral) return null;
  return continueCommand({ agentId: session.agent.id, conversationId: session.conversation.id });
}
