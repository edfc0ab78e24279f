// How a turn ends: the reasons, their words and their next step, before they are written down as a `TurnResult`.

import { INTERRUPTED } from "@/backend/content.ts";
import type { StopReason } from "@/backend/wire.ts";
import { codeOf, describeError, type ErrorCode, LettaError } from "@/lib/errors.ts";
import { plural } from "@/lib/text.ts";
import type { LeaseHolder } from "@/store/leases.ts";
import type { TurnError } from "./events.ts";

/** How a turn ends, before it is written down as a `TurnResult`. */
export type Ending =
  | { status: "completed"; stopReason: StopReason }
  | { status: "interrupted" | "limit" | "failed"; stopReason: StopReason; error: TurnError };

/** Each terminal reason has its own sentence and next step. */
const STOP_TEXT: Partial<Record<StopReason, { code?: ErrorCode; message: string; hint: string }>> = {
  max_tokens_exceeded: {
    message: "The model reached its output limit before it was done",
    hint: "Say “continue”, or raise max_output_tokens in the agent's model settings.",
  },
  context_window_overflow_in_system_prompt: {
    code: "context_overflow",
    message: "The system prompt and tools alone do not fit the model's context window",
    hint: "Reduce instructions or tools (--tools), or choose a model with a larger window.",
  },
  insufficient_credits: {
    code: "quota",
    message: "The provider's credits or plan are used up",
    hint: "Add credits, or choose another model with --model.",
  },
  invalid_tool_call: {
    message: "The model made an invalid tool call",
    hint: "Send the message again, or choose another model.",
  },
  no_tool_call: { message: "The model made no tool call where one was required", hint: "Send the message again." },
  tool_rule: { message: "A tool rule of the server ended the turn", hint: "Check the agent's tool rules." },
  max_steps: { message: "The server's step limit ended the turn", hint: "Say “continue”." },
  requires_approval: {
    message: "The backend waits for approvals but named no tool call",
    hint: "Send the message again.",
  },
};

export function toTurnError(error: unknown): TurnError {
  return { ...describeError(error), retryable: codeOf(error) === "network" };
}

export function failed(error: unknown): Ending {
  return { status: "failed", stopReason: "error", error: toTurnError(error) };
}

export function limited(error: LettaError): Ending {
  return { status: "limit", stopReason: "max_steps", error: toTurnError(error) };
}

export function interruptedEnding(): Ending {
  return {
    status: "interrupted",
    stopReason: "cancelled",
    error: { code: "cancelled", message: INTERRUPTED, retryable: false },
  };
}

/** A stream that broke never stopped for the reason it was on its way to. */
export function failedStop(stopReason: StopReason): StopReason {
  return stopReason === "end_turn" || stopReason === "requires_approval" ? "error" : stopReason;
}

export function withBudgetNote(error: TurnError, retriesUsed: number): TurnError {
  const { code, message, hint, retryable, status } = error;
  const note = retriesUsed > 0 ? ` (after ${plural(retriesUsed, "retry", "retries")})` : "";
  return {
    code,
    message: message + note,
    retryable,
    ...(hint !== undefined && { hint }),
    ...(status !== undefined && { status }),
  };
}

export function busyError(holder: LeaseHolder): LettaError {
  return new LettaError(
    "busy",
    `This conversation is busy: ${holder.label} process ${holder.pid} on ${holder.host} has been working in it since ${holder.startedAt}`,
    { hint: "Wait for it, stop it, or start a new conversation." },
  );
}

/** A step that ended for good without completing. */
export function stopEnding(stopReason: StopReason): Ending {
  const text = STOP_TEXT[stopReason] ?? {
    message: `The turn ended with stop reason ${stopReason}`,
    hint: "Send the message again.",
  };
  return { status: "failed", stopReason, error: { code: "provider", retryable: false, ...text } };
}

/** A hook had the last word. */
export function hookEnding(what: string, reason: string): Ending {
  return failed(new LettaError("denied", `${what}: ${reason}`, { hint: "letta hooks list shows the hooks in force." }));
}

export function leaseLostEnding(): Ending {
  return failed(
    new LettaError("lease_lost", "Another process took over this conversation", {
      hint: "Nothing more was written from here. Open the conversation again to go on.",
    }),
  );
}
