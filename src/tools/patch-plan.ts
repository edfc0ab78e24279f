// What an update of a patch does to a file's bytes. Pure. Lines the patch does not remove stay byte for byte as they are
// in the file, also where the patch quotes them inexactly; new lines get the file's line end.

import { ToolError } from "@/lib/errors.ts";
import { clip } from "@/lib/text.ts";
import type { Hunk, HunkLine } from "./patch-parse.ts";
import { decodeTextFile, dominantLineEnd, encodeTextFile } from "./text-file.ts";

interface FileLine {
  text: string;
  /** `\n`, `\r\n`, or "" for a last line without one. */
  end: string;
}

/** Throws ToolError that names the file and the lines that were not found. */
export function planUpdate(path: string, before: Uint8Array, hunks: readonly Hunk[]): Uint8Array {
  const file = decodeTextFile(before, path);
  const lines = splitLines(file.text);
  const lineEnd = dominantLineEnd(file.text);
  const search = new LineSearch(lines.map(({ text }) => text));
  const result: FileLine[] = [];
  let cursor = 0;
  for (const [index, hunk] of hunks.entries()) {
    const place = hunks.length > 1 ? ` (hunk ${index + 1} of ${hunks.length})` : "";
    const found = findHunk(hunk, search, cursor, `${path}${place}`);
    result.push(...lines.slice(cursor, found.start));
    cursor = applyHunk(found, { lines, result, lineEnd });
  }
  result.push(...lines.slice(cursor));
  return encodeTextFile(joinLines(result, lineEnd), file);
}

/** The bytes of a new file. */
export function addedBytes(lines: readonly string[]): Uint8Array {
  return Buffer.from(lines.map((line) => `${line}\n`).join(""));
}

interface FoundHunk {
  /** Index of the file's line where the old lines begin. */
  start: number;
  lines: readonly HunkLine[];
}

function findHunk({ headers, lines, atEnd }: Hunk, search: LineSearch, cursor: number, where: string): FoundHunk {
  let from = cursor;
  for (const header of headers) {
    const [found] = search.find([header], from).at;
    if (found === undefined) {
      const order =
        search.find([header], 0).at.length > 0 ? " after the change before it (hunks go from top to bottom)" : "";
      throw new ToolError(`Nothing was changed: ${where} has no line like this${order}:\n${clip(header, MAX_SHOWN)}`);
    }
    from = found + 1;
  }
  const old = oldLines(lines);
  if (old.length === 0) return { start: search.length, lines };
  const found = search.findBlock(old, from, atEnd);
  if (found.at.length === 1 || (found.exact && found.at.length > 0)) return { start: found.at[0]!, lines };
  if (found.at.length > 1) {
    const numbers = found.at.slice(0, 5).map((at) => at + 1);
    throw new ToolError(
      `Nothing was changed: these lines occur ${found.at.length} times in ${where} when spaces are ignored, at lines ${numbers.join(", ")}. Add context, or quote them exactly:\n${shown(old)}`,
    );
  }
  // Models end a hunk with an empty line that is not in the file.
  const last = lines.findLastIndex(({ kind }) => kind !== "add");
  if (lines[last]!.text === "" && old.length > 1) {
    return findHunk({ headers: [], lines: lines.toSpliced(last, 1), atEnd }, search, from, where);
  }
  const order =
    from > 0 && search.find(old, 0).at.length > 0 ? " They are further up: hunks go from top to bottom." : "";
  const end = atEnd ? " at its end" : "";
  throw new ToolError(`Nothing was changed: ${where} does not have these lines${end}.${order}\n${shown(old)}`);
}

function oldLines(lines: readonly HunkLine[]): string[] {
  return lines.filter(({ kind }) => kind !== "add").map(({ text }) => text);
}

function shown(lines: string[]): string {
  return clip(lines.join("\n"), MAX_SHOWN);
}

const MAX_SHOWN = 1_500;

/** Returns the index behind the old lines. */
function applyHunk(
  { start, lines: hunk }: FoundHunk,
  { lines, result, lineEnd }: { lines: FileLine[]; result: FileLine[]; lineEnd: string },
): number {
  let at = start;
  for (const { kind, text } of hunk) {
    if (kind === "add") result.push({ text, end: lineEnd });
    else {
      if (kind === "keep") result.push(lines[at]!);
      at++;
    }
  }
  return at;
}

function splitLines(text: string): FileLine[] {
  const pieces = text.split("\n");
  const last = pieces.pop()!;
  const lines = pieces.map((piece) =>
    piece.endsWith("\r") ? { text: piece.slice(0, -1), end: "\r\n" } : { text: piece, end: "\n" },
  );
  return last === "" ? lines : [...lines, { text: last, end: "" }];
}

/** A line without an end keeps that only as long as it is the last one. */
function joinLines(lines: FileLine[], lineEnd: string): string {
  return lines.map(({ text, end }, index) => text + (end === "" && index < lines.length - 1 ? lineEnd : end)).join("");
}

/** How inexactly lines may be quoted, in the order tried. */
const PASSES: ((line: string) => string)[] = [
  (line) => line,
  (line) => line.trimEnd(),
  (line) => line.trim(),
  (line) =>
    line
      .trim()
      .replace(/[\u2010-\u2015\u2212]/g, "-")
      .replace(/[\u2018-\u201b]/g, "'")
      .replace(/[\u201c-\u201f]/g, '"')
      .replace(/[\u00a0\u2002-\u200a\u202f\u205f\u3000]/g, " "),
];

/** Finds lines in a file, each pass's form of the file computed once. */
class LineSearch {
  readonly #forms: string[][];

  constructor(lines: string[]) {
    this.#forms = [lines];
  }

  get length(): number {
    return this.#forms[0]!.length;
  }

  /** Every place at or after `from` where the first pass that finds something finds it. */
  find(wanted: string[], from: number): { at: number[]; exact: boolean } {
    for (const [pass, form] of PASSES.entries()) {
      const at = findAll(this.#form(pass), wanted.map(form), from);
      if (at.length > 0) return { at, exact: pass === 0 };
    }
    return { at: [], exact: false };
  }

  findBlock(wanted: string[], from: number, atEnd: boolean): { at: number[]; exact: boolean } {
    return this.find(wanted, atEnd ? Math.max(from, this.length - wanted.length) : from);
  }

  #form(pass: number): string[] {
    this.#forms[pass] ??= this.#forms[0]!.map(PASSES[pass]!);
    return this.#forms[pass];
  }
}

/** Knuth-Morris-Pratt over lines: a file of equal lines must not cost the product of both lengths. */
function findAll(lines: string[], wanted: string[], from: number): number[] {
  const fallback = [0];
  for (let at = 1, length = 0; at < wanted.length; at++) {
    while (length > 0 && wanted[at] !== wanted[length]) length = fallback[length - 1]!;
    if (wanted[at] === wanted[length]) length++;
    fallback[at] = length;
  }
  const found: number[] = [];
  for (let at = from, length = 0; at < lines.length; at++) {
    while (length > 0 && lines[at] !== wanted[length]) length = fallback[length - 1]!;
    if (lines[at] === wanted[length]) length++;
    if (length < wanted.length) continue;
    found.push(at - length + 1);
    length = fallback[length - 1]!;
  }
  return found;
}
