// One sitting: the current agent and conversation, the running turn, and where typed lines go. The engine decides
// everything about a turn; this decides what is sent when, and shows what comes back.

import type { App } from "@/app.ts";
import type { ConversationRef } from "@/backend/backend.ts";
import type { AgentState, ContentPart, Conversation } from "@/backend/wire.ts";
import type { EngineEvent, Turn, TurnInput } from "@/engine/events.ts";
import type { QueueBatch, TurnQueue } from "@/engine/queue.ts";
import { errorMessage, LettaError } from "@/lib/errors.ts";
import { toPlainLine, toPlainText, wrap } from "@/lib/terminal-text.ts";
import { type AskOptions, askApproval } from "./approvals.ts";
import { askBusy, pause } from "./busy.ts";
import type { ReplCommand } from "./commands/command.ts";
import { findCommand, nearestCommand } from "./commands/registry.ts";
import type { History } from "./history.ts";
import { cycleMode } from "./mode.ts";
import { rememberConversation } from "./remember.ts";
import { EventRenderer } from "./renderer.ts";
import { runShellLine, type ShellRun, shellReminder } from "./shell-mode.ts";
import { Stats } from "./stats.ts";
import { plural } from "./theme.ts";
import type { Ui, UiView } from "./ui.ts";

export interface SessionOptions {
  app: App;
  ui: Ui;
  history: History;
  agent: AgentState;
  conversation: Conversation;
  /** Handle for every turn; "" when nothing is connected. */
  model: string;
  /** Set when the model differs from the saved one: it goes with each turn. */
  modelOverride?: string;
  systemOverride?: string;
  /** A temporary agent: nothing to come back to. */
  ephemeral?: boolean;
  now?: () => number;
}

/** How often a busy conversation is tried again while waiting for it. */
const BUSY_RETRY_MS = 1000;
/** A turn that does not end soon after its abort does not keep the user from leaving. */
const LEAVE_WAIT_MS = 5000;

export class ReplSession {
  readonly app: App;
  readonly ui: Ui;
  readonly history: History;
  readonly renderer: EventRenderer;
  readonly stats: Stats;
  readonly ephemeral: boolean;
  agent: AgentState;
  conversation: Conversation;
  model: string;
  modelOverride: string | undefined;
  /** Tokens the current model takes; null when unknown. */
  contextWindow: number | null = null;
  readonly now: () => number;
  readonly #system: string | undefined;
  /** From taking a batch out of the queue until its turn has ended. `waiting`: someone else holds the conversation. */
  #sending: { startedAt: number; tokens: number; state: "turn" | "stopping" | "asking" | "waiting" } | null = null;
  #turn: Turn | null = null;
  #shell: { run: ShellRun; startedAt: number; line: string } | null = null;
  /** A command that keeps the next message waiting (compaction, switching). */
  #command: { name: string; startedAt: number; done: Promise<void> } | null = null;
  #busyWait: AbortController | null = null;
  #wake = new AbortController();
  #shellNotes: string[] = [];
  #exiting = false;
  #reportedHold = false;

  constructor(options: SessionOptions) {
    this.app = options.app;
    this.ui = options.ui;
    this.history = options.history;
    this.agent = options.agent;
    this.conversation = options.conversation;
    this.model = options.model;
    this.modelOverride = options.modelOverride;
    this.#system = options.systemOverride;
    this.ephemeral = options.ephemeral ?? false;
    this.now = options.now ?? Date.now;
    this.stats = new Stats(this.now());
    this.renderer = new EventRenderer({
      output: { commit: (lines) => this.ui.print(lines), append: (text) => this.ui.append(text) },
      theme: this.ui.theme,
      columns: () => this.ui.columns(),
      cwd: () => this.app.cwd,
      interactive: this.ui.interactive,
      now: this.now,
    });
  }

  get ref(): ConversationRef {
    return { agentId: this.agent.id, conversationId: this.conversation.id };
  }

  get queue(): TurnQueue {
    return this.app.engine.queue(this.ref);
  }

  /** A turn runs, or waits for a conversation someone else holds. */
  get turnRunning(): boolean {
    return this.#sending !== null;
  }

  view(): UiView {
    return {
      live: (rows) => this.renderer.liveLines(rows),
      busy: () => this.#busy(),
      idle: () => !this.#sending && !this.#shell && !this.#command && (this.queue.length === 0 || this.queue.held),
      queue: () => this.queue.list().map((item) => contentText(item.content)),
      status: () => this.#status(),
      history: () => this.history.entries,
    };
  }

