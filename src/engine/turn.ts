// Drives one turn from the user's words to `end_turn`: send, drain, decide, execute, answer, again. All of it happens
// here and nowhere else; front ends only watch and decide. Whatever happens inside, the turn ends with `turn_ended`.

import type { AgentState, ApprovalItem, ContentPart, InputMessage } from "@/backend/wire.ts";
import { wait } from "@/lib/abort.ts";
import type { LettaError } from "@/lib/errors.ts";
import { codeOf } from "@/lib/errors.ts";
import type { Journal } from "@/store/journal.ts";
import type { Lease } from "@/store/leases.ts";
import type { AnyTool } from "@/tools/define-tool.ts";
import { type DecidedBatch, decideBatch, type PreparedCall, prepareCall } from "./approvals.ts";
import { drainStream, type PendingCall, type StepOutcome } from "./drain.ts";
import {
  busyError,
  type Ending,
  failed,
  failedStop,
  interruptedEnding,
  leaseLostEnding,
  limited,
  stopEnding,
  toTurnError,
  withBudgetNote,
} from "./ending.ts";
import type { EngineDeps } from "./engine.ts";
import type { Decision, EngineEvent, TurnInput, TurnResult } from "./events.ts";
import { executeBatch } from "./execute.ts";
import { CUT_OFF_NOTE, composeUserContent, EMPTY_REPLY_NOTE, INTERRUPTED_NOTE, KILLED_NOTE } from "./input.ts";
import { Budget, MAX_EMPTY_REPLIES, MAX_RETRIES } from "./limits.ts";
import { describeLeftover, findLeftovers } from "./recovery.ts";
import { RetryBudget } from "./retry.ts";

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
  takeSteered(): (string | ContentPart[])[];
}

/** Client state: how the conversation's last turn ended here (a `TurnResult` status), or `running` while one runs. A
 *  turn that finds `running` follows one that was killed. */
export const LAST_TURN = "last_turn";

