// Line mode on a real terminal: keys to the editor or to an open question, and one bottom area under the scrollback
// (what still changes, the queue, the status, the input, completions). Painting is coalesced: the first change shows at
// once, further ones within the same frame wait for its end.

import type { Terminal } from "@/lib/terminal.ts";
import { type Key, KeyDecoder } from "@/lib/terminal-keys.ts";
import { toPlainLine, truncate } from "@/lib/terminal-text.ts";
import {
  type BottomStyle,
  completionLines,
  fieldArea,
  inputArea,
  inputColumns,
  type OpenCompletion,
  queueLines,
} from "./bottom-view.ts";
import { type Answer, type Choice, type ChoiceState, choiceKey, choiceLines, editField, openChoice } from "./choice.ts";
import {
  clearEditor,
  type EditorEffect,
  type EditorState,
  editorKey,
  emptyEditor,
  replaceRange,
  withText,
} from "./editor.ts";
import { CLEAR_WINDOW_MS, EXIT_WINDOW_MS, QUESTION_GUARD_MS } from "./limits.ts";
import { busyLine } from "./renderer.ts";
import { type Bottom, Screen } from "./screen.ts";
import { SYMBOLS, type Theme } from "./theme.ts";
import type { Ui, UiHandlers, UiView } from "./ui.ts";

const FRAME_MS = 16;
const SPINNER_MS = 100;
/** A lone ESC is the Escape key when nothing follows for this long; a paste may pause longer. */
const ESCAPE_MS = 40;
const PASTE_MS = 2000;

interface OpenQuestion {
  state: ChoiceState<unknown>;
  openedAt: number;
  finish(answer: Answer<unknown> | null): void;
}

interface OpenLine {
  prompt: string;
  text: string;
  hidden: boolean;
  finish(text: string | null): void;
}

export interface TerminalUiOptions {
  terminal: Terminal;
  theme: Theme;
  now(): number;
}

export class TerminalUi implements Ui {
  readonly interactive = true;
  readonly theme: Theme;
  readonly #terminal: Terminal;
  readonly #screen: Screen;
  readonly #decoder = new KeyDecoder();
  readonly #now: () => number;
  #handlers: UiHandlers | null = null;
  #view: UiView | null = null;
  #editor: EditorState = emptyEditor();
  #completion: OpenCompletion | null = null;
  #question: OpenQuestion | null = null;
  #line: OpenLine | null = null;
  /** Questions are asked one after the other. */
  #turnstile: Promise<unknown> = Promise.resolve();
  #flushTimer: Timer | undefined;
  #frameTimer: Timer | undefined;
  #spinner: Timer | undefined;
  #frame = 0;
  #lastFrameAt = Number.NEGATIVE_INFINITY;
  #lastKeyAt = Number.NEGATIVE_INFINITY;
  #exitArmedAt = Number.NEGATIVE_INFINITY;
  #escapedAt = Number.NEGATIVE_INFINITY;
  #hint = "";
  /** Stopped like by a shell's Ctrl-Z: until it is continued the terminal is someone else's. */
  #suspended = false;

  constructor({ terminal, theme, now }: TerminalUiOptions) {
    this.#terminal = terminal;
    this.theme = theme;
    this.#now = now;
    this.#screen = new Screen(terminal);
  }

  columns(): number {
    return this.#terminal.columns;
  }

  print(lines: string[]): void {
    for (const line of lines) this.#screen.commit(line);
    this.refresh();
  }

  append(text: string): void {
    this.print(text.split("\n"));
  }

  drain(): Promise<void> {
    return this.#terminal.drain();
  }

