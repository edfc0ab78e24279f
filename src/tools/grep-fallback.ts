// Grep where ripgrep cannot run: slower, JavaScript regular expressions, no .gitignore. Gives the same records.

import type { FileHandle } from "node:fs/promises";
import { join } from "node:path";
import { errorMessage, ToolError } from "@/lib/errors.ts";
import { type HeldDirectory, openRegular } from "@/lib/held-directory.ts";
import type { ToolContext } from "./define-tool.ts";
import type { GrepArgs, GrepRecord, SearchRoot } from "./grep.ts";
import { relativePath } from "./paths.ts";
import { walkFiles } from "./search.ts";

const MAX_FILE_BYTES = 2 * 1024 * 1024;

export async function grepWithoutRipgrep(
  args: GrepArgs,
  { place, folder, file }: SearchRoot,
  { cwd, signal }: ToolContext,
): Promise<GrepRecord[]> {
  if (args.type !== undefined) throw new ToolError("`type` needs ripgrep, which is not available; use `glob`.");
  const pattern = compile(args);
  const records: GrepRecord[] = [];
  const search = (inside: string, bytes: Buffer | null): void => {
    if (bytes === null || bytes.includes(0)) return;
    const absolute = join(place.lexical, inside);
    const where = { file: absolute, inside, path: relativePath(absolute, cwd) };
    records.push(...searchText(bytes.toString("utf8"), pattern, args).map((hit) => ({ ...where, ...hit })));
  };
  if (file) search("", await readBounded(file));
  if (!folder) return records;
  const glob = args.glob === undefined ? null : new Bun.Glob(toBunGlob(args.glob));
  for (const { path, folder: within, name } of walkFiles(folder, signal)) {
    signal.throwIfAborted();
    if (!glob || glob.match(path)) search(path, await readIn(within, name));
  }
  return records;
}

function toBunGlob(glob: string): string {
  return glob.includes("/") ? glob.replace(/^\//, "") : `**/${glob}`;
}

function compile(args: GrepArgs): RegExp {
  try {
    return new RegExp(args.pattern, `${args["-i"] ? "i" : ""}${args.multiline ? "gms" : ""}u`);
  } catch (error) {
    throw new ToolError(`The search failed: ${errorMessage(error)}`, { cause: error });
  }
}

type Hit = Pick<GrepRecord, "rest" | "gap">;

function searchText(text: string, pattern: RegExp, args: GrepArgs): Hit[] {
  const lines = text.split(/\r?\n/);
  if (lines.at(-1) === "") lines.pop();
  const hits = args.multiline
    ? linesOfMatches(text, pattern)
    : lines.flatMap((line, at) => (pattern.test(line) ? [at] : []));
  if (hits.length === 0) return [];
  if (args.output_mode === "files_with_matches") return [{ rest: "" }];
  if (args.output_mode === "count") return [{ rest: String(hits.length) }];
  const before = args["-B"] ?? args["-C"] ?? args.context ?? 0;
  const after = args["-A"] ?? args["-C"] ?? args.context ?? 0;
  const matched = new Set(hits);
  const shown = new Set<number>();
  for (const hit of hits) {
    for (let at = Math.max(0, hit - before); at <= Math.min(lines.length - 1, hit + after); at++) shown.add(at);
  }
  const ordered = [...shown].sort((a, b) => a - b);
  return ordered.map((at, index) => {
    const number = args["-n"] ? `${at + 1}${matched.has(at) ? ":" : "-"}` : "";
    const gap = index > 0 && ordered[index - 1]! < at - 1;
    return { rest: number + (lines[at] ?? ""), ...(gap ? { gap } : {}) };
  });
}

function linesOfMatches(text: string, pattern: RegExp): number[] {
  const lines = new Set<number>();
  for (const match of text.matchAll(pattern)) {
    const first = text.slice(0, match.index).split("\n").length - 1;
    const count = match[0].split("\n").length;
    for (let offset = 0; offset < count; offset++) lines.add(first + offset);
  }
  return [...lines];
}

/** Null for what is too large or unreadable. */
async function readIn(folder: HeldDirectory, name: string): Promise<Buffer | null> {
  try {
    const { file } = await openRegular(folder, name);
    return await readBounded(file).finally(() => file.close());
  } catch {
    return null;
  }
}

async function readBounded(file: FileHandle): Promise<Buffer | null> {
  return (await file.stat()).size > MAX_FILE_BYTES ? null : file.readFile();
}
