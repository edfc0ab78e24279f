// Where the characters of the input stand: text → visual rows of a given width, and the cursor's place among them.
// Pure; used by the editor to move between rows and by the screen to paint.

import { graphemes, textWidth } from "@/lib/terminal-text.ts";

export interface Row {
  /** Range of the text this row shows, without its newline. */
  start: number;
  end: number;
  /** What to print: controls are spelled out, tabs are spaces. */
  shown: string;
}

export interface Layout {
  rows: Row[];
  cursorRow: number;
  /** Cells from the left edge of the text. */
  cursorColumn: number;
}

/** `columns` is the width of the text itself, without prompt. */
export function layout(text: string, cursor: number, columns: number): Layout {
  const width = Math.max(2, columns);
  const rows: Row[] = [];
  let row: Row = { start: 0, end: 0, shown: "" };
  let used = 0;
  let cursorRow = 0;
  let cursorColumn = 0;
  let index = 0;
  const mark = (): void => {
    if (index !== cursor) return;
    cursorRow = rows.length;
    cursorColumn = used;
  };
  const finish = (start: number): void => {
    rows.push({ ...row, end: index });
    row = { start, end: start, shown: "" };
    used = 0;
  };
  for (const char of graphemes(text)) {
    if (char === "\n") {
      mark();
      finish(index + 1);
      index += 1;
      continue;
    }
    const shown = display(char);
    const cells = textWidth(shown);
    if (used + cells > width) finish(index);
    mark();
    row.shown += shown;
    used += cells;
    index += char.length;
  }
  // A full last row leaves no cell for the cursor: it goes to a row of its own.
  if (index === cursor && used >= width) finish(index);
  mark();
  rows.push({ ...row, end: index });
  return { rows, cursorRow, cursorColumn };
}

/** The cursor one row up or down, or null at the edge. `goal` is the column a run of vertical moves aims at. */
export function moveRow(
  { rows, cursorRow, cursorColumn }: Layout,
  text: string,
  direction: -1 | 1,
  goal: number | null,
): { cursor: number; goal: number } | null {
  const row = rows[cursorRow + direction];
  if (!row) return null;
  const wanted = goal ?? cursorColumn;
  let used = 0;
  let cursor = row.start;
  for (const char of graphemes(text.slice(row.start, row.end))) {
    const cells = textWidth(display(char));
    if (used + cells > wanted) break;
    used += cells;
    cursor += char.length;
  }
  return { cursor, goal: wanted };
}

function display(char: string): string {
  if (char === "\t") return "    ";
  const code = char.charCodeAt(0);
  if (code < 0x20) return `^${String.fromCharCode(code + 0x40)}`;
  if (code === 0x7f) return "^?";
  if (code >= 0x80 && code < 0xa0) return `\\x${code.toString(16)}`;
  return char.replace(/[\u202a-\u202e\u2066-\u2069]/g, "·");
}
