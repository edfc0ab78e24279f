// Drives one turn from the user's words to `end_turn`: send, drain, decide, execute, answer, again. All of it happens
// here and nowhere else; front ends only watch and decide. Whatever happens inside, the turn ends with `turn_ended`.

import { contentText } from "@/backend/content.ts";
import type { AgentState, ContentPart, InputMessage } from "@/backend/wire.ts";
import { wait } from "@/lib/abort.ts";
import type { LettaError } from "@/lib/errors.ts";
import { codeOf } from "@/lib/errors.ts";
import type { Journal } from "@/store/journal.ts";
import type { Lease } from "@/store/leases.ts";
import type { AnyTool } from "@/tools/define-tool.ts";
import { type ApprovalDeps, type DecidedBatch, decideBatch, type PreparedCall, prepareCall } from "./approvals.ts";
import { drainStream, type PendingCall, type StepOutcome } from "./drain.ts";
import {
  busyError,
  type Ending,
  failed,
  failedStop,
  hookEnding,
  interruptedEnding,
  leaseLostEnding,
  limited,
  stopEnding,
  toTurnError,
  withBudgetNote,
} from "./ending.ts";
import type { EngineDeps, ToolsRequest } from "./engine.ts";
import type { Decision, EngineEvent, TurnInput, TurnResult } from "./events.ts";
import { executeBatch } from "./execute.ts";
import { HookedCalls } from "./hooked-calls.ts";
import { CUT_OFF_NOTE, composeUserContent, EMPTY_REPLY_NOTE } from "./input.ts";
import { Budget, MAX_EMPTY_REPLIES, MAX_RETRIES } from "./limits.ts";
import { approvalInput, openingMessages } from "./opening.ts";
import { RetryBudget } from "./retry.ts";
import { TurnHooks } from "./turn-hooks.ts";

/** Why a turn is being stopped from outside. */
export type AbortCause = "user" | "timeout" | "lease_lost";

/** What the turn shares with the `Turn` handle its front end holds. */
export interface TurnControl {
  readonly id: string;
  readonly signal: AbortSignal;
  abortCause(): AbortCause | null;
  emit(event: EngineEvent): Promise<void>;
  emitLive(event: EngineEvent): void;
  waitForDecision(approvalId: string): Promise<Decision | null>;
  /** What was said meanwhile and wants to go with the next send. */
  takeSteered(): Steered[];
}

export interface Steered {
  content: string | ContentPart[];
  /** No person said it. */
  automatic: boolean;
}

/** Client state: how the conversation's last turn ended here (a `TurnResult` status), or `running` while one runs. A
 *  turn that finds `running` follows one that was killed. */
export const LAST_TURN = "last_turn";

export class TurnDriver {
  readonly #budget: Budget;
  readonly #retries: RetryBudget;
  readonly #hooks: TurnHooks;
  readonly #runIds: string[] = [];
  readonly #denied: TurnResult["deniedTools"] = [];
  readonly #startedAt: number;
  /** Under the lease's fence once there is one. */
  #journal: Journal;
  #apiMs = 0;
  /** Handle in use; null before it is known. */
  #model: string | null = null;
  #text: string | null = null;
  /** Of the latest step. */
  #reasoning = "";
  /** The next text goes on where a cut stream stopped. */
  #continuesText = false;
  #emptyReplies = 0;

  constructor(
    private readonly input: TurnInput,
    private readonly control: TurnControl,
    private readonly deps: EngineDeps,
    private readonly key: string,
  ) {
    this.#budget = new Budget(input.limits ?? {});
    this.#retries = new RetryBudget();
    this.#startedAt = deps.now();
    this.#journal = deps.journal;
    const { agentId, conversationId } = input;
    this.#hooks = new TurnHooks({
      turnId: control.id,
      hooks: deps.hooks,
      permissions: deps.permissions,
      services: deps.services,
      addUsage: (usage) => this.#budget.addSideUsage(usage),
      place: () => ({ agentId, conversationId, cwd: deps.cwd(), model: this.#model, signal: control.signal }),
      emit: (event) => control.emit(event),
    });
  }

