// What an edit does to a file's bytes, worked out before anything is written. Previews and the edit itself both use
// `planEdit`, so what is approved is what is applied. Bytes outside the change stay as they are, line ends included.

import { ToolError } from "@/lib/errors.ts";
import { clip, formatCount, plural } from "@/lib/text.ts";
import { findSimilar, findText, lineOf, type Span } from "./edit-match.ts";
import { decodeTextFile, dominantLineEnd, encodeTextFile, normaliseLineEnds } from "./text-file.ts";

export interface Edit {
  oldString: string;
  newString: string;
  replaceAll: boolean;
}

export interface EditPlan {
  after: Uint8Array;
  replacements: number;
  /** Of the first replacement, from 1. */
  startLine: number;
  /** For the model: how a text was found when not exactly. */
  notes: string[];
}

/** `before` null: the file does not exist. Edits apply one after the other, all or none. Throws ToolError. */
export function planEdit(path: string, before: Uint8Array | null, edits: readonly Edit[]): EditPlan {
  const [first, ...rest] = edits;
  if (before === null) {
    if (first?.oldString !== "") throw new ToolError(`File does not exist: ${path}`);
    const created = Buffer.from(first.newString);
    const plan: EditPlan = { after: created, replacements: 1, startLine: 1, notes: [] };
    if (rest.length === 0) return plan;
    const next = planEdit(path, created, rest);
    return { ...next, replacements: next.replacements + 1, startLine: 1 };
  }
  const file = decodeTextFile(before, path);
  const lineEnd = dominantLineEnd(file.text);
  const plan = { text: file.text, replacements: 0, startLine: 0, notes: [] as string[] };
  for (const [index, edit] of edits.entries()) {
    const place = edits.length > 1 ? `Edit ${index + 1} of ${edits.length}: ` : "";
    const result = applyEdit(plan.text, edit, { path, place, lineEnd });
    plan.text = result.text;
    plan.replacements += result.spans.length;
    plan.startLine ||= result.startLine;
    if (result.tier) plan.notes.push(`${place}matched ${result.tier}`);
  }
  return {
    after: encodeTextFile(plan.text, file),
    replacements: plan.replacements,
    startLine: plan.startLine,
    notes: plan.notes,
  };
}

type LineEnd = "\n" | "\r\n";

interface EditPlace {
  path: string;
  /** `Edit 2 of 3: `; "" for a single edit. */
  place: string;
  /** Of most lines of the file. */
  lineEnd: LineEnd;
}

interface Applied {
  text: string;
  spans: Span[];
  startLine: number;
  tier?: string;
}

function applyEdit(raw: string, edit: Edit, { path, place, lineEnd }: EditPlace): Applied {
  const oldString = normaliseLineEnds(edit.oldString);
  const newString = normaliseLineEnds(edit.newString);
  if (oldString === "") {
    throw new ToolError(
      `${place}old_string is empty, but the file exists: ${path}. Quote the text to replace, or use Write.`,
    );
  }
  if (oldString === newString)
    throw new ToolError(`${place}old_string and new_string are the same: nothing to change.`);
  const text = normaliseLineEnds(raw);
  const { spans, tier } = findText(text, oldString);
  if (spans.length === 0) throw new ToolError(place + notFound(text, oldString, path));
  if (spans.length > 1 && !edit.replaceAll) throw new ToolError(place + ambiguous(text, spans, path));
  return {
    text: splice({ raw, text, spans }, newString, lineEnd),
    spans,
    startLine: lineOf(text, spans[0]!.start),
    ...(tier ? { tier } : {}),
  };
}

/** Replaces spans of the LF text in the raw text. */
function splice(
  { raw, text, spans }: { raw: string; text: string; spans: Span[] },
  replacement: string,
  lineEnd: LineEnd,
): string {
  const toRaw = raw.length === text.length ? (index: number) => index : rawPositions(raw);
  let result = "";
  let from = 0;
  for (const { start, end } of spans) {
    const rawStart = toRaw(start);
    const rawEnd = toRaw(end);
    result += raw.slice(from, rawStart) + withLineEnds(raw.slice(rawStart, rawEnd), replacement, lineEnd);
    from = rawEnd;
  }
  return result + raw.slice(from);
}

/** Maps positions of the LF text to the raw text; a newline maps to the start of its CRLF. */
function rawPositions(raw: string): (index: number) => number {
  /** Positions in the LF text of the newlines that are CRLF. */
  const crlf: number[] = [];
  for (let at = raw.indexOf("\r\n"); at >= 0; at = raw.indexOf("\r\n", at + 2)) crlf.push(at - crlf.length);
  return (index) => {
    let low = 0;
    let high = crlf.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (crlf[middle]! < index) low = middle + 1;
      else high = middle;
    }
    return index + low;
  };
}

/** Lines that were there keep their line end; new ones get the file's. */
function withLineEnds(old: string, replacement: string, lineEnd: LineEnd): string {
  if (lineEnd === "\n" && !old.includes("\r\n")) return replacement;
  const oldLines = [...old.matchAll(/([^\n]*?)(\r?\n)/g)].map(([, text, end]) => ({ text, end: end! }));
  const newLines = replacement.split("\n");
  const last = newLines.pop()!;
  const sameCount = oldLines.length === newLines.length;
  let next = 0;
  let result = "";
  for (const [index, line] of newLines.entries()) {
    const match = sameCount ? index : oldLines.findIndex((oldLine, at) => at >= next && oldLine.text === line);
    if (match >= 0) next = match + 1;
    result += line + (oldLines[match]?.end ?? lineEnd);
  }
  return result + last;
}

function ambiguous(text: string, spans: Span[], path: string): string {
  const lines = spans.slice(0, 5).map(({ start }) => lineOf(text, start));
  const more = spans.length > lines.length ? ", …" : "";
  return `old_string occurs ${formatCount(spans.length)} times in ${path}, at lines ${lines.join(", ")}${more}. Add surrounding lines to make it unique, or set replace_all.`;
}

function notFound(text: string, wanted: string, path: string): string {
  const hints: string[] = [];
  const trimmed = wanted.trim();
  if (trimmed !== wanted && trimmed !== "" && text.includes(trimmed)) {
    hints.push("It is there without the whitespace at its edges.");
  } else if (/[‘’“”]/.test(wanted)) {
    hints.push("It has typographic quotes; the file may have straight ones.");
  } else if (wanted.includes("\n")) {
    hints.push("Check line breaks and indentation; they must be as in the file.");
  }
  const similar = findSimilar(text, wanted);
  if (similar) {
    const alike = Math.round(similar.similarity * 100);
    const block = clip(similar.block, MAX_SHOWN_CHARS);
    hints.push(`The closest text (${alike} % alike) begins at line ${similar.line}:\n${block}`);
  } else {
    hints.push("The file may have changed: Read it again.");
  }
  const size = plural(text.split("\n").length, "line");
  return `old_string was not found in ${path} (${size}).\n${hints.join("\n")}\nold_string was:\n${clip(wanted, MAX_SHOWN_CHARS)}`;
}

const MAX_SHOWN_CHARS = 1_500;
