// Runs decided calls and turns whatever happens into a result for the model. The journal knows each call's state before
// and after, so that a kill at any point leaves the truth behind.

import { INTERRUPTED } from "@/backend/content.ts";
import type { ApprovalItem, ContentPart } from "@/backend/wire.ts";
import { errorMessage, isAbortError, ToolError } from "@/lib/errors.ts";
import { cutMiddle, formatCount } from "@/lib/text.ts";
import type { Journal } from "@/store/journal.ts";
import type { ToolContext, ToolResult } from "@/tools/define-tool.ts";
import type { DecidedCall } from "./approvals.ts";
import type { EngineEvent, ToolOutcome } from "./events.ts";
import { MAX_TOOL_RETURN_CHARS } from "./limits.ts";
import { runScheduled } from "./scheduler.ts";

export interface ExecuteDeps {
  turnId: string;
  conversationKey: string;
  journal: Journal;
  context: Omit<ToolContext, "toolCallId" | "onOutput">;
  emit(event: EngineEvent): Promise<void>;
  /** May drop the event when the front end is slow: live output is for watching, the result holds what counts. */
  emitLive(event: EngineEvent): void;
  now(): number;
  /** A tool that threw something else than ToolError has a bug. */
  logBug(tool: string, error: unknown): void;
}

/** Results in call order, each already durable and shown. */
export async function executeBatch(calls: DecidedCall[], deps: ExecuteDeps): Promise<ApprovalItem[]> {
  return runScheduled(
    calls.map((call) => ({
      resource: call.status === "approved" ? call.resource : null,
      run: () => finishCall(call, deps),
    })),
  );
}

async function finishCall(call: DecidedCall, deps: ExecuteDeps): Promise<ApprovalItem> {
  const id = call.info.toolCallId;
  if (call.status === "denied") {
    const item: ApprovalItem = { type: "approval", tool_call_id: id, approve: false, reason: call.reason };
    return conclude(call, { item, result: { status: "error", output: call.reason, outcome: "denied" } }, deps);
  }
  if (call.status === "invalid") {
    const item: ApprovalItem = { type: "tool", tool_call_id: id, status: "error", tool_return: call.message };
    return conclude(call, { item, result: { status: "error", output: call.message, outcome: "invalid" } }, deps);
  }
  const startedAt = deps.now();
  const result = await runTool(call, deps);
  const item: ApprovalItem = {
    type: "tool",
    tool_call_id: id,
    status: result.status,
    tool_return: withComment(result.output, call.comment),
    ...(result.stdout && { stdout: result.stdout }),
    ...(result.stderr && { stderr: result.stderr }),
  };
  return conclude(call, { item, result, durationMs: deps.now() - startedAt }, deps);
}

async function conclude(
  call: DecidedCall,
  { item, result, durationMs = 0 }: { item: ApprovalItem; result: ToolOutcome; durationMs?: number },
  deps: ExecuteDeps,
): Promise<ApprovalItem> {
  deps.journal.setState(deps.conversationKey, call.info.toolCallId, call.status === "denied" ? "denied" : "done", item);
  await deps.emit({ type: "tool_finished", turnId: deps.turnId, call: call.info, result, durationMs });
  return item;
}

async function runTool(call: Extract<DecidedCall, { status: "approved" }>, deps: ExecuteDeps): Promise<ToolOutcome> {
  const { signal } = deps.context;
  const interrupted: ToolOutcome = { status: "error", output: INTERRUPTED, outcome: "interrupted" };
  if (signal.aborted) return interrupted;
  deps.journal.setState(deps.conversationKey, call.info.toolCallId, "running");
  await deps.emit({ type: "tool_started", turnId: deps.turnId, call: call.info });
  try {
    const result = await call.tool.run(call.args, {
      ...deps.context,
      toolCallId: call.info.toolCallId,
      ...(call.proven && { proven: call.proven }),
      onOutput: (text) =>
        deps.emitLive({ type: "tool_output", turnId: deps.turnId, toolCallId: call.info.toolCallId, text }),
    });
    const whole: ToolResult = typeof result === "string" ? { status: "success", output: result } : result;
    return { ...whole, output: clampOutput(whole.output), outcome: "executed" };
  } catch (error) {
    if (signal.aborted && isAbortError(error)) return interrupted;
    if (error instanceof ToolError) return { status: "error", output: clampOutput(error.message), outcome: "executed" };
    deps.logBug(call.info.tool, error);
    return { status: "error", output: `Error executing tool: ${errorMessage(error)}`, outcome: "executed" };
  }
}

function withComment(output: string | ContentPart[], comment: string | undefined): string | ContentPart[] {
  if (!comment) return output;
  if (typeof output === "string") return `${comment}\n\n${output}`;
  return [{ type: "text", text: comment }, ...output];
}

function clampOutput(output: string | ContentPart[]): string | ContentPart[] {
  if (typeof output === "string") return clampText(output);
  return output.map((part) => (part.type === "text" ? { ...part, text: clampText(part.text) } : part));
}

function clampText(text: string): string {
  const half = MAX_TOOL_RETURN_CHARS / 2;
  const note = (omitted: number): string => `... [${formatCount(omitted)} characters omitted] ...`;
  return cutMiddle(text, { head: half, tail: half, note });
}
