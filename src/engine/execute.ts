// Runs decided calls and turns whatever happens into a result for the model. The journal knows each call's state before
// and after, so that a kill at any point leaves the truth behind.

import { INTERRUPTED } from "@/backend/content.ts";
import type { ApprovalItem, ContentPart } from "@/backend/wire.ts";
import { errorMessage, isAbortError, ToolError } from "@/lib/errors.ts";
import { cutMiddle, formatCount } from "@/lib/text.ts";
import type { FollowUp, Journal } from "@/store/journal.ts";
import type { Resource, ToolContext, ToolResult } from "@/tools/define-tool.ts";
import type { ApprovedCall, DecidedCall } from "./approvals.ts";
import type { EngineEvent, ToolOutcome } from "./events.ts";
import type { HookedCalls } from "./hooked-calls.ts";
import { MAX_TOOL_RETURN_CHARS } from "./limits.ts";
import { runScheduled } from "./scheduler.ts";

export interface ExecuteDeps {
  turnId: string;
  conversationKey: string;
  journal: Journal;
  context: Omit<ToolContext, "toolCallId" | "onOutput" | "realPaths">;
  hooks: Pick<HookedCalls, "changes" | "before" | "follows" | "after">;
  /** Takes secrets out of what goes to the model. */
  redact(text: string): string;

  emit(event: EngineEvent): Promise<void>;
  /** May drop the event when the front end is slow: live output is for watching, the result holds what counts. */
  emitLive(event: EngineEvent): void;
  now(): number;
  /** A tool that threw something else than ToolError has a bug. */
  logBug(tool: string, error: unknown): void;
}

export interface ExecutedCall {
  item: ApprovalItem;
  /** Goes behind the results. */
  followUp: FollowUp | null;
}

/** Results in call order, each already durable and shown. */
export async function executeBatch(calls: DecidedCall[], deps: ExecuteDeps): Promise<ExecutedCall[]> {
  return runScheduled(
    calls.map((call) => ({
      resource: resourceOf(call, deps),
      run: async () => finishCall(call.status === "approved" ? await deps.hooks.before(call) : call, deps),
    })),
  );
}

function resourceOf(call: DecidedCall, { hooks }: ExecuteDeps): Resource | null {
  if (call.status !== "approved") return null;
  return hooks.changes(call) ? { kind: "barrier" } : call.resource;
}

async function finishCall(call: DecidedCall, deps: ExecuteDeps): Promise<ExecutedCall> {
  const id = call.info.toolCallId;
  if (call.status === "denied") {
    const reason = deps.redact(call.reason);
    const item: ApprovalItem = { type: "approval", tool_call_id: id, approve: false, reason };
    return conclude(call, { item, result: { status: "error", output: reason, outcome: "denied" } }, deps);
  }
  if (call.status === "invalid") {
    const item: ApprovalItem = { type: "tool", tool_call_id: id, status: "error", tool_return: call.message };
    return conclude(call, { item, result: { status: "error", output: call.message, outcome: "invalid" } }, deps);
  }
  const startedAt = deps.now();
  const result = await runTool(call, deps);
  const durationMs = deps.now() - startedAt;
  if (result.outcome !== "executed")
    return conclude(call, { item: toItem(call, result, deps), result, durationMs }, deps);
  // Hooks may take a while: what the tool did is known before they run.
  if (deps.hooks.follows(call, result)) {
    const outcome = { result: toItem(call, result, deps), followUp: result.followUp ?? null };
    deps.journal.setState(deps.conversationKey, id, "done", outcome);
    const feedback = await deps.hooks.after(call, result);
    result.output = withFeedback(result.output, feedback);
  }
  return conclude(call, { item: toItem(call, result, deps), result, durationMs }, deps);
}

function toItem(call: ApprovedCall, result: ToolOutcome, { redact }: ExecuteDeps): ApprovalItem {
  return {
    type: "tool",
    tool_call_id: call.info.toolCallId,
    status: result.status,
    tool_return: withComment(result.output, call.comment && redact(call.comment)),
    ...(result.stdout && { stdout: result.stdout }),
    ...(result.stderr && { stderr: result.stderr }),
  };
}