  /** Sends what is queued until the user leaves. */
  async run(): Promise<void> {
    while (!this.#exiting) {
      const { queue } = this;
      const wake = this.#wake;
      this.ui.refresh();
      await queue.waitForItem(wake.signal);
      await this.#command?.done;
      if (this.#exiting || queue !== this.queue) continue;
      const batch = queue.takeBatch();
      if (batch) await this.#send(batch);
    }
  }

  /** A typed line: a command, a shell line, or a message. */
  submit(text: string, shell: boolean) {
    this.history.add(shell ? `!${text}` : text.startsWith("!") ? ` ${text}` : text);
    if (shell) return this.#submitShell(text);
    if (/^(?:exit|quit)$/i.test(text.trim())) return this.exit();
    const word = /^\/(\S*)\s*([\s\S]*)$/.exec(text);
    const command = word && findCommand(word[1] ?? "");
    if (command) return this.#submitCommand(command, word[2]?.trim() ?? "", text);
    // `/usr/bin/x is broken` is a message; `/hlep` is a slip.
    if (word && /^[a-z][a-z0-9:_-]*$/i.test(word[1] ?? "")) {
      const near = nearestCommand(word[1] ?? "");
      return this.#refuse(text, `There is no command /${word[1]}.${near ? ` Did you mean /${near}?` : " See /help."}`);
    }
    this.send(text);
  }

  /** Queues a message; it goes out as soon as nothing runs. */
  send(content: string | ContentPart[]) {
    const text = contentText(content);
    if (this.model === "") {
      return this.#refuse(text, "No model is connected yet: /connect adds one, and the text is kept.");
    }
    if (!this.queue.enqueue(content))
      return this.#refuse(text, "The queue is full; send or drop something first (/queue).");
    this.releaseQueue();
  }

  /** Says it inside the running turn, with the next tool results. */
  steer(text: string) {
    if (!this.#turn) return this.send(text);
    this.#turn.steer(text);
    this.renderer.print([...this.#echo(text), this.ui.theme.dim("  goes with the next tool results")], "user");
  }

  releaseQueue(): void {
    if (!this.turnRunning) this.queue.release();
    this.#reportedHold = false;
    this.ui.refresh();
  }

  /** True when something was stopped. */
  interrupt(): boolean {
    if (this.#shell) {
      this.#shell.run.kill();
      return true;
    }
    if (this.#busyWait) {
      this.#busyWait.abort();
      return true;
    }
    if (!this.#turn || !this.#sending) return false;
    this.#sending.state = "stopping";
    this.#turn.abort();
    // Nobody wants the next message sent into a turn they just stopped.
    this.queue.hold();
    return true;
  }

  exit(): void {
    if (this.#exiting) return;
    this.#exiting = true;
    this.#shell?.run.kill();
    this.#busyWait?.abort();
    this.#turn?.abort();
    this.#wake.abort();
    // The last resort against a turn that does not end.
    setTimeout(() => this.#leave?.(), LEAVE_WAIT_MS).unref();
  }
  #leave: (() => void) | null = null;

  /** Resolves early when the user wants to leave and something hangs. */
  untilForced(): Promise<void> {
    return new Promise((resolve) => {
      this.#leave = resolve;
    });
  }

  cycleMode(): void {
    cycleMode(this.app.permissions);
    this.ui.refresh();
  }

  /** Goes on in another conversation, perhaps of another agent. */
  async switchTo(ref: ConversationRef): Promise<void> {
    const { backend } = this.app;
    const agent = ref.agentId === this.agent.id ? this.agent : await backend.retrieveAgent(ref.agentId);
    const conversation = await backend.retrieveConversation(ref.conversationId, ref.agentId);
    const before = this.agent.id;
    this.agent = agent;
    this.conversation = conversation;
    if (before !== agent.id) this.modelOverride = undefined;
    this.model =
      this.modelOverride || conversation.model || agent.model || (await this.app.models.defaultModel()) || "";
    this.contextWindow = null;
    this.stats.contextTokens = null;
    this.wakeUp();
    await this.remember();
  }

  /** A new conversation of the same agent. */
  async newConversation(title?: string): Promise<void> {
    const body = { agent_id: this.agent.id, ...(title && { summary: title }) };
    const created = await this.app.backend.createConversation(body);
    await this.switchTo({ agentId: this.agent.id, conversationId: created.id });
  }

  async remember(): Promise<void> {
    if (this.ephemeral) return;
    const warning = await rememberConversation(this.app, this.ref);
    if (warning) this.warn(warning);
  }

  /** The run loop looks at the current queue again. */
  wakeUp(): void {
    const wake = this.#wake;
    this.#wake = new AbortController();
    wake.abort();
  }

  /** Plain text, wrapped. */
  say(text: string): void {
    const columns = Math.max(20, this.ui.columns() - 1);
    this.print(
      toPlainText(text)
        .split("\n")
        .flatMap((line) => wrap(line, columns)),
    );
  }

  warn(text: string): void {
    const { theme } = this.ui;
    this.print(wrap(toPlainText(text), Math.max(20, this.ui.columns() - 1)).map((line) => theme.yellow(line)));
  }

  showError(error: unknown): void {
    const { theme } = this.ui;
    const lines = [theme.red(toPlainLine(errorMessage(error)))];
    if (error instanceof LettaError && error.hint) lines.push(theme.dim(`  ${toPlainLine(error.hint)}`));
    this.print(lines);
  }

  /** Lines that are plain already, apart from our styling. */
  print(lines: string[]): void {
    this.renderer.print(lines);
  }

  /** Ctrl-O: the last shortened result, whole. */
  expand(): void {
    const { lastOutput } = this.renderer;
    if (lastOutput === null) return;
    this.renderer.lastOutput = null;
    this.print(
      toPlainText(lastOutput)
        .trimEnd()
        .split("\n")
        .map((line) => `  ${this.ui.theme.dim(line)}`),
    );
  }

  #submitCommand(command: ReplCommand, args: string, text: string) {
    if (this.turnRunning && !command.whileBusy)
      return this.#refuse(text, `/${command.name} has to wait until the agent is done.`);
    if (this.#command || this.#shell) return this.#refuse(text, `/${this.#command?.name ?? "shell"} is still running.`);
    if (this.ui.interactive) this.renderer.print(this.#echo(/^\/connect\s/.test(text) ? "/connect …" : text), "user");
    const done = Promise.resolve()
      .then(() => command.run(args, this))
      .catch((error: unknown) => this.showError(error))
      .finally(() => {
        this.#command = null;
        this.ui.refresh();
      });
    this.#command = { name: command.name, startedAt: this.now(), done };
  }

  #submitShell(line: string) {
    if (this.#shell || this.turnRunning) return this.#refuse(`!${line}`, "Something is still running; Esc stops it.");
    if (this.ui.interactive) this.renderer.print([`${this.ui.theme.yellow("!")} ${toPlainText(line)}`], "user");
    let pending = "";
    const onText = (text: string): void => {
      const lines = (pending + text).split("\n");
      pending = lines.pop() ?? "";
      if (lines.length > 0) this.ui.print(lines);
    };
    const run = runShellLine(this.app, line, { ...this.ref, cwd: this.app.cwd }, onText);
    this.#shell = { run, startedAt: this.now(), line };
    this.ui.refresh();
    void run.done.then(({ exitCode, output }) => {
      this.#shell = null;
      if (pending !== "") this.ui.print([pending]);
      if (exitCode !== 0 && exitCode !== null) this.ui.print([this.ui.theme.red(`exit code ${exitCode}`)]);
      this.#shellNotes.push(shellReminder(line, output, exitCode));
      this.ui.refresh();
    });
  }

  /** Says why a line was not taken, and gives it back. */
  #refuse(text: string, reason: string): void {
    this.warn(reason);
    this.ui.setInput(text);
  }

  async #send(batch: QueueBatch): Promise<void> {
    if (batch.items.every((item) => item.source === "user")) {
      if (this.ui.interactive) this.renderer.print(this.#echo(contentText(batch.content)), "user");
    } else this.renderer.print([this.ui.theme.dim("A background task has news for the agent.")]);
    const reminders = this.#shellNotes.splice(0);
    const input: TurnInput = {
      ...this.ref,
      content: batch.content,
      otid: crypto.randomUUID(),
      approver: "front_end",
      ...(this.modelOverride && { model: this.modelOverride }),
      ...(this.#system !== undefined && { system: this.#system }),
      ...(reminders.length > 0 && { reminders }),
    };
    this.#sending = { startedAt: this.now(), tokens: 0, state: "turn" };
    try {
      await this.#runUntilFree(input);
    } finally {
      this.#sending = null;
    }
    if (this.queue.held && this.queue.length > 0 && !this.#reportedHold) {
      this.#reportedHold = true;
      this.say(`${plural(this.queue.length, "queued message")} held: Enter sends, /queue changes.`);
    }
  }

  /** A conversation someone else is working in: the user waits for it, goes elsewhere, or takes the message back. */
  async #runUntilFree(input: TurnInput): Promise<void> {
    let waiting = false;
    for (;;) {
      const busy = await this.#runTurn({ ...input, ...this.ref });
      if (!busy || this.#exiting) return;
      if (!waiting) {
        this.showError(busy);
        this.#enter("asking");
        const choice = await askBusy(this.ui);
        if (choice === "back") return this.ui.setInput(contentText(input.content ?? ""));
        if (choice === "new") await this.newConversation();
        waiting = choice === "wait";
      }
      if (!waiting) continue;
      this.#enter("waiting");
      const wait = new AbortController();
      this.#busyWait = wait;
      await pause(BUSY_RETRY_MS, wait.signal);
      this.#busyWait = null;
      if (wait.signal.aborted) return this.ui.setInput(contentText(input.content ?? ""));
    }
  }

  /** The error when the conversation is busy elsewhere; everything else has been shown. */
  async #runTurn(input: TurnInput): Promise<LettaError | null> {
    const turn = this.app.engine.submit(input);
    this.#turn = turn;
    if (this.#sending?.state === "asking") this.#enter("turn");
    const asking = new AbortController();
    let busy: LettaError | null = null;
    this.ui.refresh();
    for await (const event of turn.events) {
      if (event.type === "turn_ended" && event.result.error?.code === "busy")
        busy = new LettaError("busy", event.result.error.message);
      else this.#onEvent(event, turn, asking.signal);
      this.ui.refresh();
    }
    asking.abort();
    this.#turn = null;
    return busy;
  }

  #enter(state: "turn" | "asking" | "waiting"): void {
    if (this.#sending) this.#sending.state = state;
    this.ui.refresh();
  }

  #onEvent(event: EngineEvent, turn: Turn, ended: AbortSignal): void {
    this.renderer.show(event);
    if (event.type === "turn_started") this.#enter("turn");
    if (event.type === "approval_requested") {
      const print: AskOptions["print"] = (lines, block) => this.renderer.print(lines, block);
      const options = { ui: this.ui, cwd: this.app.cwd, signal: ended, print };
      void askApproval(event, options).then((decision) => {
        if (!decision) return;
        if (decision.behavior === "deny" && decision.interrupt) this.queue.hold();
        turn.decide(event.approvalId, decision);
      });
    } else if (event.type === "text_delta" || event.type === "reasoning_delta") {
      // Four characters are about one token; the real number comes with the step's end.
      if (this.#sending) this.#sending.tokens += event.text.length / 4;
    } else if (event.type === "step_finished" && event.usage?.context_tokens !== undefined) {
      this.stats.contextTokens = event.usage.context_tokens;
      void this.#learnWindow();
    } else if (event.type === "turn_ended") this.stats.add(event.result);
  }

  async #learnWindow(): Promise<void> {
    if (this.contextWindow !== null) return;
    try {
      this.contextWindow = (await this.app.models.resolveModel(this.model)).max_context_window;
      this.ui.refresh();
    } catch {
      /* an unknown window only means that no percentage is shown */
    }
  }

  #busy(): ReturnType<UiView["busy"]> {
    const now = this.now();
    if (this.#shell) return { activity: "Running", elapsedMs: now - this.#shell.startedAt, tokens: 0 };
    if (this.#sending) {
      const { startedAt, tokens, state } = this.#sending;
      const activity = {
        turn: this.renderer.activity,
        stopping: "Stopping",
        asking: "Busy",
        waiting: "Waiting for the other process",
      };
      return { activity: activity[state], elapsedMs: now - startedAt, tokens: Math.round(tokens) };
    }
    if (this.#command && now - this.#command.startedAt > 200)
      return { activity: `/${this.#command.name}`, elapsedMs: now - this.#command.startedAt, tokens: 0 };
    return null;
  }

  #status(): string {
    const { mode } = this.app.permissions;
    const used = this.stats.contextTokens;
    const share =
      used !== null && this.contextWindow ? `${Math.round((used / this.contextWindow) * 100)}% context` : "";
    const model =
      this.model === "" ? "no model" : `${toPlainLine(this.model)}${this.modelOverride ? " (this run)" : ""}`;
    return [toPlainLine(this.agent.name), model, mode === "standard" ? "" : mode, share].filter(Boolean).join(" · ");
  }

  #echo(text: string): string[] {
    const { theme } = this.ui;
    return toPlainText(text)
      .split("\n")
      .map((line, index) => `${index === 0 ? theme.cyan(">") : " "} ${theme.bold(line)}`);
  }
}

function contentText(content: string | ContentPart[]): string {
  if (typeof content === "string") return content;
  return content.map((part) => (part.type === "text" ? part.text : "[image]")).join("\n");
}
