// `letta` in a terminal: opens the surface, shows where one is, and runs the sitting until the user leaves. The first
// prompt comes before everything that can wait (history, the end of the conversation, questions).

import { pinnedAgentIds } from "@/agent/pins.ts";
import { openSession, planSession, type Selection, type Session, type SessionPlan } from "@/agent/resolve.ts";
import type { App } from "@/app.ts";
import { EXIT_OK, EXIT_SIGINT, EXIT_SIGTERM } from "@/exit-codes.ts";
import { LettaError } from "@/lib/errors.ts";
import { openTerminal, type Terminal } from "@/lib/terminal.ts";
import type { DreamNews } from "@/memory/reflection/service.ts";
import type { ReplCommand } from "./commands/command.ts";
import { COMMANDS } from "./commands/registry.ts";
import { complete } from "./complete.ts";
import { listCustomCommands, toReplCommand } from "./custom-commands.ts";
import { createFileIndex } from "./files.ts";
import { createHistory } from "./history.ts";
import { EXIT_WINDOW_MS } from "./limits.ts";
import { LineUi } from "./line-ui.ts";
import { sayMemoryState } from "./memory-notes.ts";
import { ReplSession } from "./session.ts";
import { askTrust, farewellLines, headerLines, offerModel, showBackfill } from "./start.ts";
import { TerminalUi } from "./terminal-ui.ts";
import { createTheme } from "./theme.ts";
import type { Ui, UiHandlers, UiView } from "./ui.ts";

export interface ReplOptions {
  /** What chooses agent, conversation and model; a person is asked where it leaves a choice. */
  selection: Selection;
  initialPrompt?: string;
  /** Default: the terminal of this process. */
  terminal?: Terminal;
  now?: () => number;
}

/** Returns the exit code. The terminal is as it was, whatever happened. */
export async function runRepl(app: App, options: ReplOptions): Promise<number> {
  const terminal = options.terminal ?? openTerminal({ dumb: app.env.dumbTerminal });
  const now = options.now ?? Date.now;
  const theme = createTheme(!app.env.noColor && terminal.interactive);
  const ui = terminal.interactive ? new TerminalUi({ terminal, theme, now }) : new LineUi({ terminal, theme });
  const signals = watchSignals(ui, now);
  try {
    const opened = await openWithChoices(app, options.selection, ui);
    if (opened) await sit({ app, opened, ui, signals, now, initialPrompt: options.initialPrompt });
    return signals.exitCode;
  } finally {
    signals.stop();
    ui.stop();
  }
}

interface Sitting {
  app: App;
  opened: Session;
  ui: Ui;
  signals: SignalWatch;
  now: () => number;
  initialPrompt: string | undefined;
}

async function sit({ app, opened, ui, signals, now, initialPrompt }: Sitting): Promise<void> {
  const history = createHistory(app.paths.history, app.settings.projectRoot ?? app.cwd);
  const session = new ReplSession({ app, ui, history, ...opened, now });
  signals.session = session;
  session.print(headerLines(app, opened, ui));
  for (const warning of opened.warnings) session.warn(warning);
  for (const { file, message } of app.settings.problems) session.warn(`${file}: ${message}`);
  app.reflection.onNews((news) => void tellNews(session, news));
  using _news = listen(app, session);
  ui.start(handlersOf(session), session.view());
  const started = begin(session, initialPrompt);
  await Promise.race([session.run().then(() => started), session.untilForced()]);
  session.renderer.print(farewellLines(session), "user");
}

/** What came of the memory's remote. */
function listen({ memorySync }: App, session: ReplSession): Disposable {
  const unsubscribe = memorySync.onNews(({ level, text }) =>
    level === "warning" ? session.warn(text) : session.say(text),
  );
  return { [Symbol.dispose]: () => void unsubscribe() };
}

/** What looking back in the background came to. */
async function tellNews(session: ReplSession, news: DreamNews): Promise<void> {
  const { describeNews } = await import("@/memory/reflection/describe.ts");
  if (!session.exiting && news.agentId === session.agent.id) session.say(describeNews(news).join("\n"));
}

/** After the first prompt is on screen. */
async function begin(session: ReplSession, initialPrompt: string | undefined): Promise<void> {
  try {
    session.history.load();
    await showBackfill(session);
    await askTrust(session);
    session.app.sessionHooks.begin(session);
    if (session.model === "") await offerModel(session);
    if (initialPrompt) session.send(initialPrompt);
    session.markStarted();
    await session.remember();
    session.app.memorySync.begin(session.agent.id);
    session.app.reflection.resume(session.agent.id);
    await sayMemoryState(session);
  } catch (error) {
    session.showError(error);
    session.markStarted();
  }
}

