// One sitting: the current agent and conversation, the running turn, and where typed lines go. The engine decides
// everything about a turn; this decides what is sent when, and shows what comes back.

import type { App } from "@/app.ts";
import type { ConversationRef } from "@/backend/backend.ts";
import type { AgentState, ContentPart, Conversation, UsageStatistics } from "@/backend/wire.ts";
import type { TurnQueue } from "@/engine/queue.ts";
import { describeError } from "@/lib/errors.ts";
import { toPlainLine, toPlainText, wrap } from "@/lib/terminal-text.ts";
import type { ReplCommand } from "./commands/command.ts";
import { findCommand, nearestCommand } from "./commands/registry.ts";
import { findCustomCommand } from "./custom-commands.ts";
import type { History } from "./history.ts";
import { cycleMode } from "./mode.ts";
import { shownText } from "./prompt-message.ts";
import { rememberConversation } from "./remember.ts";
import { EventRenderer } from "./renderer.ts";
import { ShellMode } from "./shell-mode.ts";
import { Stats } from "./stats.ts";
import { SYMBOLS } from "./theme.ts";
import { TurnRunner } from "./turn-runner.ts";
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
  /** Instead of the agent's own, in this process. */
  readonly systemOverride: string | undefined;
  readonly #turns: TurnRunner;
  readonly #shell: ShellMode;
  /** A command that keeps the next message waiting (compaction, switching). */
  #command: { name: string; startedAt: number; done: Promise<void> } | null = null;
  #wake = new AbortController();
  /** What is asked before the first message has been answered. */
  #started = false;
  #exiting = false;
  #leave: (() => void) | null = null;

  constructor(options: SessionOptions) {
    this.app = options.app;
    this.ui = options.ui;
    this.history = options.history;
    this.agent = options.agent;
    this.conversation = options.conversation;
    this.model = options.model;
    this.modelOverride = options.modelOverride;
    this.systemOverride = options.systemOverride;
    this.ephemeral = options.ephemeral ?? false;
    this.now = options.now ?? Date.now;
    this.stats = new Stats(this.now());
    this.#turns = new TurnRunner(this);
    this.#shell = new ShellMode({
      app: this.app,
      place: () => this.ref,
      print: (lines) => this.ui.print(lines),
      paintError: this.ui.theme.red,
      now: this.now,
    });
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
    return this.#turns.running;
  }

  view(): UiView {
    return {
      live: (rows) => this.renderer.liveLines(rows),
      busy: () => this.#busy(),
      idle: () =>
        this.#started &&
        !this.turnRunning &&
        this.#shell.startedAt === null &&
        !this.#command &&
        (this.queue.length === 0 || this.queue.held),
      queue: () => this.queue.list().map((item) => shownText(item.content)),
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
      if (batch) await this.#turns.send(batch, this.#shell.takeNotes());
    }
  }

  /** A typed line: a command, a shell line, or a message. */
  submit(text: string, shell: boolean) {
    this.history.add(shell ? `!${text}` : text.startsWith("!") ? ` ${text}` : text);
    if (shell) return this.#submitShell(text);
    if (/^(?:exit|quit)$/i.test(text.trim())) return this.exit();
    const word = /^\/(\S*)\s*([\s\S]*)$/.exec(text);
    const command = word && (findCommand(word[1] ?? "") ?? findCustomCommand(this.app, word[1] ?? ""));
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
    const text = shownText(content);
    if (this.model === "") {
      return this.#refuse(text, "No model is connected yet: /connect adds one, and the text is kept.");
    }
    if (!this.queue.enqueue(content))
      return this.#refuse(text, "The queue is full; send or drop something first (/queue).");
    this.releaseQueue();
  }

  /** Says it inside the running turn, with the next tool results. */
  steer(text: string) {
    if (!this.#turns.steer(text)) return this.send(text);
    this.renderer.print([...this.echo(text), this.ui.theme.dim("  goes with the next tool results")], "user");
  }

  releaseQueue(): void {
    if (!this.turnRunning) this.queue.release();
    this.ui.refresh();
  }

  /** True when something was stopped. */
  interrupt(): boolean {
    if (this.#shell.startedAt !== null) {
      this.#shell.kill();
      return true;
    }
    return this.#turns.interrupt();
  }

  exit(): void {
    if (this.#exiting) return;
    this.#exiting = true;
    this.#shell.kill();
    this.#turns.interrupt();
    this.#wake.abort();
    // The last resort against a turn that does not end.
    setTimeout(() => this.#leave?.(), LEAVE_WAIT_MS).unref();
  }

  /** Resolves early when the user wants to leave and something hangs. */
  untilForced(): Promise<void> {
    return new Promise((resolve) => {
      this.#leave = resolve;
    });
  }

  /** From now on a line is a message. */
  markStarted(): void {
    this.#started = true;
    this.ui.refresh();
  }

  get exiting(): boolean {
    return this.#exiting;
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

  /** For all conversations of the agent. */
  async useModel(handle: string): Promise<void> {
    this.agent = await this.app.backend.updateAgent(this.agent.id, { model: handle });
    this.modelOverride = undefined;
    this.model = handle;
    this.contextWindow = null;
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
    this.print(this.#wrap(toPlainText(text)));
  }

  warn(text: string): void {
    this.print(this.#wrap(toPlainText(text)).map(this.ui.theme.yellow));
  }

  showError(error: unknown): void {
    const { theme } = this.ui;
    const { message, hint } = describeError(error);
    const lines = this.#wrap(toPlainLine(message), 2);
    this.print([
      ...lines.map((line, index) => theme.red(`${index === 0 ? SYMBOLS.error : " "} ${line}`)),
      ...(hint ? this.#wrap(toPlainLine(hint), 2).map((line) => theme.dim(`  ${line}`)) : []),
    ]);
  }

  #wrap(text: string, indent = 0): string[] {
    const columns = Math.max(20, this.ui.columns() - 1 - indent);
    return text.split("\n").flatMap((line) => wrap(line, columns));
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
    if (this.#command || this.#shell.startedAt !== null)
      return this.#refuse(text, `/${this.#command?.name ?? "shell"} is still running.`);
    const shown = command.echo && args ? `/${command.name} ${command.echo(args)}` : text;
    if (this.ui.interactive && !command.isMessage) this.renderer.print(this.echo(shown), "user");
    let running: Promise<void> | undefined;
    try {
      running = command.run(args, this) ?? undefined;
    } catch (error) {
      this.showError(error);
    }
    if (!running) return this.ui.refresh();
    const done = running
      .catch((error: unknown) => this.showError(error))
      .finally(() => {
        this.#command = null;
        this.ui.refresh();
      });
    this.#command = { name: command.name, startedAt: this.now(), done };
  }

  #submitShell(line: string) {
    if (this.#shell.startedAt !== null || this.turnRunning)
      return this.#refuse(`!${line}`, "Something is still running; Esc stops it.");
    if (this.ui.interactive) this.renderer.print([`${this.ui.theme.yellow("!")} ${toPlainText(line)}`], "user");
    void this.#shell.run(line).then(() => this.ui.refresh());
    this.ui.refresh();
  }

  /** Says why a line was not taken, and gives it back. */
  #refuse(text: string, reason: string): void {
    this.warn(reason);
    this.ui.setInput(text);
  }

  /** How full the window is, after each step. */
  learnContext(usage: UsageStatistics | null): void {
    if (usage?.context_tokens === undefined) return;
    this.stats.contextTokens = usage.context_tokens;
    if (this.contextWindow !== null) return;
    const unknown = (): null => null; // only means that no percentage is shown
    void this.app.models.resolveModel(this.model).then((record) => {
      this.contextWindow = record.max_context_window;
      this.ui.refresh();
    }, unknown);
  }

  #busy(): ReturnType<UiView["busy"]> {
    const now = this.now();
    if (this.#shell.startedAt !== null)
      return { activity: "Running", elapsedMs: now - this.#shell.startedAt, tokens: 0 };
    const turn = this.#turns.busy();
    if (turn) return turn;
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

  /** A line of the user's as it stands in the scrollback. */
  echo(text: string): string[] {
    const { theme } = this.ui;
    return toPlainText(text)
      .split("\n")
      .map((line, index) => `${index === 0 ? theme.cyan(">") : " "} ${theme.bold(line)}`);
  }
}
