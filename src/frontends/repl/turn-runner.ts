// Sends one batch of the queue as a turn and sees it to its end: events to the renderer, questions to the person, and
// what to do when another process holds the conversation.

import type { ContentPart } from "@/backend/wire.ts";
import type { EngineEvent, Turn, TurnInput } from "@/engine/events.ts";
import type { QueueBatch } from "@/engine/queue.ts";
import { wait } from "@/lib/abort.ts";
import { LettaError } from "@/lib/errors.ts";
import { plural } from "@/lib/text.ts";
import { type AskOptions, askApproval } from "./ask-approval.ts";
import { askBusy } from "./busy.ts";
import { memoryHead, sayMemoryChanges } from "./memory-notes.ts";
import { shownText } from "./prompt-message.ts";
import type { ReplSession } from "./session.ts";

/** How often a busy conversation is tried again while waiting for it. */
const BUSY_RETRY_MS = 1000;
const CHARS_PER_TOKEN = 4;

/** `asking`, `waiting`: another process holds the conversation. */
type State = "turn" | "stopping" | "asking" | "waiting";

export class TurnRunner {
  /** From taking a batch out of the queue until its turn has ended. */
  #sending: { startedAt: number; chars: number; state: State } | null = null;
  #turn: Turn | null = null;
  #busyWait: AbortController | null = null;

  constructor(private readonly session: ReplSession) {}

  get running(): boolean {
    return this.#sending !== null;
  }

  /** Resolves when the turn has ended; never rejects. `notes` go before the user's words. */
  async send(batch: QueueBatch, notes: string[]): Promise<void> {
    const { session } = this;
    this.#sending = { startedAt: session.now(), chars: 0, state: "turn" };
    this.#announce(batch);
    const memory = memoryHead(session);
    try {
      await this.#runUntilFree({
        ...session.ref,
        content: batch.content,
        otid: crypto.randomUUID(),
        approver: "front_end",
        automatic: batch.automatic,
        ...(session.modelOverride && { model: session.modelOverride }),
        ...(session.systemOverride !== undefined && { system: session.systemOverride }),
        ...(notes.length > 0 && { reminders: notes }),
      });
    } catch (error) {
      session.showError(error);
      this.#giveBack(batch.content);
    } finally {
      this.#sending = null;
    }
    await sayMemoryChanges(session, await memory);
    const { queue } = session;
    if (queue.held && queue.length > 0 && !session.exiting)
      session.say(`${plural(queue.length, "queued message")} held: Enter sends, /queue changes.`);
  }

  /** False when there is no turn to say it in. */
  steer(text: string): boolean {
    this.#turn?.steer(text);
    return this.#turn !== null;
  }

  /** True when something was stopped. */
  interrupt(): boolean {
    if (this.#busyWait) {
      this.#busyWait.abort();
      return true;
    }
    if (!this.#turn) return false;
    this.#enter("stopping");
    this.#turn.abort();
    // Nobody wants the next message sent into a turn they just stopped.
    this.session.queue.hold();
    return true;
  }

  busy(): { activity: string; elapsedMs: number; tokens: number } | null {
    if (!this.#sending) return null;
    const { startedAt, chars, state } = this.#sending;
    const activity: Record<State, string> = {
      turn: this.session.renderer.activity,
      stopping: "Stopping",
      asking: "Busy",
      waiting: "Waiting for the other process",
    };
    const elapsedMs = this.session.now() - startedAt;
    return { activity: activity[state], elapsedMs, tokens: Math.round(chars / CHARS_PER_TOKEN) };
  }

  #announce(batch: QueueBatch): void {
    const { renderer, ui } = this.session;
    if (batch.automatic) renderer.print([ui.theme.dim("A background task has news for the agent.")], "user");
    else if (ui.interactive) renderer.print(this.session.echo(shownText(batch.content)), "user");
  }

  /** A conversation someone else is working in: the user waits for it, goes elsewhere, or takes the message back. */
  async #runUntilFree(input: TurnInput): Promise<void> {
    const { session } = this;
    let waiting = false;
    for (;;) {
      const busy = await this.#runTurn({ ...input, ...session.ref });
      if (!busy || session.exiting) return;
      if (!waiting) {
        session.showError(busy);
        this.#enter("asking");
        const choice = await askBusy(session.ui);
        if (choice === "back") return this.#giveBack(input.content);
        if (choice === "new") await session.newConversation();
        waiting = choice === "wait";
      }
      if (waiting && !(await this.#waitAMoment())) return this.#giveBack(input.content);
    }
  }

  /** False when the user does not want to wait any longer. */
  async #waitAMoment(): Promise<boolean> {
    this.#enter("waiting");
    const giveUp = new AbortController();
    this.#busyWait = giveUp;
    await wait(BUSY_RETRY_MS, giveUp.signal);
    this.#busyWait = null;
    return !giveUp.signal.aborted;
  }

  /** The error when the conversation is busy elsewhere; everything else has been shown. */
  async #runTurn(input: TurnInput): Promise<LettaError | null> {
    const { app, ui } = this.session;
    const turn = app.engine.submit(input);
    this.#turn = turn;
    const ended = new AbortController();
    let busy: LettaError | null = null;
    ui.refresh();
    for await (const event of turn.events) {
      if (event.type === "turn_ended" && event.result.error?.code === "busy")
        busy = new LettaError("busy", event.result.error.message);
      else this.#onEvent(event, turn, ended.signal);
      // A hook refused it, nothing was sent: the text is still the user's.
      if (event.type === "turn_ended" && event.result.error?.code === "denied" && event.result.steps === 0)
        this.#giveBack(input.content);
      ui.refresh();
      await ui.drain();
    }
    ended.abort();
    this.#turn = null;
    return busy;
  }

  #onEvent(event: EngineEvent, turn: Turn, ended: AbortSignal): void {
    const { session } = this;
    session.renderer.show(event);
    switch (event.type) {
      case "turn_started":
        if (this.#sending?.state !== "stopping") this.#enter("turn");
        return;
      case "approval_requested":
        void this.#ask(event, turn, ended);
        return;
      case "text_delta":
      case "reasoning_delta":
        if (this.#sending) this.#sending.chars += event.text.length;
        return;
      case "step_finished":
        session.learnContext(event.usage);
        return;
      case "turn_ended":
        session.stats.add(event.result);
    }
  }

  async #ask(event: Extract<EngineEvent, { type: "approval_requested" }>, turn: Turn, ended: AbortSignal) {
    const { ui, app, renderer, queue } = this.session;
    const print: AskOptions["print"] = (lines, block) => renderer.print(lines, block);
    const decision = await askApproval(event, { ui, cwd: app.cwd, signal: ended, print });
    if (!decision) return;
    if (decision.behavior === "deny" && decision.interrupt) queue.hold();
    turn.decide(event.approvalId, decision);
  }

  #enter(state: State): void {
    if (this.#sending) this.#sending.state = state;
    this.session.ui.refresh();
  }

  #giveBack(content: string | ContentPart[] | null): void {
    this.session.ui.setInput(shownText(content ?? ""));
  }
}