function handlersOf(session: ReplSession): UiHandlers {
  const files = createFileIndex(() => session.app.cwd, session.now);
  return {
    submit: (text, shell) => session.submit(text, shell),
    steer: (text) => session.steer(text),
    emptyEnter: () => session.releaseQueue(),
    interrupt: () => session.interrupt(),
    exit: () => session.exit(),
    cycleMode: () => session.cycleMode(),
    expand: () => session.expand(),
    complete: (text, cursor) => complete(text, cursor, text.startsWith("/") ? commandsOf(session) : COMMANDS, files),
  };
}

/** The written ones are read when the first `/` is typed, not before. */
function commandsOf({ app }: ReplSession): readonly ReplCommand[] {
  return [...COMMANDS, ...listCustomCommands(app).map(toReplCommand)];
}

/** Null when the user left instead of choosing. */
async function openWithChoices(app: App, selection: Selection, ui: Ui): Promise<Session | null> {
  let current = selection;
  for (;;) {
    const plan = await planSession(app, current);
    if (!("choose" in plan)) return openSession(app, plan satisfies SessionPlan);
    const { agentChoice, conversationChoice } = await import("./pickers.ts");
    const now = Date.now();
    if (plan.choose === "agent") {
      const pinned = pinnedAgentIds(app.settings.user, app.serverKey);
      const picked = await ask(ui, () => ui.choose(agentChoice(plan.agents, { pinned, current: null, now })));
      const id = picked?.values[0];
      if (!id) return null;
      current = { ...current, agent: id };
    } else {
      const choice = await conversationChoice(app.backend, plan.agent, now);
      if (choice.items.length === 0)
        throw new LettaError("not_found", `${plan.agent.name} has no conversation to resume`, {
          hint: "Start one with: letta --new",
        });
      const picked = await ask(ui, () => ui.choose(choice));
      const id = picked?.values[0];
      if (!id) return null;
      current = { ...current, agent: plan.agent.id, conversation: id, chooseConversation: false };
    }
  }
}

/** A question before the sitting has begun: there is nothing else to show or to interrupt. */
async function ask<T>(ui: Ui, question: () => Promise<T>): Promise<T> {
  ui.start(NO_HANDLERS, EMPTY_VIEW);
  return question();
}

const NO_HANDLERS: UiHandlers = {
  submit() {},
  steer() {},
  emptyEnter() {},
  interrupt: () => false,
  exit() {},
  cycleMode() {},
  expand() {},
  complete: async () => null,
};

const EMPTY_VIEW: UiView = {
  live: () => [],
  busy: () => null,
  idle: () => false,
  queue: () => [],
  status: () => "",
  history: () => [],
};

interface SignalWatch {
  /** Null while agent and conversation are still being chosen. */
  session: ReplSession | null;
  exitCode: number;
  stop(): void;
}

/** A closed terminal or a polite kill ends the sitting in order: the turn is aborted, its state is saved, the terminal
 *  restored. SIGINT is what Ctrl-C sends where keys cannot be read: it stops what runs, and twice it leaves. */
function watchSignals(ui: Ui, now: () => number): SignalWatch {
  const end = (exitCode: number): void => {
    watch.exitCode = exitCode;
    if (watch.session) watch.session.exit();
    else ui.stop();
  };
  let armedAt = Number.NEGATIVE_INFINITY;
  const interrupt = () => {
    if (watch.session?.interrupt()) return;
    const at = now();
    if (ui.interactive || !watch.session) return end(EXIT_SIGINT);
    if (at - armedAt <= EXIT_WINDOW_MS) return end(EXIT_OK);
    armedAt = at;
    watch.session.say("Ctrl-C again to leave.");
  };
  const terminate = (): void => end(EXIT_SIGTERM);
  const watch: SignalWatch = {
    session: null,
    exitCode: EXIT_OK,
    stop() {
      process.off("SIGINT", interrupt);
      process.off("SIGTERM", terminate);
      process.off("SIGHUP", terminate);
    },
  };
  process.on("SIGINT", interrupt);
  process.on("SIGTERM", terminate);
  process.on("SIGHUP", terminate);
  return watch;
}
