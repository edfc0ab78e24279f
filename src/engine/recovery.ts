// Settles what an interrupted or killed turn left: calls the backend still waits for get the result the journal knows,
// or the honest news that nobody knows it. Nothing is executed here, and nothing is ever executed again.

import type { Backend, ConversationRef } from "@/backend/backend.ts";
import type { ApprovalItem } from "@/backend/wire.ts";
import type { FollowUp, Journal, JournalCall } from "@/store/journal.ts";

/** Tells the model that nobody refused the call, so that it may ask for it again. */
const NEVER_STARTED =
  "This tool call was not run: the turn it belonged to was cut off before it started. Nobody refused it; call the tool again if it is still needed.";
const OUTCOME_UNKNOWN =
  "The process was killed while this tool was running. Its outcome is unknown: it may have done all, some or none of its work. It was not run again. Check the state before repeating it.";

export interface Leftover {
  toolCallId: string;
  tool: string;
  item: ApprovalItem;
  /** Goes behind the results. */
  followUp: FollowUp | null;
  /** `finished`: the result was known and is only delivered now. */
  kind: "finished" | "denied" | "never_started" | "outcome_unknown";
}

/** What must be answered before anything new is said, in call order. Empty when the conversation is clean. */
export async function findLeftovers(
  backend: Backend,
  journal: Journal,
  ref: ConversationRef,
  conversationKey: string,
): Promise<Leftover[]> {
  const open = journal.openCalls(conversationKey);
  const { pendingToolCallIds } = await backend.resumeTail(ref, 1);
  const pending = new Set(pendingToolCallIds);
  const answered = open.filter((call) => !pending.has(call.toolCallId)).map((call) => call.toolCallId);
  if (answered.length > 0) journal.settle(conversationKey, answered);
  const byId = new Map(open.map((call) => [call.toolCallId, call]));
  return pendingToolCallIds.map((id) => toLeftover(id, byId.get(id)));
}

function toLeftover(toolCallId: string, call: JournalCall | undefined): Leftover {
  const tool = call?.tool ?? "a tool";
  if (call?.result) {
    const kind = call.state === "denied" ? "denied" : "finished";
    return { toolCallId, tool, item: call.result, followUp: call.followUp, kind };
  }
  if (call?.state === "running") {
    return {
      toolCallId,
      tool,
      followUp: null,
      kind: "outcome_unknown",
      item: { type: "tool", tool_call_id: toolCallId, status: "error", tool_return: OUTCOME_UNKNOWN },
    };
  }
  return {
    toolCallId,
    tool,
    followUp: null,
    kind: "never_started",
    item: { type: "approval", tool_call_id: toolCallId, approve: false, reason: NEVER_STARTED },
  };
}

/** One line for people. */
export function describeLeftover(leftover: Leftover): string {
  switch (leftover.kind) {
    case "finished":
      return `${leftover.tool} had finished before the last turn was cut off; its result is delivered now`;
    case "denied":
      return `${leftover.tool} was denied in the last turn; the model is told now`;
    case "outcome_unknown":
      return `${leftover.tool} was running when the last turn was cut off; its outcome is unknown and it was not run again`;
    case "never_started":
      return `${leftover.tool} had not started when the last turn was cut off; it was not run`;
  }
}
