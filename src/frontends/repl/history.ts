// What was typed, on disk: one JSON line per entry in `~/.letta/history.jsonl`, readable by its owner only. Writers
// append whole lines (atomic for short writes), so two terminals never damage each other; a reader keeps its project's
// newest entries. Lines that carry a key are not stored.

import { appendFileSync, chmodSync, closeSync, mkdirSync, openSync, readFileSync, readSync, statSync } from "node:fs";
import { dirname } from "node:path";
import * as v from "valibot";
import { writeFileAtomic } from "@/store/atomic-file.ts";
import { HISTORY_ENTRIES, HISTORY_ENTRY_CHARS } from "./limits.ts";

const EntrySchema = v.object({ text: v.string(), project: v.string() });

/** Larger than this the file is rewritten with what is still needed. */
const COMPACT_BYTES = 4_000_000;

export interface History {
  /** Oldest first; shell commands start with `!`. */
  readonly entries: readonly string[];
  /** Reads the file; entries added meanwhile stay the newest. */
  load(): void;
  /** Remembers a line; a failing disk is no reason to stop working, so it is remembered in memory at least. */
  add(text: string): void;
}

export function createHistory(file: string, project: string): History {
  let entries: string[] = [];
  return {
    get entries() {
      return entries;
    },
    load() {
      entries = dedupe([...readEntries(file, project), ...entries]).slice(-HISTORY_ENTRIES);
      compact(file);
    },
    add(text) {
      if (entries.at(-1) === text) return;
      if (isSecret(text)) return;
      entries = [...entries, text].slice(-HISTORY_ENTRIES);
      if (text.length > HISTORY_ENTRY_CHARS) return;
      try {
        append(file, { text, project, at: new Date().toISOString() });
      } catch {
        /* kept in memory: a full disk or a read-only home must not get in the way of a message */
      }
    },
  };
}

/** True for lines that hold a credential: `/connect provider key`, `/secret set NAME value`, and anything that looks like a key on its own. */
export function isSecret(text: string): boolean {
  if (/^\/connect\s+\S+\s+\S/.test(text) || /^!?\s*letta\s+connect\s+\S+\s+\S/.test(text)) return true;
  if (/^\/secret\s+set\s+\S+\s+\S/.test(text)) return true;
  if (/(?:^|[\s"'=:])(?:sk|pk|rk|ghp|gho|ghs|xox[abp]|AIza|glpat|key)[-_][\w-]{16,}/.test(text)) return true;
  return /\b(?:api[-_]?key|token|secret|password)["']?\s*[=:]\s*["']?\S{8,}/i.test(text);
}

function readEntries(file: string, project: string): string[] {
  let content: string;
  try {
    content = readFileSync(file, "utf8");
  } catch {
    return []; // no history yet, or not readable: start empty
  }
  const lines = content.split("\n");
  const found: string[] = [];
  for (let index = lines.length - 1; index >= 0 && found.length < HISTORY_ENTRIES; index--) {
    const line = lines[index];
    // Cheap test before parsing: most lines of a shared file belong to other projects.
    if (!line?.includes(JSON.stringify(project))) continue;
    const entry = parseLine(line);
    if (entry?.project === project) found.push(entry.text);
  }
  return found.reverse();
}

/** Undefined for a line a crash cut off, or a stranger's. */
function parseLine(line: string): v.InferOutput<typeof EntrySchema> | undefined {
  try {
    const parsed = v.safeParse(EntrySchema, JSON.parse(line));
    return parsed.success ? parsed.output : undefined;
  } catch {
    return undefined;
  }
}

function append(file: string, entry: { text: string; project: string; at: string }): void {
  mkdirSync(dirname(file), { recursive: true });
  appendFileSync(file, `${needsNewline(file) ? "\n" : ""}${JSON.stringify(entry)}\n`, { mode: 0o600 });
}

/** A cut last line must not swallow the new one; also tightens the mode of a file made by someone else. */
function needsNewline(file: string): boolean {
  try {
    const info = statSync(file);
    if ((info.mode & 0o077) !== 0) chmodSync(file, 0o600);
    if (info.size === 0) return false;
    const last = Buffer.alloc(1);
    const descriptor = openSync(file, "r");
    readSync(descriptor, last, 0, 1, info.size - 1);
    closeSync(descriptor);
    return last[0] !== 0x0a;
  } catch {
    return false; // the file does not exist yet
  }
}

/** Keeps the newest entries of each project once the file has grown large. What another terminal appends between our
 *  read and the rename went to the old file and is carried over. */
function compact(file: string): void {
  try {
    if (statSync(file).size < COMPACT_BYTES) return;
    const descriptor = openSync(file, "r");
    const content = readFileSync(descriptor);
    const counts = new Map<string, number>();
    const kept = content
      .toString("utf8")
      .split("\n")
      .reverse()
      .filter((line) => {
        const project = parseLine(line)?.project;
        if (project === undefined) return false;
        counts.set(project, (counts.get(project) ?? 0) + 1);
        return (counts.get(project) ?? 0) <= HISTORY_ENTRIES;
      })
      .reverse();
    writeFileAtomic(file, `${kept.join("\n")}\n`);
    const late = readFileSync(descriptor);
    closeSync(descriptor);
    if (late.length > 0) appendFileSync(file, late);
  } catch {
    /* a history that stays large is better than none */
  }
}

function dedupe(entries: string[]): string[] {
  return entries.filter((entry, index) => entry !== entries[index - 1]);
}
