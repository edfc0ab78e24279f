// What a dreamer left in its worktree, as changes of the commit it began with. Read from the disk alone: git's files in
// there are the dreamer's to spoil, so nothing of them is believed.

import { readFile, readlink } from "node:fs/promises";
import { LettaError, systemErrorCode, systemReason } from "@/lib/errors.ts";
import { clip } from "@/lib/text.ts";
import type { MemoryChange } from "@/memory/validate.ts";
import { findPathProblem, isAtOrBelow, toDiskPath } from "@/store/git/names.ts";
import type { GitRepository, Oid, TreeEntry } from "@/store/git/types.ts";
import { MAX_DREAM_FILES } from "./limits.ts";
import { readEntries } from "./own-tree.ts";
import { scratchReason } from "./scratch.ts";

export interface Collected {
  /** Without scratch; what is the same is not in here. */
  changes: MemoryChange[];
  /** What was left out, one line each. */
  notes: string[];
}

/** Files and folders looked at; more is no memory. */
const MAX_ENTRIES = 100_000;
/** Lines about what was left out. */
const MAX_NOTES = 20;

/** Throws `limit` when the dreamer changed more than anybody could look through. */
export async function collectChanges(repository: GitRepository, base: Oid, dir: string): Promise<Collected> {
  const before = new Map((await repository.listFiles(base)).map((entry) => [entry.path, entry]));
  const { files: found, closed } = await walk(dir, (path) => before.has(path));
  const changes: MemoryChange[] = [];
  const notes: string[] = [];
  for (const { path, reason } of closed) notes.push(leftOut(path, reason));
  for (const file of found) {
    const entry = before.get(file.path);
    if (file.kind === "link") {
      const same =
        entry?.mode === "120000" &&
        entry.oid === blobOid(await readlink(toDiskPath(dir, file.path), { encoding: "buffer" }));
      if (!same) notes.push(leftOut(file.path, "a link"));
      continue;
    }
    const reason = scratchReason(file.path, file.bytes);
    // What was there before the dream may be anything, as long as it still is.
    if (reason !== null && (!entry || file.bytes > MAX_COMPARED)) {
      notes.push(leftOut(file.path, reason));
      continue;
    }
    let content: Buffer;
    try {
      content = await readFile(toDiskPath(dir, file.path));
    } catch (error) {
      if (systemErrorCode(error) === undefined) throw error;
      notes.push(leftOut(file.path, systemReason(error)));
      continue;
    }
    if (entry && entry.oid === blobOid(content)) continue;
    if (reason !== null) notes.push(leftOut(file.path, reason));
    else changes.push({ path: file.path, content });
  }
  const left = new Set(found.map(({ path }) => path));
  for (const entry of before.values()) {
    // What could not be looked at is not gone.
    if (left.has(entry.path) || closed.some(({ path }) => isAtOrBelow(entry.path, path))) continue;
    if (isOurs(entry)) changes.push({ path: entry.path, content: null });
  }
  if (changes.length > MAX_DREAM_FILES) {
    throw new LettaError("limit", `it changed ${changes.length} files, more than the ${MAX_DREAM_FILES} there may be`);
  }
  const more = notes.length - MAX_NOTES;
  return { changes, notes: more > 0 ? [...notes.slice(0, MAX_NOTES), `left out ${more} more files`] : notes };
}

/** A larger file that was in the memory before is not read to see whether it changed. */
const MAX_COMPARED = 16 * 1024 * 1024;

/** Submodules have no files here. */
function isOurs({ mode }: TreeEntry): boolean {
  return mode !== "160000";
}

interface FoundFile {
  path: string;
  kind: "file" | "link";
  bytes: number;
}

interface Walked {
  /** By path. */
  files: FoundFile[];
  /** Files and folders that could not be looked at, or cannot be in a memory by their name. */
  closed: { path: string; reason: string }[];
}

async function walk(root: string, isKnown: (path: string) => boolean): Promise<Walked> {
  const files: FoundFile[] = [];
  const closed: Walked["closed"] = [];
  let seen = 0;
  for await (const { path, name, stat, problem } of readEntries(root)) {
    seen += 1;
    if (seen > MAX_ENTRIES) throw new LettaError("limit", `it left more than ${MAX_ENTRIES} files`);
    // Git's own, at the top and wherever somebody made a repository.
    if (name.toLowerCase() === ".git") continue;
    if (problem !== null) closed.push({ path, reason: problem });
    else if (stat?.isDirectory()) continue;
    else if (isKnown(path) || nameProblem(path) === null) {
      if (stat?.isSymbolicLink()) files.push({ path, kind: "link", bytes: 0 });
      else if (stat?.isFile()) files.push({ path, kind: "file", bytes: stat.size });
    } else closed.push({ path, reason: nameProblem(path)! });
  }
  return { files: files.sort((a, b) => (a.path < b.path ? -1 : 1)), closed };
}

function nameProblem(path: string): string | null {
  return findPathProblem(path) ?? (path.isWellFormed() ? null : "its name is not UTF-8");
}

/** One line, whatever the name is. */
function leftOut(path: string, reason: string): string {
  const shown = /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}]/u.test(path) ? JSON.stringify(path) : path;
  return `left out ${clip(shown, SHOWN_PATH_CHARS)}: ${reason}`;
}

const SHOWN_PATH_CHARS = 200;

/** As git names it. */
function blobOid(content: Uint8Array): Oid {
  return new Bun.CryptoHasher("sha1").update(`blob ${content.length}\0`).update(content).digest("hex");
}
