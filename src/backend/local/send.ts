// One send: input stored, model streamed, reply stored, end of run. The order of writes is the promise of DESIGN §3:
// the user's words before the first byte to the model, a reply with its calls before anybody is told of them.

import type { ConversationRef, SendOptions } from "@/backend/backend.ts";
import { type ModelAssistantMessage, type ModelUsage, ProviderError } from "@/backend/model.ts";
import type { CompactionStats, SendBody, StopReason, StreamChunk, UsageStatistics } from "@/backend/wire.ts";
import { orAbort } from "@/lib/abort.ts";
import { codeOf } from "@/lib/errors.ts";
import { getAgent } from "./agents.ts";
import { compact, needsCompaction } from "./compaction.ts";
import type { LocalContext } from "./context.ts";
import { getConversationRow } from "./conversations.ts";
import { newMessageId } from "./ids.ts";
import { beginRun } from "./input.ts";
import { LiveRun } from "./live-run.ts";
import { insertMessage } from "./messages.ts";
import { assertFits, type ModelConfig, resolveConfig } from "./model-config.ts";
import { findMemoryUpdate } from "./prompt.ts";
import { callChunks, ReplyStream, repairCallIds } from "./reply.ts";
import { endChunks, type RunEnd, storePartial } from "./runs.ts";
import { estimateContext, usageTokens } from "./tokens.ts";
import { untilAbort } from "./until-abort.ts";
import { loadWindow, toModelMessages } from "./window.ts";
import { toRunFailure } from "./wire-error.ts";

/** Compactions of one run that answer "too long" before the run gives up. */
const MAX_OVERFLOW_COMPACTIONS = 3;

interface Send {
  context: LocalContext;
  run: LiveRun;
  ref: ConversationRef;
  body: SendBody;
  usage: UsageStatistics;
  beforeCompaction: SendOptions["beforeCompaction"];
}

export async function* sendMessages(
  context: LocalContext,
  ref: ConversationRef,
  body: SendBody,
  options: SendOptions = {},
): AsyncGenerator<StreamChunk> {
  const update = await findMemoryUpdate(context, ref, body);
  const run = new LiveRun(context, beginRun(context, ref, body.messages, options, update), options);
  const usage = { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0, step_count: 0 };
  let failure: unknown = null;
  try {
    const { beforeCompaction } = options;
    yield* execute({ context, run, ref, body, usage, beforeCompaction });
  } catch (error) {
    failure = error;
    throw error;
  } finally {
    run.dispose(failure);
  }
}

async function* execute(send: Send): AsyncGenerator<StreamChunk> {
  const { context, run } = send;
  try {
    let config = await orAbort(resolveSendConfig(send), run.signal);
    assertFits(config);
    // A compaction makes another system prompt.
    if (yield* compactAbove(send, config)) config = await orAbort(resolveSendConfig(send), run.signal);
    const reply = yield* requestReply(send, config);
    yield* complete(send, config, reply);
  } catch (error) {
    // Without the store nothing can be promised any more: the caller gets the error itself.
    run.throwIfFailed();
    if (run.ended || ["storage", "lease_lost"].includes(codeOf(error))) throw error;
    const end: RunEnd = run.isCancelled
      ? { status: "cancelled", stopReason: "cancelled" }
      : { status: "failed", ...toRunFailure(error, run.row.id) };
    const chunks = run.write(() => {
      run.flush();
      storePartial(context, run.row);
      return run.end(end, endChunks(context, end, send.usage));
    });
    run.markEnded();
    yield* chunks;
  }
}

async function resolveSendConfig(send: Send): Promise<ModelConfig> {
  const { context, ref, run } = send;
  const agent = getAgent(context, run.row.agent_id ?? ref.agentId);
  return resolveConfig(context, agent, getConversationRow(context, ref), send.body);
}

/** Asks the model; a request that turns out too long is compacted and sent again. */
async function* requestReply(send: Send, first: ModelConfig): AsyncGenerator<StreamChunk, ModelAssistantMessage> {
  let config = first;
  for (let compactions = 0; ; compactions++) {
    const reply = new ReplyStream(send.context, send.run.row.message_id);
    try {
      return yield* streamOnce(send, config, reply);
    } catch (error) {
      const mayCompact = codeOf(error) === "context_overflow" && !reply.hasOutput && !send.run.signal.aborted;
      if (!mayCompact || compactions >= MAX_OVERFLOW_COMPACTIONS) throw error;
      if (!(yield* compactWithChunks(send, config, "context_window_overflow"))) throw error;
      config = await orAbort(resolveSendConfig(send), send.run.signal);
    }
  }
}

async function* streamOnce(
  send: Send,
  config: ModelConfig,
  reply: ReplyStream,
): AsyncGenerator<StreamChunk, ModelAssistantMessage> {
  const { context, run } = send;
  const { entries } = loadWindow(context, run.row.conversation_key);
  send.usage.step_count = 1;
  const stream = config.adapter.stream(
    {
      handle: config.handle,
      system: config.system,
      messages: toModelMessages(entries),
      tools: config.tools,
      sessionId: run.row.conversation_key,
      settings: config.settings,
    },
    run.signal,
  );
  for await (const event of untilAbort(stream, run.signal)) {
    if (event.type === "error") {
      if (event.partial) addUsage(send.usage, event.partial.usage);
      throw event.error;
    }
    if (event.type === "done") {
      addUsage(send.usage, event.message.usage);
      assertReply(event.message);
      return event.message;
    }
    const chunk = reply.toChunk(event);
    if (chunk) yield run.append(chunk);
    run.throwIfFailed();
  }
  throw new ProviderError("stream_cut", `The stream of ${config.handle} ended before the reply was complete`, {
    retryable: true,
  });
}