async function conclude(
  call: DecidedCall,
  { item, result, durationMs = 0 }: { item: ApprovalItem; result: ToolOutcome; durationMs?: number },
  deps: ExecuteDeps,
): Promise<ExecutedCall> {
  const followUp = result.followUp ?? null;
  const state = call.status === "denied" ? "denied" : "done";
  deps.journal.setState(deps.conversationKey, call.info.toolCallId, state, { result: item, followUp });
  await deps.emit({ type: "tool_finished", turnId: deps.turnId, call: call.info, result, durationMs });
  return { item, followUp };
}

async function runTool(call: ApprovedCall, deps: ExecuteDeps): Promise<ToolOutcome> {
  const { signal } = deps.context;
  const interrupted: ToolOutcome = { status: "error", output: INTERRUPTED, outcome: "interrupted" };
  if (signal.aborted) return interrupted;
  deps.journal.setState(deps.conversationKey, call.info.toolCallId, "running");
  await deps.emit({ type: "tool_started", turnId: deps.turnId, call: call.info });
  try {
    const result = await call.tool.run(call.args, {
      ...deps.context,
      toolCallId: call.info.toolCallId,
      realPaths: call.realPaths,
      allowedFor: call.targets,
      ...(call.proven && { proven: call.proven }),
      onOutput: (text) =>
        deps.emitLive({ type: "tool_output", turnId: deps.turnId, toolCallId: call.info.toolCallId, text }),
    });
    const whole: ToolResult = typeof result === "string" ? { status: "success", output: result } : result;
    return { ...redactResult(whole, deps.redact), outcome: "executed" };
  } catch (error) {
    if (signal.aborted && isAbortError(error)) return interrupted;
    if (!(error instanceof ToolError)) deps.logBug(call.info.tool, error);
    const message = error instanceof ToolError ? error.message : `Error executing tool: ${errorMessage(error)}`;
    return { status: "error", output: clampText(deps.redact(message)), outcome: "executed" };
  }
}

/** Before anything is cut: half a secret would not be found. */
function redactResult(result: ToolResult, redact: ExecuteDeps["redact"]): ToolResult {
  return {
    ...result,
    output: clampOutput(mapText(result.output, redact)),
    ...(result.stdout && { stdout: result.stdout.map(redact) }),
    ...(result.stderr && { stderr: result.stderr.map(redact) }),
    ...(result.summary !== undefined && { summary: redact(result.summary) }),
    ...(result.followUp && { followUp: { ...result.followUp, text: redact(result.followUp.text) } }),
  };
}

function mapText(output: string | ContentPart[], change: (text: string) => string): string | ContentPart[] {
  if (typeof output === "string") return change(output);
  return output.map((part) => (part.type === "text" ? { ...part, text: change(part.text) } : part));
}

function withComment(output: string | ContentPart[], comment: string | undefined): string | ContentPart[] {
  if (!comment) return output;
  if (typeof output === "string") return `${comment}\n\n${output}`;
  return [{ type: "text", text: comment }, ...output];
}

/** The header is fixed: prompts and other clients look for it. */
function withFeedback(output: string | ContentPart[], feedback: string[]): string | ContentPart[] {
  if (feedback.length === 0) return output;
  const text = `[Hook feedback]:\n${feedback.join("\n")}`;
  return typeof output === "string" ? `${output}\n\n${text}` : [...output, { type: "text", text }];
}

function clampOutput(output: string | ContentPart[]): string | ContentPart[] {
  return mapText(output, clampText);
}

function clampText(text: string): string {
  const half = MAX_TOOL_RETURN_CHARS / 2;
  const note = (omitted: number): string => `... [${formatCount(omitted)} characters omitted] ...`;
  return cutMiddle(text, { head: half, tail: half, note });
}
