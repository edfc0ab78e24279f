// The parts of the bottom area as rows, without state of their own: input, search, one-line field, completions, queue.

import { textWidth, toPlainLine, truncate, wrap } from "@/lib/terminal-text.ts";
import type { EditorState } from "./editor.ts";
import { layout } from "./editor-layout.ts";
import { COMPLETION_ROWS } from "./limits.ts";
import type { Bottom } from "./screen.ts";
import type { Theme } from "./theme.ts";
import type { Completion } from "./ui.ts";

export interface OpenCompletion {
  found: Completion;
  selected: number;
}

export interface BottomStyle {
  theme: Theme;
  columns: number;
  rows: number;
}

const QUEUE_ROWS = 3;
const COMPLETION_NAME_CELLS = 30;

/** Cells of the input text beside its prompt, with one left for the cursor. */
export function inputColumns(columns: number): number {
  return Math.max(4, columns - 3);
}

/** The input, at most half the screen of it, around the cursor. */
export function inputArea(editor: EditorState, { theme, columns, rows }: BottomStyle): Bottom {
  if (editor.search) return searchArea(editor.search, editor.history, theme);
  const { rows: all, cursorRow, cursorColumn } = layout(editor.text, editor.cursor, inputColumns(columns));
  const visible = Math.max(3, Math.floor(rows / 2));
  const from = Math.max(0, Math.min(cursorRow - visible + 1, all.length - visible));
  const prompt = editor.shell ? theme.yellow("!") : theme.cyan(">");
  const lines = all
    .slice(from, from + visible)
    .map((row, index) => `${from + index === 0 ? prompt : " "} ${row.shown}`);
  return { lines, cursor: { row: cursorRow - from, column: cursorColumn + 2 } };
}

/** A prompt and what was typed behind it, stars for secrets. */
export function fieldArea(field: { prompt: string; text: string; hidden: boolean }, columns: number): Bottom {
  const shown = field.hidden ? "*".repeat(field.text.length) : toPlainLine(field.text);
  const lines = wrap(`${field.prompt} ${shown}`, columns - 1);
  return { lines, cursor: { row: lines.length - 1, column: textWidth(lines.at(-1) ?? "") } };
}

export function completionLines({ found, selected }: OpenCompletion, { theme, columns }: BottomStyle): string[] {
  const from = Math.max(0, selected - COMPLETION_ROWS + 1);
  const shown = found.candidates.slice(from, from + COMPLETION_ROWS);
  const width = Math.min(COMPLETION_NAME_CELLS, Math.max(...shown.map(({ text }) => textWidth(text))));
  return shown.map(({ text, hint }, index) => {
    const mark = from + index === selected ? theme.cyan("❯") : " ";
    const name = toPlainLine(text).padEnd(width);
    return truncate(`${mark} ${name}${hint ? `  ${theme.dim(toPlainLine(hint))}` : ""}`, columns - 1);
  });
}

export function queueLines(queue: string[], { theme, columns }: BottomStyle): string[] {
  if (queue.length === 0) return [];
  const shown = queue.slice(0, QUEUE_ROWS).map((text) => `  ${toPlainLine(text)}`);
  const more = queue.length > QUEUE_ROWS ? [`  … ${queue.length - QUEUE_ROWS} more`] : [];
  return [`queued (${queue.length})`, ...shown, ...more].map((line) => theme.dim(truncate(line, columns - 1)));
}

function searchArea(search: NonNullable<EditorState["search"]>, history: readonly string[], theme: Theme): Bottom {
  const label = `${search.failed ? "no match" : "search"}: `;
  const found = search.entry === null ? "" : (history[search.entry] ?? "");
  const query = toPlainLine(search.query);
  return {
    lines: [`${theme.cyan("<")} ${toPlainLine(found)}`, `${theme.dim(label)}${query}`],
    cursor: { row: 1, column: textWidth(label + query) },
  };
}