/** Stores the reply, tells of its calls, ends the run. */
async function* complete(send: Send, config: ModelConfig, reply: ModelAssistantMessage): AsyncGenerator<StreamChunk> {
  const { context, run } = send;
  const key = run.row.conversation_key;
  const store = (): ModelAssistantMessage => {
    const { message, repaired } = repairCallIds(context, key, reply);
    insertMessage(context, key, {
      id: run.row.message_id,
      runId: run.row.id,
      meta: Object.keys(repaired).length ? { repairedCallIds: repaired } : {},
      body: message,
    });
    return message;
  };
  const end: RunEnd = { status: "completed", stopReason: stopReasonOf(reply) };
  const contextTokens = usageTokens(reply.usage);
  if (contextTokens > 0) send.usage.context_tokens = contextTokens;

  if (end.stopReason === "end_turn" && contextTokens > config.threshold) {
    run.write(() => {
      run.flush();
      store();
    });
    yield* compactAfterReply(send, config);
    const last = run.write(() => run.end(end, endChunks(context, end, send.usage)));
    run.markEnded();
    yield* last;
    return;
  }
  const chunks = run.write(() => {
    run.flush();
    const message = store();
    return run.end(end, [...callChunks(context, run.row.message_id, message), ...endChunks(context, end, send.usage)]);
  });
  run.markEnded();
  yield* chunks;
}

function stopReasonOf(reply: ModelAssistantMessage): StopReason {
  if (reply.content.some((part) => part.type === "toolCall")) return "requires_approval";
  return reply.stopReason === "length" ? "max_tokens_exceeded" : "end_turn";
}

/** Before the model is asked, and again after it answered. */
async function* compactAbove(send: Send, config: ModelConfig): AsyncGenerator<StreamChunk, boolean> {
  const window = loadWindow(send.context, send.run.row.conversation_key);
  return needsCompaction(window, config) && (yield* compactWithChunks(send, config, "context_window_limit"));
}

/** The answer is complete and stored: whatever goes wrong here, the next run tries again. */
async function* compactAfterReply(send: Send, config: ModelConfig): AsyncGenerator<StreamChunk> {
  try {
    yield* compactAbove(send, config);
  } catch (error) {
    send.run.throwIfFailed();
    if (["storage", "lease_lost"].includes(codeOf(error))) throw error;
  }
}

/** False when there was nothing left to make smaller, or it must not be. */
async function* compactWithChunks(
  send: Send,
  config: ModelConfig,
  trigger: CompactionStats["trigger"],
): AsyncGenerator<StreamChunk, boolean> {
  const { context, run, ref } = send;
  if (await isRefused(send, config, trigger)) return false;
  const common = (): { id: string; date: string } => ({ id: newMessageId(), date: context.isoNow() });
  yield run.append({ ...common(), message_type: "event_message", event_type: "compaction", event_data: { trigger } });
  const agent = getAgent(context, run.row.agent_id ?? ref.agentId);
  const done = await compact(context, {
    key: run.row.conversation_key,
    config,
    trigger,
    settings: agent.compaction_settings ?? {},
    signal: run.signal,
    write: (work) => run.write(work),
  });
  if (!done) return false;
  if (done.usage) addUsage(send.usage, done.usage);
  const { summary, stats, messageId } = done;
  yield run.append({ ...common(), id: messageId, message_type: "summary_message", summary, compaction_stats: stats });
  return true;
}

async function isRefused(
  { context, run, beforeCompaction }: Send,
  { fixedTokens, contextWindow }: ModelConfig,
  trigger: CompactionStats["trigger"],
): Promise<boolean> {
  if (!beforeCompaction) return false;
  const { tokens } = estimateContext(loadWindow(context, run.row.conversation_key), fixedTokens);
  const refusal = await orAbort(beforeCompaction({ trigger, contextTokens: tokens, contextWindow }), run.signal);
  return refusal !== null;
}

function addUsage(sum: UsageStatistics, usage: ModelUsage): void {
  sum.prompt_tokens += usage.input + usage.cacheRead + usage.cacheWrite;
  sum.completion_tokens += usage.output;
  sum.total_tokens += usageTokens(usage);
  sum.cached_input_tokens = (sum.cached_input_tokens ?? 0) + usage.cacheRead;
  sum.cache_write_tokens = (sum.cache_write_tokens ?? 0) + usage.cacheWrite;
  if (usage.reasoning !== undefined) sum.reasoning_tokens = (sum.reasoning_tokens ?? 0) + usage.reasoning;
  if (usage.costUsd !== undefined) sum.cost_usd = (sum.cost_usd ?? 0) + usage.costUsd;
}

function assertReply(message: ModelAssistantMessage): void {
  if (message.stopReason !== "error" && message.stopReason !== "aborted") return;
  throw new ProviderError("provider", message.errorMessage ?? "The provider did not complete its reply", {
    retryable: true,
  });
}
