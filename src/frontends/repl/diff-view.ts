// A file diff as lines: numbers of the new file (of the old one for removed lines), a sign, the text.

import { shortPath } from "@/lib/path-inside.ts";
import { escapeDeceptive, toPlainLine, toPlainText, truncate, wrap } from "@/lib/terminal-text.ts";
import type { DiffHunk, FileDiff } from "@/tools/define-tool.ts";
import { DIFF_LINES } from "./limits.ts";
import type { Theme } from "./theme.ts";

export interface DiffViewOptions {
  theme: Theme;
  columns: number;
  /** Lines shown over all hunks; the rest is counted. Default DIFF_LINES. */
  limit?: number;
  /** For a decision: nothing is cut off at the edge, and deceptive characters are spelled out. */
  review?: boolean;
}

export function formatDiff(diff: FileDiff, options: DiffViewOptions): string[] {
  const { theme, limit = DIFF_LINES } = options;
  if (diff.note && diff.hunks.length === 0) return [theme.dim(diff.note)];
  const width = String(lastLine(diff.hunks)).length;
  const lines = diff.hunks.flatMap((hunk, index) => [
    ...(index > 0 ? [theme.dim(`${" ".repeat(width)} ⋮`)] : []),
    ...hunkLines(hunk, width, options),
  ]);
  if (lines.length <= limit) return lines;
  return [...lines.slice(0, limit), theme.dim(`… ${lines.length - limit} more lines`)];
}

/** `+3 -1`, or what happened when there is nothing to count. */
export function formatChange(diff: FileDiff, theme: Theme): string {
  if (diff.kind === "delete") return theme.red(`deleted, -${diff.removed}`);
  const counts = `${theme.green(`+${diff.added}`)} ${theme.red(`-${diff.removed}`)}`;
  return diff.kind === "create" ? `created, ${theme.green(`+${diff.added}`)}` : counts;
}

/** Relative inside `cwd`, absolute elsewhere. */
export function plainPath(path: string, cwd: string): string {
  return toPlainLine(shortPath(cwd, path));
}

function hunkLines(hunk: DiffHunk, width: number, { theme, columns, review }: DiffViewOptions): string[] {
  let oldLine = hunk.oldStart;
  let newLine = hunk.newStart;
  const room = Math.max(8, columns - width - 1);
  return hunk.lines.flatMap(({ type, content }) => {
    const number = String(type === "remove" ? oldLine : newLine).padStart(width);
    if (type !== "add") oldLine += 1;
    if (type !== "remove") newLine += 1;
    const sign = type === "add" ? "+" : type === "remove" ? "-" : " ";
    const line = content.replace(/\r?\n$/, "");
    const rows = review
      ? wrap(`${sign} ${escapeDeceptive(line)}`, room)
      : [truncate(`${sign} ${toPlainText(line)}`, room)];
    const paint = type === "add" ? theme.green : type === "remove" ? theme.red : (plain: string) => plain;
    return rows.map((row, index) => `${theme.dim(index === 0 ? number : " ".repeat(width))} ${paint(row)}`);
  });
}

function lastLine(hunks: DiffHunk[]): number {
  return Math.max(1, ...hunks.map((hunk) => Math.max(hunk.newStart + hunk.newLines, hunk.oldStart + hunk.oldLines)));
}
