// What line mode needs from its surface. Two exist: `terminal-ui.ts` (raw keys, a bottom area that is drawn again) and
// `line-ui.ts` (dumb terminals and pipes: lines in, lines out). Session and commands know only this interface.

import type { Answer, Choice } from "./choice.ts";
import type { Theme } from "./theme.ts";

export interface Ui {
  readonly interactive: boolean;
  readonly theme: Theme;
  columns(): number;
  /** Finished lines. They must be plain (terminal-text.ts) apart from our own styling. */
  print(lines: string[]): void;
  /** Text without a newline at its end; plain surface only. */
  append(text: string): void;
  /** Resolves when what was printed is (nearly) out. */
  drain(): Promise<void>;
  /** Null when it was cancelled. One question at a time: a second one waits. */
  choose<T>(choice: Choice<T>, signal?: AbortSignal): Promise<Answer<T> | null>;
  /** One line, not remembered; null when cancelled. `hidden`: stars instead of letters. */
  askLine(prompt: string, options?: { hidden?: boolean }): Promise<string | null>;
  /** Puts a text back into the input line, before what is being typed. */
  setInput(text: string): void;
  bell(): void;
  /** An empty screen; the scrollback stays. */
  clear(): void;
  /** Something that is shown has changed. */
  refresh(): void;
  /** Shows the prompt and reads input until `stop`. Called again, it goes on with other handlers. */
  start(handlers: UiHandlers, view: UiView): void;
  /** Removes the bottom area and gives the terminal back. */
  stop(): void;
}

export interface UiHandlers {
  /** A message, a command, or (`shell`) a line for the user's shell. */
  submit(text: string, shell: boolean): void;
  /** Say it now. */
  steer(text: string): void;
  /** Enter on an empty line. */
  emptyEnter(): void;
  /** Ctrl-C or Esc. True when something was interrupted. */
  interrupt(): boolean;
  /** Ctrl-D on an empty line, a second Ctrl-C, or the end of the input. */
  exit(): void;
  cycleMode(): void;
  expand(): void;
  complete(text: string, cursor: number): Promise<Completion | null>;
}

/** What the bottom area shows besides the input; asked for at each paint. */
export interface UiView {
  live(rows: number): string[];
  /** Null when nothing runs. */
  busy(): { activity: string; elapsedMs: number; tokens: number } | null;
  /** Nothing runs or waits: the next line is a message. */
  idle(): boolean;
  /** One per waiting message. */
  queue(): string[];
  status(): string;
  history(): readonly string[];
}

export interface Completion {
  /** Range of the input that a candidate replaces. */
  start: number;
  end: number;
  candidates: { text: string; hint?: string }[];
}
