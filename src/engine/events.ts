// Everything a front end can learn about a turn, in the order it happened. A front end maps each event to its surface
// with an exhaustive switch; it never asks the backend what happened.

import type { CompactionStats, ContentPart, StopReason, TextPart, UsageStatistics } from "@/backend/wire.ts";
import type { ErrorCode } from "@/lib/errors.ts";
import type { PermissionReason, RuleSuggestion } from "@/permissions/types.ts";
import type { FileDiff, ToolResult } from "@/tools/define-tool.ts";
import type { ToolsWish } from "@/tools/toolsets.ts";

/** Where a streamed piece belongs. Pieces with equal `otid` concatenate. */
export interface StreamPosition {
  messageId: string;
  otid: string;
  runId: string;
  seqId: number;
}

export interface ToolCallInfo {
  toolCallId: string;
  /** Wire name, as the model called it. */
  tool: string;
  /** As the model sent them; JSON text. */
  argumentsText: string;
  /** Parsed arguments; `{}` when they could not be parsed. */
  args: Record<string, unknown>;
  /** Short subject for people. */
  title: string;
  /** A hook changed the arguments: these are what runs, not what the model sent. */
  rewritten?: true;
}

export type EngineEvent =
  | { type: "turn_started"; turnId: string; agentId: string | null; conversationId: string; model: string }
  /** A model call begins. `step` counts from 1 within the turn. */
  | { type: "step_started"; turnId: string; step: number }
  | ({ type: "text_delta"; turnId: string; text: string } & StreamPosition)
  | ({ type: "reasoning_delta"; turnId: string; text: string } & StreamPosition)
  /** The model asked for a tool; all calls of a batch arrive before the first decision. */
  | { type: "tool_call"; turnId: string; call: ToolCallInfo; runId: string }
  /** Decided without a person. */
  | {
      type: "auto_decided";
      turnId: string;
      call: ToolCallInfo;
      behavior: "allow" | "deny";
      reason: PermissionReason;
      /** The command line flag that would have allowed what nobody was there to be asked about. */
      allowFlag?: string;
      /** The call had been decided before; a hook changed it or had a question. */
      again?: boolean;
    }
  | {
      type: "approval_requested";
      turnId: string;
      approvalId: string;
      call: ToolCallInfo;
      reason: PermissionReason;
      suggestions: RuleSuggestion[];
      diffs: FileDiff[];
      /** Position in the batch's questions, from 1. */
      index: number;
      count: number;
    }
  | {
      type: "approval_resolved";
      turnId: string;
      approvalId: string;
      call: ToolCallInfo;
      behavior: "allow" | "deny";
      reason?: string;
    }
  | { type: "tool_started"; turnId: string; call: ToolCallInfo }
  /** Live output of a running shell. */
  | { type: "tool_output"; turnId: string; toolCallId: string; text: string }
  | { type: "tool_finished"; turnId: string; call: ToolCallInfo; result: ToolOutcome; durationMs: number }
  /** The model is given texts beside the results of its calls, as a user's message: those of skills. */
  | { type: "context_added"; turnId: string; otid: string; labels: string[]; content: TextPart[] }
  /** The one visible retry budget of the turn. */
  | {
      type: "retry";
      turnId: string;
      attempt: number;
      maxAttempts: number;
      delayMs: number;
      code: ErrorCode;
      reason: string;
      runId?: string;
    }
  /** Something an earlier process left was settled. */
  | {
      type: "recovery";
      turnId: string;
      kind: "approval_pending" | "interrupted_tool";
      message: string;
    }
  | {
      type: "compaction";
      turnId: string;
      trigger: CompactionStats["trigger"];
      summary: string;
      stats: CompactionStats | null;
      messageId: string;
    }
  | { type: "step_finished"; turnId: string; runId: string; stopReason: StopReason; usage: UsageStatistics | null }
  | { type: "notice"; turnId: string; level: "info" | "warning" | "error"; text: string }
  /** Always last, exactly once, whatever happened. */
  | { type: "turn_ended"; turnId: string; result: TurnResult };

/** Why a call has the result it has. */
export type ToolOutcome = ToolResult & { outcome: "executed" | "denied" | "interrupted" | "invalid" };

export interface TurnError {
  code: ErrorCode;
  message: string;
  hint?: string;
  retryable: boolean;
  /** HTTP status of the provider. */
  status?: number;
}

export interface TurnResult {
  /** `limit`: a budget of the run stopped it. `interrupted`: the user or a signal did. */
  status: "completed" | "interrupted" | "limit" | "failed";
  stopReason: StopReason;
  agentId: string | null;
  conversationId: string;
  runIds: string[];
  /** The last assistant text of the turn, partial when it did not complete; null when there was none. */
  text: string | null;
  /** Model calls made. */
  steps: number;
  durationMs: number;
  /** Time spent waiting for the model. */
  apiDurationMs: number;
  usage: UsageStatistics | null;
  /** Calls denied by a rule, a person or for lack of one. */
  deniedTools: { tool: string; reason: string }[];
  /** Set unless completed. */
  error?: TurnError;
}

/** Budgets of one turn. Absent means no limit. */
export interface TurnLimits {
  /** Model calls. */
  maxTurns?: number;
  maxCostUsd?: number;
  /** Prompt plus completion tokens, summed over the turn's steps. */
  maxTokens?: number;
  maxToolCalls?: number;
  timeoutMs?: number;
}

export type Decision =
  | {
      behavior: "allow";
      /** Replaces the arguments; checked again before it runs. */
      updatedArgs?: Record<string, unknown>;
      /** Rules to add, so that the rest of the batch is checked again. */
      addRules?: RuleSuggestion[];
      /** Given to the model beside the result. */
      comment?: string;
    }
  | { behavior: "deny"; reason?: string /** Also deny the rest and end the turn. */; interrupt?: boolean };

export interface TurnInput {
  agentId: string;
  conversationId: string;
  /** What the user said. Null continues a conversation whose turn was cut (nothing new to say). */
  content: string | ContentPart[] | null;
  /** Makes sending again harmless. Default: a new UUID. */
  otid?: string;
  /** This turn only; never saved. */
  model?: string;
  system?: string;
  limits?: TurnLimits;
  /** Who answers questions: `front_end` gets `approval_requested`, `nobody` turns them into denials. */
  approver: "front_end" | "nobody";
  /** Text parts put before the user's own, each wrapped by the engine in `<system-reminder>`. */
  reminders?: string[];
  /** Permission rules in force for this turn: those of the skills in `content`. */
  allow?: readonly string[];
  /** This turn only. */
  tools?: ToolsWish;
  /** Nobody typed this (news of a background task): no hook is asked about it. */
  automatic?: boolean;
}

export interface Turn {
  readonly id: string;
  /** Single consumer. Never throws: failures arrive as `turn_ended`. */
  readonly events: AsyncIterable<EngineEvent>;
  /** Unknown or already decided ids are ignored. */
  decide(approvalId: string, decision: Decision): void;
  /** Says something now: goes to the model with the next tool results, or as the next turn when there are none. */
  steer(content: string | ContentPart[]): void;
  /** Stops model and tools. The turn ends with `interrupted`. Safe to call twice. */
  abort(): void;
}