export class TurnDriver {
  readonly #budget: Budget;
  readonly #retries: RetryBudget;
  readonly #runIds: string[] = [];
  readonly #denied: TurnResult["deniedTools"] = [];
  readonly #startedAt: number;
  /** Under the lease's fence once there is one. */
  #journal: Journal;
  #apiMs = 0;
  #text: string | null = null;
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
  }

  /** Never throws. */
  async run(): Promise<void> {
    const ending = await this.#runGuarded();
    await this.control.emit({ type: "turn_ended", turnId: this.control.id, result: this.#result(ending) });
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
      let status: Ending["status"] = "failed";
      try {
        const ending = await this.#converse(lease, previous);
        status = ending.status;
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
    const { conversationId, approver } = this.input;
    await this.control.emit({
      type: "turn_started",
      turnId: this.control.id,
      agentId: agent.id,
      conversationId,
      model,
    });
    let messages = await this.#firstMessages(agent, previous);
    for (;;) {
      const limit = this.#budget.exceeded();
      if (limit) return limited(limit);
      const tools = this.deps.selectTools({ agentId: agent.id, conversationId, model, approver });
      const step = await this.#step(messages, tools, lease);
      if (step.ending) return step.ending;
      const next =
        step.outcome.calls.length > 0
          ? await this.#answer(step.outcome.calls, tools, agent)
          : this.#finish(step.outcome);
      if ("status" in next) return next;
      messages = next.messages;
    }
  }

  async #conversationModel(): Promise<string | null> {
    const conversation = await this.deps.backend.retrieveConversation(this.input.conversationId, this.input.agentId);
    return conversation.model;
  }

  /** Answers for what an earlier turn left, then the user's words with the reminders that are due. */
  async #firstMessages(agent: AgentState, previous: unknown): Promise<InputMessage[]> {
    const leftovers = await findLeftovers(this.deps.backend, this.#journal, this.input, this.key);
    // After an interrupt or a limit everybody knows; only what nobody saw end is news.
    const news = previous === "interrupted" || previous === "limit" ? [] : leftovers;
    for (const leftover of news) {
      const kind = leftover.kind === "never_started" ? "approval_pending" : "interrupted_tool";
      await this.control.emit({ type: "recovery", turnId: this.control.id, kind, message: describeLeftover(leftover) });
    }
    const messages: InputMessage[] = [];
    if (leftovers.length > 0) messages.push(approvalInput(leftovers.map((leftover) => leftover.item)));
    if (this.input.content === null) return messages;
    const notes = [...(this.input.reminders ?? [])];
    if (previous === "running") notes.unshift(KILLED_NOTE);
    if (previous === "interrupted") notes.unshift(INTERRUPTED_NOTE);
    const reminders = await this.deps.collectReminders({
      key: this.key,
      agent,
      conversationId: this.input.conversationId,
    });
    const content = composeUserContent([...reminders, ...notes], this.input.content);
    messages.push({ type: "message", role: "user", content, otid: this.input.otid ?? crypto.randomUUID() });
    return messages;
  }

  /** One model call, repeated within the turn's retry budget. */
  async #step(
    messages: InputMessage[],
    tools: AnyTool[],
    lease: Lease,
  ): Promise<{ ending: Ending; outcome?: never } | { ending?: never; outcome: StepOutcome }> {
    this.#budget.steps += 1;
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
      });
      const outcome = await drainStream(stream, this.control.id, (event) => this.#watch(event));
      if (outcome.runId && !this.#runIds.includes(outcome.runId)) this.#runIds.push(outcome.runId);
      if (outcome.usage) this.#budget.addUsage(outcome.usage);
      for (const text of this.deps.takeWarnings()) {
        await this.control.emit({ type: "notice", turnId: this.control.id, level: "warning", text });
      }
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
    const prepared = calls.map((call) => prepareCall(call, tools, cwd));
    await this.#announce(prepared);
    const limit = this.#budget.exceeded();
    const batch = limit ? refuseAll(prepared, limit) : await this.#decide(prepared, cwd);
    for (const call of batch.calls) {
      if (call.status === "approved") journal.setState(this.key, call.info.toolCallId, "approved");
      if (call.status === "denied" && !limit) this.#denied.push({ tool: call.info.tool, reason: call.reason });
    }
    this.#budget.toolCalls += batch.calls.filter((call) => call.status === "approved").length;
    const items = await executeBatch(batch.calls, {
      turnId,
      conversationKey: this.key,
      journal,
      context: { agentId: agent.id, conversationId, turnId, cwd, signal: this.control.signal, services },
      emit: (event) => this.control.emit(event),
      emitLive: (event) => this.control.emitLive(event),
      now: this.deps.now,
      logBug: this.deps.logBug,
    });
    // The results stay in the journal and lead the next message of this conversation.
    if (limit) return limited(limit);
    const aborted = this.#aborted();
    if (aborted) return aborted;
    if (batch.interrupted) return interruptedEnding();
    return { messages: [approvalInput(items), ...this.#steered()] };
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

  #decide(calls: PreparedCall[], cwd: string): Promise<DecidedBatch> {
    return decideBatch(calls, {
      turnId: this.control.id,
      conversationId: this.input.conversationId,
      cwd,
      services: this.deps.services,
      permissions: this.deps.permissions,
      approver: this.input.approver,
      emit: (event) => this.control.emit(event),
      waitForDecision: (id) => this.control.waitForDecision(id),
    });
  }

  /** No tool was called: the turn is over, unless something was said meanwhile. */
  #finish(outcome: StepOutcome): { messages: InputMessage[] } | Ending {
    this.#continuesText = false;
    if (outcome.stopReason === "end_turn") {
      const messages = this.#steered();
      return messages.length > 0 ? { messages } : { status: "completed", stopReason: "end_turn" };
    }
    if (outcome.stopReason === "cancelled") return interruptedEnding();
    return stopEnding(outcome.stopReason);
  }

  #steered(): InputMessage[] {
    return this.control
      .takeSteered()
      .map((content) => ({ type: "message", role: "user", content, otid: crypto.randomUUID() }));
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

function approvalInput(approvals: ApprovalItem[]): InputMessage {
  return { type: "approval", approvals, otid: crypto.randomUUID() };
}

function systemInput(content: string): InputMessage {
  return { type: "message", role: "system", content, otid: crypto.randomUUID() };
}