  choose<T>(choice: Choice<T>, signal?: AbortSignal): Promise<Answer<T> | null> {
    return this.#inTurn((resolve) => {
      if (signal?.aborted) return resolve(null);
      const finish = (answer: Answer<unknown> | null): void => {
        this.#question = null;
        resolve(answer as Answer<T> | null);
        this.refresh();
      };
      signal?.addEventListener("abort", () => this.#question?.finish === finish && finish(null), { once: true });
      this.#question = { state: openChoice(choice) as ChoiceState<unknown>, openedAt: this.#now(), finish };
      this.#completion = null;
    });
  }

  askLine(prompt: string, { hidden = false }: { hidden?: boolean } = {}): Promise<string | null> {
    return this.#inTurn((resolve) => {
      const finish = (text: string | null): void => {
        this.#line = null;
        resolve(text);
        this.refresh();
      };
      this.#line = { prompt: toPlainLine(prompt), text: "", hidden, finish };
    });
  }

  /** Opens a question when those before it are answered. Null when the surface is closed by then. */
  #inTurn<T>(open: (resolve: (answer: T | null) => void) => void): Promise<T | null> {
    const answer = this.#turnstile.then(() => {
      if (!this.#view) return null;
      const { promise, resolve } = Promise.withResolvers<T | null>();
      open(resolve);
      this.refresh();
      return promise;
    });
    this.#turnstile = answer;
    return answer;
  }

  setInput(text: string): void {
    // What is being typed comes after it; nothing is lost.
    const typed = this.#editor.text;
    this.#editor = withText(this.#editor, typed === "" ? text : `${text}\n${typed}`);
    this.refresh();
  }

  bell(): void {
    this.#terminal.write("\x07");
  }

  clear(): void {
    this.#screen.clear();
    this.refresh();
  }

  refresh(): void {
    if (!this.#view) return;
    this.#updateSpinner();
    const now = this.#now();
    const wait = this.#lastFrameAt + FRAME_MS - now;
    if (wait <= 0) {
      this.#lastFrameAt = now;
      this.#paint();
    } else this.#frameTimer ??= setTimeout(() => this.#paint(), wait);
  }

  start(handlers: UiHandlers, view: UiView): void {
    const first = this.#view === null;
    this.#handlers = handlers;
    this.#view = view;
    this.#paint();
    if (!first) return;
    this.#terminal.onData((bytes) => this.#receive(bytes));
    this.#terminal.onResize(() => this.#paint());
    this.#terminal.onContinue(() => {
      this.#suspended = false;
      this.#screen.forget();
      this.#paint();
    });
  }

  stop(): void {
    if (!this.#view) return;
    this.#view = null;
    clearTimeout(this.#flushTimer);
    clearTimeout(this.#frameTimer);
    clearInterval(this.#spinner);
    this.#question?.finish(null);
    this.#line?.finish(null);
    this.#screen.leave();
    this.#terminal.close();
  }

  #receive(bytes: Uint8Array | null) {
    if (!this.#view) return;
    if (bytes === null) return this.#handlers?.exit();
    clearTimeout(this.#flushTimer);
    for (const key of this.#decoder.push(bytes)) this.#onKey(key);
    if (this.#decoder.waiting) {
      const wait = this.#decoder.pasting ? PASTE_MS : ESCAPE_MS;
      this.#flushTimer = setTimeout(() => {
        for (const key of this.#decoder.flush()) this.#onKey(key);
        this.refresh();
      }, wait);
    }
    // Echo is what one feels: typed keys are painted at once, not with the next frame.
    this.#paint();
  }

  #onKey(key: Key) {
    const now = this.#now();
    const typing = now - this.#lastKeyAt < QUESTION_GUARD_MS && key.name !== "escape" && !key.ctrl;
    this.#lastKeyAt = now;
    this.#hint = "";
    if (this.#line) return this.#lineKey(this.#line, key);
    // A question that opened under someone's fingers must not take the rest of their word as the answer.
    const surprised = this.#question && now - this.#question.openedAt < QUESTION_GUARD_MS && typing;
    if (this.#question && !surprised) return this.#questionKey(this.#question, key);
    if (surprised && this.#question) this.#question.openedAt = now;
    if (this.#completion && this.#completionKey(this.#completion, key)) return;
    const before = this.#editor;
    const { state, effect } = editorKey(this.#withHistory(), key, inputColumns(this.#terminal.columns));
    this.#editor = state;
    if (effect) this.#apply(effect, before);
    if (state.text !== before.text || state.cursor !== before.cursor) this.#suggest();
  }

  #withHistory(): EditorState {
    return this.#view ? { ...this.#editor, history: this.#view.history() } : this.#editor;
  }

  #apply(effect: EditorEffect, before: EditorState) {
    const handlers = this.#handlers;
    if (!handlers) return;
    switch (effect.type) {
      case "submit":
        this.#completion = null;
        return handlers.submit(effect.text, effect.shell);
      case "steer":
        return handlers.steer(effect.text);
      case "empty_enter":
        return handlers.emptyEnter();
      case "interrupt":
        return this.#interrupt(before);
      case "escape":
        return this.#escape();
      case "eof":
        return handlers.exit();
      case "complete":
        if (effect.backwards) handlers.cycleMode();
        return;
      case "clear_screen":
        return this.#screen.clear();
      case "suspend":
        this.#screen.leave();
        this.#suspended = true;
        return this.#terminal.suspend();
      case "expand":
        return handlers.expand();
      default:
        effect satisfies never;
    }
  }

  /** Ctrl-C: stop what runs, else clear the line, else (twice) leave. */
  #interrupt(before: EditorState) {
    if (this.#handlers?.interrupt()) return;
    const now = this.#now();
    if (before.text !== "" || before.shell) {
      this.#editor = { ...clearEditor(this.#editor), shell: false };
      this.#exitArmedAt = Number.NEGATIVE_INFINITY;
      return;
    }
    if (now - this.#exitArmedAt <= EXIT_WINDOW_MS) return this.#handlers?.exit();
    this.#exitArmedAt = now;
    this.#hint = "Ctrl-C again to leave";
  }

  /** Esc: stop what runs, else (twice) clear the line. */
  #escape(): void {
    if (this.#handlers?.interrupt()) return;
    if (this.#editor.text === "") return;
    const now = this.#now();
    if (now - this.#escapedAt <= CLEAR_WINDOW_MS) {
      this.#editor = { ...clearEditor(this.#editor), shell: false };
      this.#escapedAt = Number.NEGATIVE_INFINITY;
      return;
    }
    this.#escapedAt = now;
    this.#hint = "Esc again to clear the line";
  }

  #questionKey(question: OpenQuestion, key: Key): void {
    const step = choiceKey(question.state, key);
    if ("done" in step) question.finish(step.done);
    else question.state = step.state;
  }

  #lineKey(line: OpenLine, key: Key) {
    if (key.name === "enter") return line.finish(line.text.trim());
    if (key.name === "escape" || (key.ctrl && (key.name === "c" || key.name === "d"))) return line.finish(null);
    line.text = editField(line.text, key);
  }

  /** True when the key belonged to the open completion list. */
  #completionKey(completion: OpenCompletion, key: Key): boolean {
    const { found, selected } = completion;
    const count = found.candidates.length;
    const candidate = found.candidates[selected];
    if (key.name === "up" || key.name === "down") {
      completion.selected = (selected + (key.name === "up" ? -1 : 1) + count) % count;
      return true;
    }
    if (key.name === "escape") {
      this.#completion = null;
      return true;
    }
    const isCommand = this.#editor.text.startsWith("/");
    const takes = key.name === "tab" && !key.shift ? true : key.name === "enter" && !key.shift && !key.alt && !key.ctrl;
    if (!takes || !candidate || (key.name === "enter" && !isCommand && selected === 0)) return false;
    const typed = this.#editor.text.slice(found.start, found.end);
    // Enter runs what was typed when that is a whole command; otherwise the selected one.
    if (key.name === "enter" && found.candidates.some(({ text }) => text.trim() === typed.trim())) return false;
    const insert = key.name === "enter" && isCommand ? candidate.text.trimEnd() : candidate.text;
    this.#editor = replaceRange(this.#editor, found.start, found.end, insert);
    this.#completion = null;
    if (key.name === "tab") this.#suggest();
    // A command's Enter goes on to the editor and runs it.
    return !(key.name === "enter" && isCommand);
  }

  #suggest(): void {
    const { text, cursor, shell } = this.#editor;
    this.#completion = null;
    if (shell || this.#editor.entry !== null || this.#editor.search) return;
    void this.#handlers?.complete(text, cursor).then((found) => {
      // The answer to an older input is of no use.
      if (this.#editor.text !== text || this.#editor.cursor !== cursor) return;
      this.#completion = found && found.candidates.length > 0 ? { found, selected: 0 } : null;
      this.refresh();
    });
  }

  #updateSpinner(): void {
    const busy = this.#view?.busy() ?? null;
    if (busy && !this.#spinner) {
      this.#spinner = setInterval(() => {
        this.#frame += 1;
        // Not counted as a frame: the next word must not wait for the spinner.
        this.#paint();
      }, SPINNER_MS);
    } else if (!busy && this.#spinner) {
      clearInterval(this.#spinner);
      this.#spinner = undefined;
    }
  }

  #paint(): void {
    clearTimeout(this.#frameTimer);
    this.#frameTimer = undefined;
    if (!this.#view || this.#suspended) return;
    this.#screen.paint(this.#bottom(this.#view));
  }

  #bottom(view: UiView): Bottom {
    const { columns, rows } = this.#terminal;
    const style = { theme: this.theme, columns, rows };
    const input = this.#inputLines(style);
    // A question stands alone: what else happens is shown again after the answer.
    const asking = this.#question !== null || this.#line !== null;
    const busy = asking ? null : view.busy();
    const frame = SYMBOLS.spinner[this.#frame % SYMBOLS.spinner.length] ?? "";
    const head = asking
      ? []
      : [...(busy ? [busyLine({ ...busy, frame }, this.theme, columns)] : []), ...queueLines(view.queue(), style)];
    const status = asking ? "" : view.status();
    const statusLines = status ? [this.theme.dim(truncate(status, columns - 1))] : [];
    const room = rows - 2 - head.length - statusLines.length - input.lines.length;
    const live = asking ? [] : view.live(Math.max(0, room));
    const above = [...live, "", ...head, ...statusLines];
    return {
      lines: [...above, ...input.lines],
      cursor: input.cursor && { ...input.cursor, row: input.cursor.row + above.length },
    };
  }

  #inputLines(style: BottomStyle): Bottom {
    if (this.#question) return choiceLines(this.#question.state, this.theme, style.columns);
    if (this.#line) return fieldArea(this.#line, style.columns);
    const input = inputArea(this.#editor, style);
    const below = this.#completion ? completionLines(this.#completion, style) : [];
    const hint = this.#hint ? [this.theme.dim(this.#hint)] : [];
    return { lines: [...input.lines, ...below, ...hint], cursor: input.cursor };
  }
}