  /** Never throws. */
  async run(): Promise<void> {
    const ending = await this.#runGuarded();
    this.#tellSession(ending);
    await this.control.emit({ type: "turn_ended", turnId: this.control.id, result: this.#result(ending) });
  }

  #tellSession(ending: Ending): void {
    const { sessionHooks } = this.deps;
    const error = ending.status === "completed" ? null : ending.error;
    // Nothing was said yet: whoever waits tries again every second.
    if (error?.code === "busy") return;
    sessionHooks.count({ messages: 1, toolCalls: this.#budget.toolCalls });
    if (this.input.approver !== "front_end") return;
    sessionHooks.notify(error?.message ?? "The agent is done", ending.status === "failed" ? "error" : "info");
  }

  async #runGuarded(): Promise<Ending> {
    try {
      const attempt = this.deps.leases.tryAcquire(this.key, this.deps.label);
      if (attempt.status === "busy") return failed(busyError(attempt.holder));
      await using lease = attempt.lease;
      this.#journal = this.deps.journal.under(lease.fence);
      lease.lost.addEventListener("abort", () => this.deps.onLeaseLost(this.control.id), { once: true });
      const previous = this.deps.clientState.find(this.key, LAST_TURN);
      this.deps.clientState.set(this.key, LAST_TURN, "running");
      let status: unknown = "failed";
      try {
        const ending = await this.#converse(lease, previous);
        // A message that a hook refused was never sent: what the turn before left is still news.
        status = this.#budget.steps === 0 && ending.status === "failed" ? (previous ?? "failed") : ending.status;
        return ending;
      } finally {
        if (lease.isCurrent()) this.deps.clientState.set(this.key, LAST_TURN, status);
      }
    } catch (error) {
      // Found before the heartbeat did: what still runs here ends now.
      if (codeOf(error) === "lease_lost") this.deps.onLeaseLost(this.control.id);
      return this.#aborted() ?? failed(error);
    }
  }

  async #converse(lease: Lease, previous: unknown): Promise<Ending> {
    const agent = await this.deps.backend.retrieveAgent(this.input.agentId);
    const model = this.input.model ?? (await this.#conversationModel()) ?? agent.model;
    const { conversationId } = this.input;
    await this.control.emit({
      type: "turn_started",
      turnId: this.control.id,
      agentId: agent.id,
      conversationId,
      model,
    });
    this.#model = model;
    const opened = await this.#open(agent, previous);
    if ("status" in opened) return opened;
    let { messages } = opened;
    for (;;) {
      const limit = this.#budget.exceeded();
      if (limit) return limited(limit);
      const tools = this.deps.selectTools(this.#toolsRequest(agent, model));
      const step = await this.#step(messages, tools, lease);
      if (step.ending) return step.ending;
      const next =
        step.outcome.calls.length > 0
          ? await this.#answer(step.outcome.calls, tools, agent)
          : await this.#finish(step.outcome);
      if ("status" in next) return next;
      messages = next.messages;
    }
  }

  async #conversationModel(): Promise<string | null> {
    const conversation = await this.deps.backend.retrieveConversation(this.input.conversationId, this.input.agentId);
    return conversation.model;
  }

  /** The first messages, once the hooks that come before them have had their say. */
  async #open(agent: AgentState, previous: unknown): Promise<{ messages: InputMessage[] } | Ending> {
    const { input, deps, control, key } = this;
    const { sessionHooks } = deps;
    await sessionHooks.ready(control.signal);
    await deps.beforeTurn({ agentId: agent.id, conversationId: input.conversationId }, control.signal);
    const prompt = await this.#askPromptHooks(input.content, input.automatic);
    const aborted = this.#aborted();
    if (aborted) return aborted;
    for (const notice of sessionHooks.takeNotices()) await this.#notice(notice.level, notice.text);
    if (prompt.refused !== null) return hookEnding("A hook refused the message", prompt.refused);
    const fromHooks = input.content === null ? [] : [...sessionHooks.takeContext(), ...prompt.context];
    const { backend, collectReminders, openRedaction } = deps;
    const messages = await openingMessages(
      { input, agent, previous, fromHooks },
      {
        backend,
        collectReminders,
        openRedaction,
        turnId: control.id,
        conversationKey: key,
        journal: this.#journal,
        emit: (event) => control.emit(event),
      },
    );
    return { messages };
  }

  async #askPromptHooks(content: TurnInput["content"], automatic = false) {
    if (content === null || automatic) return { refused: null, context: [] };
    return this.#hooks.userPrompt(content);
  }

