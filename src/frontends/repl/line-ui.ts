// Line mode without a terminal to draw on (TERM=dumb, pipes): lines in, lines out, no cursor movement, no raw keys. Input
// is taken one line at a time when someone wants it, so that a script's next line answers a question instead of
// becoming a message.

import type { Terminal } from "@/lib/terminal.ts";
import { toPlainLine } from "@/lib/terminal-text.ts";
import { type Answer, type Choice, parseAnswer, plainChoiceLines, plainChoicePrompt } from "./choice.ts";
import type { Theme } from "./theme.ts";
import type { Ui, UiHandlers, UiView } from "./ui.ts";

export interface LineUiOptions {
  terminal: Terminal;
  theme: Theme;
}

export class LineUi implements Ui {
  readonly interactive = false;
  readonly theme: Theme;
  readonly #terminal: Terminal;
  readonly #decoder = new TextDecoder();
  #lines: string[] = [];
  #partial = "";
  #ended = false;
  #waiting: ((line: string | null) => void)[] = [];
  #view: UiView | null = null;
  #handlers: UiHandlers | null = null;
  /** A prompt is on the current line. */
  #prompted = false;
  #running = false;
  /** Questions that are open: the next line is theirs. */
  #asking = 0;
  #message: ((line: string | null) => void) | null = null;

  constructor({ terminal, theme }: LineUiOptions) {
    this.#terminal = terminal;
    this.theme = theme;
  }

  columns(): number {
    return this.#terminal.columns;
  }

  print(lines: string[]): void {
    this.append(lines.map((line) => `${line}\n`).join(""));
  }

  append(text: string): void {
    if (this.#prompted) this.#terminal.write("\n");
    this.#prompted = false;
    this.#terminal.write(text);
  }

  drain(): Promise<void> {
    return this.#terminal.drain();
  }

  async choose<T>(choice: Choice<T>, signal?: AbortSignal): Promise<Answer<T> | null> {
    this.print(plainChoiceLines(choice));
    // A line typed before the question was there is the next message, not the answer.
    const ahead = this.#terminal.typed ? this.#lines.splice(0) : [];
    this.#asking += 1;
    try {
      return await this.#readAnswer(choice, signal);
    } finally {
      this.#asking -= 1;
      this.#lines.unshift(...ahead);
      this.refresh();
    }
  }

  async #readAnswer<T>(choice: Choice<T>, signal?: AbortSignal): Promise<Answer<T> | null> {
    for (;;) {
      this.append(plainChoicePrompt(choice));
      const line = await this.#readLine(signal);
      if (line === null) return null;
      const answer = parseAnswer(choice, line);
      if (answer) return answer;
      this.print([`Answer with a number (1-${choice.items.length}), or Ctrl-C for none.`]);
    }
  }

  /** A pipe or a dumb terminal cannot hide what is typed, so nothing secret is asked here. */
  async askLine(prompt: string, { hidden = false }: { hidden?: boolean } = {}): Promise<string | null> {
    if (hidden) {
      this.print([`${toPlainLine(prompt)} cannot be asked here; use \`letta connect\` or an environment variable.`]);
      return null;
    }
    this.#asking += 1;
    try {
      this.append(`${toPlainLine(prompt)} `);
      return await this.#readLine();
    } finally {
      this.#asking -= 1;
      this.refresh();
    }
  }

  setInput(text: string): void {
    this.print([`not sent: ${toPlainLine(text)}`]);
  }

  bell(): void {}
  clear(): void {}
  refresh(): void {
    if (this.#running && this.#asking === 0 && this.#view?.idle()) {
      this.#prompt();
      this.#deliver();
    }
    void this.#pump();
  }

  start(handlers: UiHandlers, view: UiView): void {
    const first = this.#view === null;
    this.#handlers = handlers;
    this.#view = view;
    if (first) this.#terminal.onData((bytes) => this.#receive(bytes));
    void this.#pump();
  }

  stop(): void {
    if (!this.#view) return;
    this.#view = null;
    for (const resolve of this.#waiting.splice(0)) resolve(null);
    this.#message?.(null);
    if (this.#prompted) this.#terminal.write("\n");
    this.#terminal.close();
  }

  /** Takes the next line as a message whenever nothing runs. */
  async #pump(): Promise<void> {
    if (this.#running) return;
    this.#running = true;
    try {
      while (this.#view?.idle()) {
        this.#prompt();
        const line = await this.#readMessage();
        this.#prompted = false;
        if (!this.#view) return;
        if (line === null) return this.#handlers?.exit();
        this.#submit(line);
      }
    } finally {
      this.#running = false;
    }
  }

  #prompt(): void {
    if (this.#prompted) return;
    this.#terminal.write("> ");
    this.#prompted = true;
  }

  #submit(line: string) {
    const text = line.trimEnd();
    if (text.trim() === "") return this.#handlers?.emptyEnter();
    const shell = text.startsWith("!");
    this.#handlers?.submit(shell ? text.slice(1).trim() : text, shell);
  }

  #receive(bytes: Uint8Array | null): void {
    if (bytes === null) {
      if (this.#partial !== "") this.#lines.push(this.#partial);
      this.#partial = "";
      this.#ended = true;
    } else {
      const pieces = (this.#partial + this.#decoder.decode(bytes, { stream: true })).split(/\r?\n/);
      this.#partial = pieces.pop() ?? "";
      this.#lines.push(...pieces);
    }
    this.#deliver();
  }

  /** To whoever asks first; a line nobody asks for is the message the prompt waits for. */
  #deliver(): void {
    while (this.#waiting.length > 0 && (this.#lines.length > 0 || this.#ended))
      this.#waiting.shift()?.(this.#lines.shift() ?? null);
    if (!this.#message || this.#asking > 0 || (this.#lines.length === 0 && !this.#ended)) return;
    const resolve = this.#message;
    this.#message = null;
    resolve(this.#lines.shift() ?? null);
  }

  #readMessage(): Promise<string | null> {
    return new Promise((resolve) => {
      this.#message = resolve;
      this.#deliver();
    });
  }

  #readLine(signal?: AbortSignal): Promise<string | null> {
    const ready = this.#lines.shift();
    if (ready !== undefined) return Promise.resolve(ready);
    if (this.#ended || signal?.aborted) return Promise.resolve(null);
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
      signal?.addEventListener(
        "abort",
        () => {
          this.#waiting = this.#waiting.filter((candidate) => candidate !== resolve);
          resolve(null);
        },
        { once: true },
      );
    });
  }
}
