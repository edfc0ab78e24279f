// An in-memory engine that plays given events: front ends are tested against it without a backend or a model. Scripts
// are generators, so that one can wait for a decision, an abort or anything else in the middle of a turn.

import type { Engine } from "@/engine/engine.ts";
import type { Decision, EngineEvent, ToolCallInfo, Turn, TurnInput, TurnResult } from "@/engine/events.ts";
import { TurnQueue } from "@/engine/queue.ts";

export interface ScriptContext {
  turnId: string;
  input: TurnInput;
  signal: AbortSignal;
  /** What the front end decided; waits for it. */
  decision(approvalId: string): Promise<Decision>;
  /** Resolves when the turn is aborted. */
  aborted: Promise<void>;
}
export type Script = (context: ScriptContext) => AsyncIterable<EngineEvent>;

export interface ScriptedEngine extends Engine {
  /** What was submitted, in order. */
  inputs: TurnInput[];
  steered: unknown[];
}

/** One script per turn; further turns end at once with the text `(no script)`. */
export function createScriptedEngine(scripts: Script[]): ScriptedEngine {
  const queues = new Map<string, TurnQueue>();
  const engine: ScriptedEngine = {
    inputs: [],
    steered: [],
    submit(input) {
      const index = engine.inputs.push(input) - 1;
      return startTurn(`turn-${index + 1}`, input, scripts[index] ?? say("(no script)"), engine.steered);
    },
    queue({ agentId, conversationId }) {
      const key = `${agentId}/${conversationId}`;
      const queue = queues.get(key) ?? new TurnQueue();
      queues.set(key, queue);
      return queue;
    },
    compact: async () => ({ num_messages_before: 0, num_messages_after: 0, summary: "" }),
  };
  return engine;
}

function startTurn(id: string, input: TurnInput, script: Script, steered: unknown[]): Turn {
  const controller = new AbortController();
  const decisions = new Map<string, PromiseWithResolvers<Decision>>();
  const waitFor = (approvalId: string) => {
    const entry = decisions.get(approvalId) ?? Promise.withResolvers<Decision>();
    decisions.set(approvalId, entry);
    return entry;
  };
  const aborted = new Promise<void>((resolve) => controller.signal.addEventListener("abort", () => resolve()));
  return {
    id,
    events: script({
      turnId: id,
      input,
      signal: controller.signal,
      decision: (approvalId) => waitFor(approvalId).promise,
      aborted,
    }),
    decide: (approvalId, decision) => waitFor(approvalId).resolve(decision),
    steer: (content) => void steered.push(content),
    abort: () => controller.abort(),
  };
}

/** A turn that answers with `text`. */
export function say(text: string, result: Partial<TurnResult> = {}): Script {
  return async function* (context) {
    yield started(context);
    yield textDelta(context, text);
    yield ended(context, { text, ...result });
  };
}

export function started({ turnId, input }: ScriptContext): EngineEvent {
  return {
    type: "turn_started",
    turnId,
    agentId: input.agentId,
    conversationId: input.conversationId,
    model: input.model ?? "test/model",
  };
}

export function textDelta({ turnId }: ScriptContext, text: string, otid = `otid-${turnId}`): EngineEvent {
  return { type: "text_delta", turnId, text, messageId: `message-${turnId}`, otid, runId: `run-${turnId}`, seqId: 1 };
}

export function toolCall(toolCallId: string, tool: string, args: Record<string, unknown> = {}): ToolCallInfo {
  return { toolCallId, tool, argumentsText: JSON.stringify(args), args, title: Object.values(args).join(" ") };
}

export function ended({ turnId, input }: ScriptContext, result: Partial<TurnResult> = {}): EngineEvent {
  return {
    type: "turn_ended",
    turnId,
    result: {
      status: "completed",
      stopReason: "end_turn",
      agentId: input.agentId,
      conversationId: input.conversationId,
      runIds: [`run-${turnId}`],
      text: null,
      steps: 1,
      durationMs: 12,
      apiDurationMs: 8,
      usage: {
        prompt_tokens: 10,
        completion_tokens: 2,
        total_tokens: 12,
        step_count: 1,
        context_tokens: 11,
        cost_usd: 0.001,
      },
      deniedTools: [],
      ...result,
    },
  };
}
