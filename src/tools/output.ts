// What is too long for a model: head and tail are shown, the whole goes to a private file. Memory stays flat however
// much arrives: only head and tail are held.

import { randomUUID } from "node:crypto";
import { readdirSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { formatCount, takeHead, takeTail } from "@/lib/text.ts";
import { createLinkFollower } from "@/permissions/places.ts";
import type { Paths } from "@/store/paths.ts";
import { CUT_SLACK_CHARS, OVERFLOW_MAX_AGE_MS, OVERFLOW_TOTAL_BYTES, SHELL_OUTPUT_CHARS } from "./limits.ts";
import { OutputFile } from "./output-file.ts";

export interface OverflowOptions {
  maxChars?: number;
  /** Where the whole text goes when it is too long; undefined = nowhere. */
  file?: string;
}

export class BoundedOutput {
  /** Characters so far. */
  total = 0;
  readonly #half: number;
  readonly #maxChars: number;
  readonly #path: string | undefined;
  /** Everything while it fits, afterwards the head. */
  #head = "";
  /** At least the last `half` characters once the text no longer fits. */
  #tail = "";
  #file: OutputFile | null = null;

  constructor({ maxChars = SHELL_OUTPUT_CHARS, file }: OverflowOptions = {}) {
    this.#maxChars = maxChars;
    this.#half = Math.floor(maxChars / 2);
    this.#path = file;
  }

  push(text: string): void {
    if (text === "") return;
    this.total += text.length;
    if (this.total <= this.#maxChars) {
      this.#head += text;
      return;
    }
    if (this.#file === null && this.#path !== undefined) {
      this.#file = new OutputFile(this.#path);
      this.#file.write(this.#head + this.#tail);
    }
    this.#file?.write(text);
    if (this.#tail === "" && this.#head.length > this.#half) {
      this.#tail = this.#head.slice(this.#half);
      this.#head = this.#head.slice(0, this.#half);
    }
    const room = this.#half - this.#head.length;
    if (room > 0) this.#head += text.slice(0, room);
    // Cutting costs a copy, so it is done once per `maxChars`, not per piece.
    this.#tail += room > 0 ? text.slice(room) : text;
    if (this.#tail.length > this.#maxChars * 2) this.#tail = this.#tail.slice(-this.#half);
  }

  /** A file with the whole text was begun. */
  get overflowed(): boolean {
    return this.#file !== null;
  }

  /** The text as the model reads it. Closes the overflow file. */
  finish(): string {
    this.#file?.close();
    if (this.total <= this.#maxChars) return this.#head;
    const cut = cutMiddle(this.#head, this.#tail, this.#half);
    return frame(cut, this.total, this.#file?.complete ? this.#path : undefined);
  }
}

/** The same for a text that is already there. */
export function truncateOutput(text: string, options: OverflowOptions = {}): string {
  const output = new BoundedOutput(options);
  output.push(text);
  return output.finish();
}

/** Path for one call's overflow file; undefined when they are switched off. */
export function overflowPath(
  { paths, env }: { paths: Paths; env: { overflowToFile: boolean } },
  cwd: string,
  tool: string,
): string | undefined {
  if (!env.overflowToFile) return undefined;
  const project = cwd.replace(/^[/\\]+/, "").replace(/[/\\:]|\s+/g, "_");
  const directory = createLinkFollower()(join(paths.projects, project, "agent-tools"));
  return join(directory, `${tool.toLowerCase()}-${randomUUID()}.txt`);
}

/** Removes overflow files that are old, and the oldest beyond the total. Errors are not worth a message. */
export function cleanOverflowFiles(projects: string, now = Date.now()): void {
  const files: { path: string; mtimeMs: number; size: number }[] = [];
  for (const project of listDirectory(projects)) {
    const folder = join(projects, project, "agent-tools");
    for (const name of listDirectory(folder)) {
      const path = join(folder, name);
      const stat = statSync(path, { throwIfNoEntry: false });
      if (stat?.isFile()) files.push({ path, mtimeMs: stat.mtimeMs, size: stat.size });
    }
  }
  files.sort((a, b) => b.mtimeMs - a.mtimeMs);
  let total = 0;
  for (const { path, mtimeMs, size } of files) {
    total += size;
    if (total > OVERFLOW_TOTAL_BYTES || now - mtimeMs > OVERFLOW_MAX_AGE_MS) rmSync(path, { force: true });
  }
}

function listDirectory(path: string): string[] {
  try {
    return readdirSync(path);
  } catch {
    return []; // Not there yet, or not a directory.
  }
}

/** Both ends, cut on a line boundary when one is near. */
function cutMiddle(head: string, tail: string, half: number): { head: string; tail: string } {
  let first = takeHead(head, half);
  let last = takeTail(tail, half);
  const lineEnd = first.lastIndexOf("\n");
  if (lineEnd >= 0 && first.length - lineEnd - 1 <= CUT_SLACK_CHARS) first = first.slice(0, lineEnd + 1);
  const lineStart = last.indexOf("\n");
  if (lineStart >= 0 && lineStart < CUT_SLACK_CHARS) last = last.slice(lineStart + 1);
  return { head: first, tail: last };
}

function frame({ head, tail }: { head: string; tail: string }, total: number, path: string | undefined): string {
  const shown = head.length + tail.length;
  const gap = `... [${formatCount(total - shown)} characters omitted] ...`;
  const note = `[Output truncated: showing ${formatCount(shown)} of ${formatCount(total)} characters.]`;
  const file = path === undefined ? "" : `\n[Full output written to: ${path}]`;
  const separator = head.endsWith("\n") || head === "" ? "" : "\n";
  return `${head}${separator}${gap}\n${tail}${tail.endsWith("\n") ? "" : "\n"}\n${note}${file}`;
}