  #notice(level: "info" | "warning", text: string): Promise<void> {
    return this.control.emit({ type: "notice", turnId: this.control.id, level, text });
  }

  /** One model call, repeated within the turn's retry budget. */
  async #step(
    messages: InputMessage[],
    tools: AnyTool[],
    lease: Lease,
  ): Promise<{ ending: Ending; outcome?: never } | { ending?: never; outcome: StepOutcome }> {
    this.#budget.steps += 1;
    this.#reasoning = "";
    await this.control.emit({ type: "step_started", turnId: this.control.id, step: this.#budget.steps });
    let toSend = messages;
    for (;;) {
      const outcome = await this.#send(toSend, tools, lease);
      this.#settle(toSend, outcome);
      const aborted = this.#aborted();
      if (aborted) return { ending: aborted };
      if (!outcome.error) {
        const nudge = this.#emptyReplyNudge(outcome);
        if (!nudge) return { outcome };
        toSend = nudge;
        continue;
      }
      const error = outcome.error;
      const retry = this.#retries.take(error, error.retryAfterMs);
      if (!retry)
        return {
          ending: {
            status: "failed",
            stopReason: failedStop(outcome.stopReason),
            error: withBudgetNote(error, this.#retries.used),
          },
        };
      const { attempt, delayMs } = retry;
      await this.control.emit({
        type: "retry",
        turnId: this.control.id,
        attempt,
        maxAttempts: MAX_RETRIES,
        delayMs,
        code: error.code,
        reason: error.message,
        ...(outcome.runId && { runId: outcome.runId }),
      });
      await wait(delayMs, this.control.signal);
      const abortedWhileWaiting = this.#aborted();
      if (abortedWhileWaiting) return { ending: abortedWhileWaiting };
      // Sending the same items again is safe: the backend ignores an otid it has stored. After visible text the model
      // is asked to go on from where it was cut, so that nothing is said twice.
      this.#continuesText = outcome.text !== "";
      toSend = outcome.text ? [systemInput(CUT_OFF_NOTE)] : toSend;
    }
  }

  async #send(messages: InputMessage[], tools: AnyTool[], lease: Lease): Promise<StepOutcome> {
    const { agentId, conversationId, model, system } = this.input;
    const startedAt = this.deps.now();
    const body = {
      messages,
      agent_id: agentId,
      client_tools: tools.map(({ name, description, parameters }) => ({ name, description, parameters })),
      ...(model && { override_model: model }),
      ...(system && { override_system: system }),
    };
    try {
      const stream = this.deps.backend.sendMessages({ agentId, conversationId }, body, {
        signal: this.control.signal,
        fence: lease.fence,
        beforeCompaction: (about) => this.#hooks.compaction(about),
      });
      const outcome = await drainStream(stream, this.control.id, (event) => this.#watch(event));
      if (outcome.runId && !this.#runIds.includes(outcome.runId)) this.#runIds.push(outcome.runId);
      if (outcome.usage) this.#budget.addUsage(outcome.usage);
      for (const text of this.deps.takeWarnings()) await this.#notice("warning", text);
      const { runId, stopReason, usage } = outcome;
      await this.control.emit({ type: "step_finished", turnId: this.control.id, runId, stopReason, usage });
      return outcome;
    } catch (error) {
      const turnError = toTurnError(error);
      return { runId: "", stopReason: "error", calls: [], usage: null, text: "", accepted: false, error: turnError };
    } finally {
      this.#apiMs += this.deps.now() - startedAt;
    }
  }

  /** Keeps the turn's text up to date and re-arms reminders after a compaction, then passes the event on. */
  async #watch(event: EngineEvent): Promise<void> {
    if (event.type === "text_delta") {
      this.#text = this.#continuesText ? (this.#text ?? "") + event.text : event.text;
      this.#continuesText = true;
    }
    if (event.type === "reasoning_delta") this.#reasoning += event.text;
    if (event.type === "compaction") this.deps.rearmReminders(this.key);
    await this.control.emit(event);
  }

  /** Once the backend has taken the results, the journal need not remember them. */
  #settle(sent: InputMessage[], outcome: StepOutcome): void {
    if (!outcome.accepted) return;
    const ids = sent.flatMap((message) =>
      message.type === "approval" ? message.approvals.map((item) => item.tool_call_id) : [],
    );
    if (ids.length > 0) this.#journal.settle(this.key, ids);
  }

  /** A first reply without text or tool call is asked for again; the last time the model is told why. */
  #emptyReplyNudge(outcome: StepOutcome): InputMessage[] | null {
    const empty = outcome.stopReason === "end_turn" && outcome.text === "" && outcome.calls.length === 0;
    if (!empty || this.#text !== null || this.#budget.toolCalls > 0 || this.#emptyReplies >= MAX_EMPTY_REPLIES)
      return null;
    this.#emptyReplies += 1;
    return this.#emptyReplies === MAX_EMPTY_REPLIES ? [systemInput(EMPTY_REPLY_NOTE)] : [];
  }

  /** Decides and runs the batch; what comes back is either the next send or the end of the turn. */
  async #answer(
    calls: PendingCall[],
    tools: AnyTool[],
    agent: AgentState,
  ): Promise<{ messages: InputMessage[] } | Ending> {
    this.#continuesText = false;
    const { services } = this.deps;
    const journal = this.#journal;
    const turnId = this.control.id;
    const { conversationId } = this.input;
    const cwd = this.deps.cwd();
    const request = this.#toolsRequest(agent, this.#model ?? "");
    const understand = (name: string) => this.deps.understandTool(name, request);
    const prepared = calls.map((call) => prepareCall(call, tools, cwd, understand));
    await this.#announce(prepared);
    const limit = this.#budget.exceeded();
    const approvals = this.#approvalDeps(cwd);
    const batch = limit ? refuseAll(prepared, limit) : await decideBatch(prepared, approvals);
    for (const call of batch.calls) {
      if (call.status === "approved") journal.setState(this.key, call.info.toolCallId, "approved");
      if (call.status === "denied" && !limit) this.#denied.push({ tool: call.info.tool, reason: call.reason });
    }
    this.#budget.toolCalls += batch.calls.filter((call) => call.status === "approved").length;
    const { signal } = this.control;
    const hooked = new HookedCalls({ ...approvals, hooks: this.#hooks, signal, preceding: this.#said() });
    const items = await executeBatch(batch.calls, {
      turnId,
      conversationKey: this.key,
      journal,
      context: { agentId: agent.id, conversationId, turnId, cwd, signal, services },
      hooks: hooked,
      redact: await this.deps.openRedaction(),
      emit: (event) => this.control.emit(event),
      emitLive: (event) => this.control.emitLive(event),
      now: this.deps.now,
      logBug: this.deps.logBug,
    });
    this.#denied.push(...hooked.denied);
    // The results stay in the journal and lead the next message of this conversation.
    if (limit) return limited(limit);
    const aborted = this.#aborted();
    if (aborted) return aborted;
    if (batch.interrupted || hooked.interrupted) return interruptedEnding();
    if (this.#hooks.stopReason !== null) return hookEnding("A hook stopped the turn", this.#hooks.stopReason);
    return { messages: [approvalInput(items), ...(await this.#steered())] };
  }

  #toolsRequest({ id: agentId }: AgentState, model: string): ToolsRequest {
    const { conversationId, approver, tools } = this.input;
    return { agentId, conversationId, model, approver, ...(tools && { tools }) };
  }

  /** Durable before anybody is shown it, shown before anything is asked. */
  async #announce(calls: PreparedCall[]): Promise<void> {
    const turnId = this.control.id;
    this.#journal.record(
      calls.map(({ info: { toolCallId, tool, argumentsText } }) => ({
        conversationKey: this.key,
        turnId,
        toolCallId,
        tool,
        argumentsText,
      })),
    );
    for (const call of calls) {
      await this.control.emit({ type: "tool_call", turnId, call: call.info, runId: this.#runIds.at(-1) ?? "" });
    }
  }

  #approvalDeps(cwd: string): ApprovalDeps {
    return {
      agentId: this.input.agentId,
      turnId: this.control.id,
      conversationId: this.input.conversationId,
      cwd,
      services: this.deps.services,
      permissions: this.deps.permissions,
      approver: this.input.approver,
      hooks: this.#hooks,
      emit: (event) => this.control.emit(event),
      waitForDecision: (id) => this.control.waitForDecision(id),
      notify: (message) => this.deps.sessionHooks.notify(message, "info"),
    };
  }

  /** No tool was called: the turn is over, unless something was said meanwhile or a hook objects. */
  async #finish(outcome: StepOutcome): Promise<{ messages: InputMessage[] } | Ending> {
    this.#continuesText = false;
    if (outcome.stopReason === "end_turn") {
      const messages = await this.#steered();
      if (messages.length > 0) return { messages };
      const objection = await this.#hooks.stop({
        message_count: this.#budget.steps,
        tool_call_count: this.#budget.toolCalls,
        assistant_message: this.#text ?? undefined,
        preceding_reasoning: this.#said().reasoning,
        user_message: this.input.content === null ? undefined : contentText(this.input.content),
      });
      const aborted = this.#aborted();
      if (aborted) return aborted;
      if (objection !== null) return { messages: [userInput(objection)] };
      return { status: "completed", stopReason: "end_turn" };
    }
    if (outcome.stopReason === "cancelled") return interruptedEnding();
    return stopEnding(outcome.stopReason);
  }

  /** What hooks are told the model has said. */
  #said(): { text?: string; reasoning?: string } {
    return { ...(this.#text && { text: this.#text }), ...(this.#reasoning && { reasoning: this.#reasoning }) };
  }

  /** What was said meanwhile, as far as hooks let it pass. */
  async #steered(): Promise<InputMessage[]> {
    const messages: InputMessage[] = [];
    for (const { content, automatic } of this.control.takeSteered()) {
      const { refused, context } = await this.#askPromptHooks(content, automatic);
      if (refused === null) messages.push(userInput(composeUserContent(context, content)));
      else await this.#notice("warning", `A hook refused what was said meanwhile: ${refused}`);
    }
    return messages;
  }

  #aborted(): Ending | null {
    switch (this.control.abortCause()) {
      case null:
        return null;
      case "user":
        return interruptedEnding();
      case "timeout":
        return limited(this.#budget.timedOut());
      case "lease_lost":
        return leaseLostEnding();
    }
  }

  #result(ending: Ending): TurnResult {
    return {
      status: ending.status,
      stopReason: ending.stopReason,
      agentId: this.input.agentId,
      conversationId: this.input.conversationId,
      runIds: this.#runIds,
      text: this.#text,
      steps: this.#budget.steps,
      durationMs: this.deps.now() - this.#startedAt,
      apiDurationMs: this.#apiMs,
      usage: this.#budget.usage,
      deniedTools: this.#denied,
      ...(ending.status !== "completed" && { error: ending.error }),
    };
  }
}

/** A budget is used up: every call gets an answer, none is run. */
function refuseAll(calls: PreparedCall[], limit: LettaError): DecidedBatch {
  const reason = `Not run: ${limit.message}.`;
  return { interrupted: false, calls: calls.map(({ info }) => ({ status: "denied", info, reason })) };
}

function userInput(content: string | ContentPart[]): InputMessage {
  return { type: "message", role: "user", content, otid: crypto.randomUUID() };
}

function systemInput(content: string): InputMessage {
  return { type: "message", role: "system", content, otid: crypto.randomUUID() };
}
