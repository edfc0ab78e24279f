// The patch language of `apply_patch` (the public "V4A" envelope): text in, operations out. Nothing here looks at files.
// Whatever is not exactly the language is refused with the line it happens on; guessing would edit the wrong place.

import { ToolError } from "@/lib/errors.ts";

export interface HunkLine {
  /** `keep` and `remove` must be in the file. */
  kind: "keep" | "remove" | "add";
  text: string;
}

export interface Hunk {
  /** Lines to find first, one after the other; each narrows where the hunk can be. */
  headers: string[];
  lines: HunkLine[];
  /** The old lines are the last ones of the file. */
  atEnd: boolean;
}

export type PatchOperation =
  | { kind: "add"; path: string; lines: string[] }
  | { kind: "delete"; path: string }
  | { kind: "update"; path: string; moveTo: string | null; hunks: Hunk[] };

const BEGIN = "*** Begin Patch";
const END = "*** End Patch";
const END_OF_FILE = "*** End of File";
const MOVE = "*** Move to:";
const OPERATIONS = { add: "*** Add File:", delete: "*** Delete File:", update: "*** Update File:" } as const;

/** Paths are as written. Throws ToolError that names the line of the patch. */
export function parsePatch(input: string): PatchOperation[] {
  const lines = unwrapHereDocument(input.replaceAll("\r\n", "\n").trim().split("\n"));
  if (lines[0]?.trimEnd() !== BEGIN) throw new ToolError(`The first line of a patch must be "${BEGIN}".`);
  if (lines.length < 2 || lines.at(-1)?.trimEnd() !== END)
    throw new ToolError(`The last line of a patch must be "${END}".`);
  const reader = new Lines(lines.slice(0, -1));
  reader.next();
  const operations: PatchOperation[] = [];
  for (;;) {
    reader.skipBlank();
    if (reader.peek() === undefined) break;
    operations.push(parseOperation(reader));
  }
  if (operations.length === 0) throw new ToolError("The patch is empty: it names no file.");
  return operations;
}

/** `<<'EOF'` … `EOF`, as written for a shell. */
function unwrapHereDocument(lines: string[]): string[] {
  const wrapped = /^(?:apply_patch\s+)?<<\s*(['"]?)EOF\1$/.test(lines[0]!.trimEnd()) && lines.at(-1)?.trim() === "EOF";
  return wrapped ? lines.slice(1, -1) : lines;
}

class Lines {
  #at = 0;
  constructor(private readonly lines: string[]) {}

  peek(): string | undefined {
    return this.lines[this.#at];
  }
  next(): string | undefined {
    return this.lines[this.#at++];
  }
  skipBlank(): void {
    while (this.peek()?.trim() === "") this.#at++;
  }
  /** The next line that is not empty. */
  peekFilled(): string | undefined {
    let at = this.#at;
    while (this.lines[at] === "") at++;
    return this.lines[at];
  }
  /** The next line begins an operation, or there is none. */
  atBoundary(): boolean {
    const line = this.peek();
    return line === undefined || isBoundary(line);
  }
  /** About the line `next` returned last, or with `ahead` the one it will return. */
  error(message: string, ahead = false): ToolError {
    const number = this.#at + (ahead ? 1 : 0);
    const line = this.lines[number - 1] ?? "";
    return new ToolError(`Line ${number} of the patch: ${message}\n${line.slice(0, 200)}`);
  }
}

function parseOperation(reader: Lines): PatchOperation {
  const line = reader.next()!;
  for (const kind of ["add", "delete", "update"] as const) {
    if (!line.startsWith(OPERATIONS[kind])) continue;
    const path = parsePath(line.slice(OPERATIONS[kind].length), reader);
    if (kind === "add") return { kind, path, lines: parseAdded(reader) };
    if (kind === "update") return parseUpdate(path, reader);
    reader.skipBlank();
    if (!reader.atBoundary()) throw reader.error(`nothing may follow "${OPERATIONS.delete}".`, true);
    return { kind, path };
  }
  if (line.startsWith(MOVE)) throw reader.error(`"${MOVE}" must follow "${OPERATIONS.update}" directly.`);
  throw reader.error(`expected ${Object.values(OPERATIONS).join(", ")} or ${END}.`);
}

function parsePath(text: string, reader: Lines): string {
  const path = text.trim();
  if (path === "") throw reader.error("the path is missing.");
  if (path.includes("\0")) throw reader.error("a path cannot contain a NUL character.");
  return path;
}

function parseAdded(reader: Lines): string[] {
  const added: string[] = [];
  for (;;) {
    const line = reader.peek();
    if (line?.startsWith("+")) {
      added.push(line.slice(1));
      reader.next();
      continue;
    }
    reader.skipBlank();
    if (reader.atBoundary()) return added;
    throw reader.error(`every line of a new file must begin with "+".`, true);
  }
}

function parseUpdate(path: string, reader: Lines): PatchOperation {
  let moveTo: string | null = null;
  if (reader.peek()?.startsWith(MOVE)) moveTo = parsePath(reader.next()!.slice(MOVE.length), reader);
  const hunks: Hunk[] = [];
  for (;;) {
    // Empty lines between hunks mean nothing; before a line of a hunk they are empty lines of the file.
    const next = reader.peekFilled();
    if (next === undefined || isHeader(next) || isBoundary(next)) reader.skipBlank();
    if (reader.atBoundary()) break;
    hunks.push(parseHunk(reader));
  }
  if (hunks.length === 0) throw new ToolError(`The update of ${path} has no hunk, so it changes nothing.`);
  return { kind: "update", path, moveTo, hunks };
}

function parseHunk(reader: Lines): Hunk {
  const hunk: Hunk = { headers: [], lines: [], atEnd: false };
  for (let line = reader.peek(); line !== undefined && isHeader(line); line = reader.peek()) {
    reader.next();
    const header = line.slice(2).trimEnd().replace(/^ /, "");
    if (/^-\d+(?:,\d+)? \+\d+(?:,\d+)? @@/.test(header))
      throw reader.error(`line numbers are not used; write "@@" and a line of the file above the change.`);
    if (header.trim() !== "") hunk.headers.push(header);
  }
  for (let blanks = 0; ; ) {
    const line = reader.peek();
    if (line === undefined || isBoundary(line) || isHeader(line)) break;
    if (line === "") {
      blanks++;
      reader.next();
      continue;
    }
    for (; blanks > 0; blanks--) hunk.lines.push({ kind: "keep", text: "" });
    reader.next();
    if (line.trimEnd() === END_OF_FILE) {
      hunk.atEnd = true;
      break;
    }
    const kind = KINDS[line[0]!];
    if (!kind) throw reader.error('a line of a hunk must begin with " " (unchanged), "-" (removed) or "+" (added).');
    hunk.lines.push({ kind, text: line.slice(1) });
  }
  if (hunk.lines.length === 0) throw reader.error("this hunk has no lines.");
  return hunk;
}

const KINDS: Record<string, HunkLine["kind"] | undefined> = { " ": "keep", "-": "remove", "+": "add" };

function isHeader(line: string): boolean {
  return line.trimEnd() === "@@" || line.startsWith("@@ ");
}

/** Begins an operation. */
function isBoundary(line: string): boolean {
  return line.startsWith("*** ") && line.trimEnd() !== END_OF_FILE;
}
