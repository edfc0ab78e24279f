// Where `letta demo` is shown: line mode's own surface when a person can answer, plain lines otherwise.

import type { Decision } from "@/engine/events.ts";
import { EXIT_SIGINT } from "@/exit-codes.ts";
import {
  type ApprovalRequest,
  approvalBlock,
  approvalChoice,
  decisionLine,
  toDecision,
} from "@/frontends/repl/approval.ts";
import { LineUi } from "@/frontends/repl/line-ui.ts";
import { TerminalUi } from "@/frontends/repl/terminal-ui.ts";
import { createTheme, type Theme } from "@/frontends/repl/theme.ts";
import type { Ui } from "@/frontends/repl/ui.ts";
import { openTerminal } from "@/lib/terminal.ts";
import type { Env } from "@/store/env.ts";
import type { Io } from "./io.ts";

export interface DemoSurface {
  readonly theme: Theme;
  /** Text comes in finished, formatted blocks; otherwise as it streams. */
  readonly blocks: boolean;
  /** Nobody reads any more. */
  readonly closed: boolean;
  columns(): number;
  print(lines: string[]): void;
  append(text: string): void;
  start(view: DemoView): void;
  refresh(): void;
  /** Shows the request and answers it, by asking the person where there is one. */
  decide(request: ApprovalRequest, context: DecideContext): Promise<Decision>;
  /** The last words, after the bottom area is gone. */
  finish(lines: string[]): void;
  close(): void;
}

export interface DemoView {
  live(rows: number): string[];
  activity(): string;
  /** Ctrl-C, Ctrl-D. */
  stop(exitCode: number): void;
}

export interface DecideContext {
  cwd: string;
  print(lines: string[]): void;
}

export function openDemoSurface(options: { env: Env; io: Io; attended: boolean }): DemoSurface {
  return options.attended ? openAttended(options) : openPlain(options);
}

function openAttended({ env, io }: { env: Env; io: Io }): DemoSurface {
  const theme = createTheme(io.color);
  const terminal = openTerminal({ dumb: env.dumbTerminal });
  const ui: Ui = terminal.interactive
    ? new TerminalUi({ terminal, theme, now: Date.now })
    : new LineUi({ terminal, theme });
  const startedAt = Date.now();
  const before: string[] = [];
  let started = false;
  return {
    theme,
    blocks: ui.interactive,
    closed: false,
    columns: () => ui.columns(),
    print: (lines) => (started ? ui.print(lines) : before.push(...lines)),
    append: (text) => ui.append(text),
    refresh: () => ui.refresh(),
    start(view) {
      started = true;
      ui.print(before);
      ui.start(handlersOf(ui, view), {
        live: view.live,
        busy: () => ({ activity: view.activity(), elapsedMs: Date.now() - startedAt, tokens: 0 }),
        idle: () => false,
        queue: () => [],
        status: () => "demo · scripted stand-in",
        history: () => [],
      });
    },
    async decide(request, { cwd, print }) {
      print(approvalBlock(request, { theme, columns: ui.columns(), cwd }));
      const decision = toDecision(request, await ui.choose(approvalChoice(request)));
      print([decisionLine(decision, theme)]);
      return decision;
    },
    finish(lines) {
      ui.stop();
      io.stdout(lines.map((line) => `${line}\n`).join(""));
    },
    close() {
      ui.stop();
      terminal.close();
    },
  };
}

function handlersOf(ui: Ui, view: DemoView): Parameters<Ui["start"]>[0] {
  const busy = () => ui.print([ui.theme.dim("The stand-in cannot listen. Start `letta` to talk to a model.")]);
  const leave = () => view.stop(EXIT_SIGINT);
  return {
    submit: busy,
    steer: busy,
    emptyEnter: () => {},
    interrupt() {
      leave();
      return true;
    },
    exit: leave,
    cycleMode: () => {},
    expand: () => {},
    complete: async () => null,
  };
}

/** A pipe, a file, or `--yes`: lines only, and the approval is answered with yes. */
function openPlain({ io }: { io: Io }): DemoSurface {
  const theme = createTheme(io.color);
  const print = (lines: string[]) => io.stdout(lines.map((line) => `${line}\n`).join(""));
  return {
    theme,
    blocks: true,
    get closed() {
      return io.closed;
    },
    columns: () => io.width,
    print,
    append: (text) => io.stdout(text),
    start: () => {},
    refresh: () => {},
    async decide(request, context) {
      context.print([
        ...approvalBlock(request, { theme, columns: io.width, cwd: context.cwd }),
        ...approvalChoice(request).items.map(({ label }, index) => `  ${index + 1}. ${label}`),
        theme.dim("  Here you would be asked. The demo answers yes: the script is its own."),
      ]);
      return { behavior: "allow" };
    },
    finish: print,
    close: () => {},
  };
}
