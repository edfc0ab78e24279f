// The diff of a planned or made change, for approvals and display.

import type { DiffHunk, FileDiff } from "./define-tool.ts";
import { DIFF_FILE_CHARS, DIFF_TIMEOUT_MS } from "./limits.ts";
import { decodeTextFile } from "./text-file.ts";

const CONTEXT_LINES = 3;

/** Null: the file does not exist before or after. */
export async function diffFile(path: string, before: Uint8Array | null, after: Uint8Array | null): Promise<FileDiff> {
  const kind = before === null ? "create" : after === null ? "delete" : "update";
  const without = (note: string): FileDiff => ({ path, kind, added: 0, removed: 0, hunks: [], note });
  const oldText = textOf(before);
  const newText = textOf(after);
  if (oldText === null || newText === null) return without("binary");
  if (oldText.length + newText.length > DIFF_FILE_CHARS) return without("too large");
  const hunks = kind === "update" ? await compare(path, oldText, newText) : [wholeFile(kind, oldText || newText)];
  if (hunks === null) return without("too large");
  const lines = hunks.flatMap((hunk) => hunk.lines);
  return {
    path,
    kind,
    added: lines.filter((line) => line.type === "add").length,
    removed: lines.filter((line) => line.type === "remove").length,
    hunks: hunks.filter((hunk) => hunk.lines.length > 0),
  };
}

/** `+3 -1`, or what there is to say instead. */
export function diffSummary({ kind, added, removed, note }: FileDiff): string {
  if (note) return `${kind}d (${note})`;
  return `+${added} -${removed}`;
}

function textOf(bytes: Uint8Array | null): string | null {
  if (bytes === null) return "";
  try {
    return decodeTextFile(bytes, "").text;
  } catch {
    return null; // Binary; the caller says so.
  }
}

async function compare(path: string, before: string, after: string): Promise<DiffHunk[] | null> {
  const { structuredPatch } = await import("diff");
  const options = { context: CONTEXT_LINES, timeout: DIFF_TIMEOUT_MS };
  const patch = structuredPatch(path, path, before, after, undefined, undefined, options);
  if (!patch) return null;
  return patch.hunks.map(({ oldStart, oldLines, newStart, newLines, lines }) => ({
    oldStart,
    oldLines,
    newStart,
    newLines,
    // A line beginning with `\` is the note about a missing final newline.
    lines: lines.filter((line) => !line.startsWith("\\")).map(toLine),
  }));
}

function toLine(line: string): DiffHunk["lines"][number] {
  const type = line.startsWith("+") ? "add" : line.startsWith("-") ? "remove" : "context";
  return { type, content: line.slice(1).replace(/\r$/, "") };
}

function wholeFile(kind: "create" | "delete", text: string): DiffHunk {
  const lines = text === "" ? [] : text.replace(/\r?\n$/, "").split(/\r?\n/);
  const create = kind === "create";
  return {
    oldStart: create ? 0 : 1,
    oldLines: create ? 0 : lines.length,
    newStart: create ? 1 : 0,
    newLines: create ? lines.length : 0,
    lines: lines.map((content) => ({ type: create ? "add" : "remove", content })),
  };
}
