// Grep where ripgrep cannot run: slower, JavaScript regular expressions, no .gitignore. Gives the same records.

import { readFileSync, statSync } from "node:fs";
import { basename, join } from "node:path";
import { errorMessage, ToolError } from "@/lib/errors.ts";
import type { ToolContext } from "./define-tool.ts";
import type { GrepArgs, GrepRecord } from "./grep.ts";
import { relativePath } from "./paths.ts";
import { walkFiles } from "./search.ts";

const MAX_FILE_BYTES = 2 * 1024 * 1024;

export function grepWithoutRipgrep(args: GrepArgs, path: string, { cwd, signal }: ToolContext): GrepRecord[] {
  if (args.type !== undefined) throw new ToolError("`type` needs ripgrep, which is not available; use `glob`.");
  const pattern = compile(args);
  const glob = args.glob === undefined ? null : new Bun.Glob(args.glob.includes("/") ? args.glob : `**/${args.glob}`);
  const files = statSync(path).isDirectory() ? walkFiles(path, signal).sort() : [""];
  const records: GrepRecord[] = [];
  for (const file of files) {
    signal.throwIfAborted();
    if (glob && !glob.match(file || basename(path))) continue;
    const absolute = join(path, file);
    const text = readText(absolute);
    if (text !== null) {
      const place = { file: absolute, path: relativePath(absolute, cwd) };
      records.push(...searchText(text, pattern, args).map((hit) => ({ ...place, ...hit })));
    }
  }
  return records;
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

/** Null for what is binary, too large or unreadable. */
function readText(path: string): string | null {
  try {
    if (statSync(path).size > MAX_FILE_BYTES) return null;
    const bytes = readFileSync(path);
    return bytes.includes(0) ? null : bytes.toString("utf8");
  } catch {
    return null;
  }
}
