// The input of one send, stored whole or not at all before the model hears of it. What was stored before (same otid) is
// left out, so that sending again is always safe; calls nobody answers are settled, so that no conversation gets stuck.

import type { ConversationRef, SendOptions } from "@/backend/backend.ts";
import { wrapReminder } from "@/backend/content.ts";
import type { ModelImage, ModelText, ModelToolResult } from "@/backend/model.ts";
import type { ApprovalInput, ApprovalItem, ContentPart, InputMessage, UserInput } from "@/backend/wire.ts";
import { LettaError } from "@/lib/errors.ts";
import { durable } from "@/store/db.ts";
import { assertFence } from "@/store/leases.ts";
import type { LocalContext } from "./context.ts";
import { ensureConversationRow } from "./conversations.ts";
import { newMessageId } from "./ids.ts";
import { withoutKept } from "./kept.ts";
import { insertMessage, listPendingCalls, type MessageMeta, type PendingCall } from "./messages.ts";
import { type MemoryUpdate, noteMemoryUpdate } from "./prompt.ts";
import { closeRun, insertRun, isRunAlive, listActiveRuns, type RunRow, recoverDeadRuns } from "./runs.ts";
import { nameConversation } from "./title.ts";

const NOT_COMPLETED = "Turn did not complete";
const DENIED = "Tool execution denied.";

/** Stores the input and the record of the run that will answer it. Throws `busy`, `lease_lost`, `invalid_data`. */
export function beginRun(
  context: LocalContext,
  ref: ConversationRef,
  messages: InputMessage[],
  options: SendOptions,
  update: MemoryUpdate | null = null,
): RunRow {
  // On its own: a refused input must not take the recovery back.
  recoverDeadRuns(context);
  return durable(context.db, () => {
    if (options.fence) assertFence(context.db, options.fence);
    const { key, agent_id } = ensureConversationRow(context, ref);
    yieldFromOtherRuns(context, key, options);
    const run = insertRun(
      context,
      { agentId: agent_id, conversationId: ref.conversationId },
      options.fence?.fence ?? null,
    );
    storeInput(context, run, messages, update);
    return run;
  });
}

/** Refuses while another run is active, except when the caller holds a newer fence than that run: then its process
 *  lost the conversation and will notice with its next write. */
export function yieldFromOtherRuns(context: LocalContext, key: string, options: SendOptions): void {
  for (const run of listActiveRuns(context, key)) {
    if (!isRunAlive(context, run)) continue;
    if (options.fence && run.fence !== null && run.fence < options.fence.fence) {
      closeRun(context, run, { status: "cancelled", stopReason: "cancelled" });
      continue;
    }
    throw new LettaError("busy", `Conversation is currently being processed (run_id=${run.id}, pid ${run.owner_pid})`, {
      hint: "Wait for that run to end, or cancel it.",
    });
  }
}

/** Answers every open call of a conversation with the same error. Inside the caller's transaction. */
export function settlePending(context: LocalContext, key: string, text: string, runId?: string): void {
  for (const call of listPendingCalls(context, key)) {
    insertResult(context, key, call, { content: [{ type: "text", text }], isError: true, runId });
  }
}

function storeInput(context: LocalContext, run: RunRow, messages: InputMessage[], update: MemoryUpdate | null): void {
  const key = run.conversation_key;
  const fresh = messages.filter((item) => isNew(context, key, item.otid));
  for (const item of fresh) if (item.type === "approval") storeApprovals(context, run, item);
  settlePending(context, key, NOT_COMPLETED, run.id);
  if (update && noteMemoryUpdate(context, key, update) && update.text) {
    storeUser(context, run, { type: "message", role: "system", content: update.text });
  }
  for (const item of fresh) if (item.type === "message") storeUser(context, run, item);
}

/** Notes the otid; false when it was noted before. */
function isNew(context: LocalContext, key: string, otid: string | undefined): boolean {
  if (otid === undefined) return true;
  return context.db.query("INSERT OR IGNORE INTO inputs VALUES (?, ?)").run(key, otid).changes > 0;
}

function storeApprovals(context: LocalContext, run: RunRow, input: ApprovalInput): void {
  const pending = listPendingCalls(context, run.conversation_key);
  const answers = new Map(input.approvals.map((item) => [item.tool_call_id, item]));
  const expected = pending.map((call) => call.callId);
  const isWhole =
    answers.size === input.approvals.length &&
    answers.size === expected.length &&
    expected.every((callId) => answers.has(callId));
  if (!isWhole) {
    throw new LettaError(
      "invalid_data",
      `invalid tool call ids: expected [${expected.join(", ")}], got [${input.approvals.map((item) => item.tool_call_id).join(", ")}]`,
      { hint: "Every pending call must be answered exactly once, in one approval item." },
    );
  }
  for (const call of pending) {
    const item = answers.get(call.callId) as ApprovalItem;
    const meta: MessageMeta = {};
    if (item.type === "tool" && item.stdout) meta.stdout = item.stdout;
    if (item.type === "tool" && item.stderr) meta.stderr = item.stderr;
    insertResult(context, run.conversation_key, call, { ...toResult(item), meta, runId: run.id });
  }
}

function toResult(item: ApprovalItem): Pick<ModelToolResult, "content" | "isError"> {
  if (item.type === "approval") return { content: [{ type: "text", text: item.reason || DENIED }], isError: true };
  return { content: toModelParts(item.tool_return), isError: item.status === "error" };
}

interface CallResult extends Pick<ModelToolResult, "content" | "isError"> {
  meta?: MessageMeta;
  runId?: string | undefined;
}

function insertResult(context: LocalContext, key: string, call: PendingCall, result: CallResult): void {
  const { content, isError, meta = {}, runId } = result;
  insertMessage(context, key, {
    id: newMessageId(),
    ...(runId !== undefined && { runId }),
    meta,
    body: {
      role: "toolResult",
      toolCallId: call.callId,
      toolName: call.name,
      content,
      isError,
      timestamp: context.now(),
    },
  });
}

function storeUser(context: LocalContext, run: RunRow, input: UserInput): void {
  const isSystem = input.role === "system";
  const wrap = (text: string): string => (isSystem ? wrapReminder(text) : text);
  const content =
    typeof input.content === "string"
      ? wrap(input.content)
      : toModelParts(input.content).map((part) => (part.type === "text" ? { ...part, text: wrap(part.text) } : part));
  const body = { role: "user" as const, content, timestamp: context.now() };
  const keep = typeof input.content === "string" ? [] : keptParts(input.content);
  insertMessage(context, run.conversation_key, {
    id: newMessageId(),
    runId: run.id,
    ...(input.otid !== undefined && { otid: input.otid }),
    meta: { ...(isSystem && { system: true as const }), ...(keep.length > 0 && { keep }) },
    body,
  });
  if (!isSystem) nameConversation(context, run.conversation_key, withoutKept(body, keep));
}

function keptParts(content: ContentPart[]): number[] {
  return content.flatMap((part, index) => (part.type === "text" && part.keep ? [index] : []));
}

function toModelParts(content: string | ContentPart[]): (ModelText | ModelImage)[] {
  if (typeof content === "string") return [{ type: "text", text: content }];
  return content.map((part) =>
    part.type === "text"
      ? { type: "text", text: part.text }
      : { type: "image", data: part.source.data, mimeType: part.source.media_type },
  );
}
