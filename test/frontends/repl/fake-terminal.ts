// A terminal in memory: tests push bytes and read what a person would see. Knows the few sequences line mode uses
// (relative moves, erasing, styling) and fails on any other, so that nothing absolute slips in.

import type { Terminal } from "@/lib/terminal.ts";

export class FakeTerminal implements Terminal {
  readonly interactive = true;
  readonly typed = true;
  /** Everything written, as it was written. */
  written = "";
  suspended = 0;
  closed = false;
  #data: ((bytes: Uint8Array | null) => void) | null = null;
  #resized: () => void = () => {};
  #continued: () => void = () => {};
  #waiting: { test: () => boolean; resolve: () => void }[] = [];
  #grid: string[][] = [[]];
  #row = 0;
  #column = 0;

  constructor(
    public columns = 80,
    public rows = 24,
  ) {}

  write(text: string): void {
    this.written += text;
    this.#draw(text);
    this.#check();
  }

  drain(): Promise<void> {
    return Promise.resolve();
  }

  onData(listener: (bytes: Uint8Array | null) => void): void {
    this.#data = listener;
    this.#check();
  }

  onResize(listener: () => void): void {
    this.#resized = listener;
  }

  onContinue(listener: () => void): void {
    this.#continued = listener;
  }

  /** As the shell's `fg` does. */
  continue(): void {
    this.#continued();
  }

  suspend(): void {
    this.suspended += 1;
  }
  pause(): void {}
  resume(): void {}

  close(): void {
    this.closed = true;
    this.#check();
  }

  type(text: string): void {
    this.#data?.(new TextEncoder().encode(text));
  }

  end(): void {
    this.#data?.(null);
  }

  resize(columns: number): void {
    this.columns = columns;
    this.#resized();
  }

  get reading(): boolean {
    return this.#data !== null;
  }

  /** All rows ever shown, scrollback included, without trailing blanks. */
  screen(): string {
    return this.#grid
      .map((row) =>
        Array.from(row, (cell) => cell ?? " ")
          .join("")
          .trimEnd(),
      )
      .join("\n")
      .trimEnd();
  }

  /** Row (from the top of everything) and column of the cursor. */
  cursor(): { row: number; column: number } {
    return { row: this.#row, column: this.#column };
  }

  until(test: () => boolean): Promise<void> {
    if (test()) return Promise.resolve();
    return new Promise((resolve) => this.#waiting.push({ test, resolve }));
  }

  untilShown(text: string | RegExp): Promise<void> {
    return this.until(() => (typeof text === "string" ? this.screen().includes(text) : text.test(this.screen())));
  }

  #check(): void {
    for (const waiting of this.#waiting.splice(0)) {
      if (waiting.test()) waiting.resolve();
      else this.#waiting.push(waiting);
    }
  }

  #draw(text: string): void {
    const pattern = /\x1b\[([?>]?)([\d;]*)([A-Za-z])|\r|\n|\x07|[^\x00-\x1f\x7f]+|[\s\S]/g;
    for (const match of text.matchAll(pattern)) {
      const [token, prefix, parameters, final] = match;
      if (final !== undefined) this.#sequence(prefix ?? "", Number(parameters || 1), final, parameters ?? "");
      else if (token === "\r") this.#column = 0;
      else if (token === "\n") this.#newline();
      else if (token === "\x07") continue;
      else if (/^[^\x00-\x1f\x7f]/.test(token)) this.#print(token);
      else throw new Error(`unexpected control character ${JSON.stringify(token)}`);
    }
  }

  #sequence(prefix: string, count: number, final: string, parameters: string): void {
    if (prefix !== "" || final === "m" || final === "u") return;
    if (final === "A") this.#row = Math.max(0, this.#row - count);
    else if (final === "C") this.#column = Math.min(this.columns - 1, this.#column + count);
    else if (final === "J" && parameters === "") {
      this.#line().splice(this.#column);
      this.#grid.splice(this.#row + 1);
    } else if (final === "K" && parameters === "2") this.#line().splice(0);
    else if (final === "H" || (final === "J" && parameters === "2")) {
      this.#grid = [[]];
      this.#row = 0;
      this.#column = 0;
    } else throw new Error(`unexpected sequence CSI ${parameters}${final}`);
  }

  #print(text: string): void {
    for (const { segment } of new Intl.Segmenter().segment(text)) {
      const width = Math.max(1, Bun.stringWidth(segment));
      if (this.#column + width > this.columns) {
        this.#column = 0;
        this.#newline();
      }
      const line = this.#line();
      while (line.length < this.#column) line.push(" ");
      line[this.#column] = segment;
      for (let extra = 1; extra < width; extra++) line[this.#column + extra] = "";
      this.#column += width;
    }
  }

  #newline(): void {
    this.#row += 1;
    while (this.#grid.length <= this.#row) this.#grid.push([]);
  }

  #line(): string[] {
    const line = this.#grid[this.#row] ?? [];
    this.#grid[this.#row] = line;
    return line;
  }
}
