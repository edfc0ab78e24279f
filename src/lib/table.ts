// Aligned columns for terminals and pipes. Widths are display cells (wide characters, emoji, combining marks), cells
// are made printable first: names and titles come from files and models and must not move the cursor.

import { textWidth, toPlainLine, truncate } from "./terminal-text.ts";

export interface Column {
  title: string;
  align?: "left" | "right";
  /** Gives way when the terminal is too narrow. Default: the last column. */
  shrink?: boolean;
}

export interface TableOptions {
  /** Cells available; undefined (a pipe) = never cut anything. */
  width?: number;
  /** Style of the heading line; none in a pipe. */
  heading?: (text: string) => string;
}

const GAP = "  ";
const MIN_SHRUNK = 8;

/** Heading plus one line per row, each ending in a newline. */
export function renderTable(columns: Column[], rows: string[][], options: TableOptions = {}): string {
  const cells = rows.map((row) => columns.map((_, index) => toPlainLine(row[index] ?? "")));
  const widths = columns.map((column, index) =>
    Math.max(textWidth(column.title), ...cells.map((row) => textWidth(row[index] ?? ""))),
  );
  shrinkToFit(columns, widths, options.width);
  const line = (row: string[]) =>
    columns
      .map((column, index) => pad(truncate(row[index] ?? "", widths[index]!), widths[index]!, column.align))
      .join(GAP)
      .trimEnd();
  const heading = line(columns.map((column) => column.title));
  return [options.heading ? options.heading(heading) : heading, ...cells.map(line)].map((text) => `${text}\n`).join("");
}

/** `name  value` lines with the names aligned; empty values are left out. */
export function renderFields(fields: [name: string, value: string | null | undefined][]): string {
  const shown = fields.filter((field): field is [string, string] => Boolean(field[1]));
  const width = Math.max(0, ...shown.map(([name]) => textWidth(name)));
  return shown.map(([name, value]) => `${pad(name, width)}${GAP}${toPlainLine(value)}\n`).join("");
}

function shrinkToFit(columns: Column[], widths: number[], width: number | undefined): void {
  if (width === undefined) return;
  let excess = widths.reduce((sum, cell) => sum + cell, 0) + GAP.length * (columns.length - 1) - width;
  const candidates = columns.flatMap((column, index) => (column.shrink ? [index] : []));
  if (candidates.length === 0) candidates.push(columns.length - 1);
  while (excess > 0) {
    const widest = candidates.reduce((best, index) => (widths[index]! > widths[best]! ? index : best));
    if (widths[widest]! <= MIN_SHRUNK) return;
    widths[widest]! -= 1;
    excess -= 1;
  }
}

function pad(text: string, width: number, align: Column["align"] = "left"): string {
  const space = " ".repeat(Math.max(0, width - textWidth(text)));
  return align === "right" ? space + text : text + space;
}
