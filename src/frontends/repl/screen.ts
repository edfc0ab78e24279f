// Paints the bottom area: a few lines that are erased and drawn again, under a scrollback that is only ever appended
// to. No alternate screen and no absolute positions: every move is relative to where the last paint left the cursor.
// Unchanged lines are not written again, so that a selection with the mouse survives a running spinner.

import { textWidth, truncate } from "@/lib/terminal-text.ts";

export interface ScreenOutput {
  write(text: string): void;
  readonly columns: number;
  readonly rows: number;
}

export interface Bottom {
  /** One row each, narrower than the terminal; longer ones are cut. */
  lines: string[];
  /** Where the cursor stands; hidden when null. */
  cursor: { row: number; column: number } | null;
}

interface Drawn {
  lines: string[];
  row: number;
  columns: number;
}

/** Terminals that know it show the frame at once; the others ignore it. */
const BEGIN = "\x1b[?2026h";
const END = "\x1b[?2026l";

export class Screen {
  #drawn: Drawn | null = null;
  #commits: string[] = [];

  constructor(private readonly output: ScreenOutput) {}

  /** Finished output, one or more lines; appears above the bottom area with the next paint. */
  commit(text: string): void {
    this.#commits.push(...text.split("\n"));
  }

  paint(bottom: Bottom): void {
    const columns = this.output.columns;
    const lines = fit(bottom.lines, columns, this.output.rows);
    const dropped = bottom.lines.length - lines.length;
    const row = bottom.cursor ? Math.max(0, bottom.cursor.row - dropped) : Math.max(0, lines.length - 1);
    const column = bottom.cursor ? Math.min(bottom.cursor.column, columns - 1) : 0;
    const commits = this.#commits.splice(0);
    const same = commits.length === 0 && this.#drawn?.columns === columns ? this.#drawn.lines : null;
    let frame = this.#toTop(columns);
    if (commits.length > 0) frame += `\x1b[J${commits.join("\r\n")}\r\n`;
    frame += lines.map((line, index) => (same && same[index] === line ? "" : `\r\x1b[2K${line}`)).join("\r\n");
    const last = Math.max(0, lines.length - 1);
    // After the last line, because `J` at its end could take the cell of a full row.
    if (!same || same.length > lines.length) frame += same ? "\r\n\x1b[J\x1b[A" : "\x1b[J";
    frame += `\r${up(last - row)}${column > 0 ? `\x1b[${column}C` : ""}`;
    this.output.write(`${BEGIN}\x1b[?25l${frame}${bottom.cursor ? "\x1b[?25h" : ""}${END}`);
    this.#drawn = { lines, row, columns };
  }

  /** Removes the bottom area and prints what waits: the terminal belongs to someone else now. */
  leave(): void {
    const commits = this.#commits.splice(0);
    this.output.write(
      `${this.#toTop(this.output.columns)}\x1b[J${commits.map((line) => `${line}\r\n`).join("")}\x1b[?25h`,
    );
    this.#drawn = null;
  }

  /** Ctrl-L: an empty screen with the bottom area at its top. */
  clear(): void {
    this.output.write("\x1b[H\x1b[2J");
    this.#drawn = null;
  }

  /** Someone else has written to the terminal: the next paint starts on the current line. */
  forget(): void {
    this.#drawn = null;
  }

  /** Cursor to the first cell of the drawn area. A narrower terminal has broken the old lines over more rows. */
  #toTop(columns: number): string {
    if (!this.#drawn) return "\r";
    const above = this.#drawn.lines
      .slice(0, this.#drawn.row)
      .reduce((rows, line) => rows + Math.max(1, Math.ceil(textWidth(line) / columns)), 0);
    return `\r${up(above)}`;
  }
}

function up(rows: number): string {
  return rows > 0 ? `\x1b[${rows}A` : "";
}

/** The last rows that fit; one row of scrollback stays visible. */
function fit(lines: string[], columns: number, rows: number): string[] {
  const cut = lines.map((line) => truncate(line, columns - 1));
  return cut.slice(Math.max(0, cut.length - Math.max(1, rows - 1)));
}
