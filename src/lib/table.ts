// Aligned columns for terminals and pipes. Widths are display cells (wide characters, emoji, combining marks), cells
// are made printable first: names and titles come from files and models and must not move the cursor.

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
  const cells = rows.map((row) => columns.map((_, index) => printable(row[index] ?? "")));
  const widths = columns.map((column, index) =>
    Math.max(Bun.stringWidth(column.title), ...cells.map((row) => Bun.stringWidth(row[index] ?? ""))),
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
  const width = Math.max(0, ...shown.map(([name]) => Bun.stringWidth(name)));
  return shown.map(([name, value]) => `${pad(name, width)}${GAP}${printable(value)}\n`).join("");
}

/** Cuts to `width` cells, ending in `…` when something was left out. Never splits a grapheme. */
export function truncate(text: string, width: number): string {
  if (Bun.stringWidth(text) <= width) return text;
  let used = 0;
  let kept = "";
  for (const { segment } of new Intl.Segmenter().segment(text)) {
    used += Bun.stringWidth(segment);
    if (used > width - 1) break;
    kept += segment;
  }
  return `${kept}…`;
}

/** One line without control characters: line breaks and tabs become spaces, the rest of C0, C1 and DEL disappears. */
export function printable(text: string): string {
  return stripControls(text.replace(/[\r\n\t]+/g, " ")).trim();
}

/** Several lines without control characters other than line breaks and tabs. */
export function printableLines(text: string): string {
  return stripControls(text.replace(/\r\n?/g, "\n"));
}

function stripControls(text: string): string {
  // Whole escape sequences first (CSI, OSC with its payload), so that no `[2J` is left behind.
  return text
    .replace(/(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]|\x1b[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)?|\x1b[ -/]*[0-~]?/g, "")
    .replace(/[\x00-\x08\x0b-\x1f\x7f-\x9f]/g, "");
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
  const space = " ".repeat(Math.max(0, width - Bun.stringWidth(text)));
  return align === "right" ? space + text : text + space;
}
