// What a dreamer left in its worktree, as changes of the commit it began with. Read from the disk alone: git's files in
// there are the dreamer's to spoil, so nothing of them is believed.

import { lstat, readdir, readFile, readlink } from "node:fs/promises";
import { join } from "node:path";
import { LettaError } from "@/lib/errors.ts";
import type { MemoryChange } from "@/memory/validate.ts";
import type { GitRepository, Oid, TreeEntry } from "@/store/git/types.ts";
import { MAX_DREAM_FILES } from "./limits.ts";
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
  const found = await walk(dir);
  const changes: MemoryChange[] = [];
  const notes: string[] = [];
  for (const file of found) {
    const entry = before.get(file.path);
    if (file.kind === "link") {
      const same = entry?.mode === "120000" && entry.oid === blobOid(Buffer.from(await readlink(join(dir, file.path))));
      if (!same) notes.push(`left out ${file.path}: a link`);
      continue;
    }
    const reason = scratchReason(file.path, file.bytes);
    // What was there before the dream may be anything, as long as it still is.
    if (reason !== null && (!entry || file.bytes > MAX_COMPARED)) {
      notes.push(`left out ${file.path}: ${reason}`);
      continue;
    }
    const content = await readFile(join(dir, file.path));
    if (entry && entry.oid === blobOid(content)) continue;
    if (reason !== null) notes.push(`left out ${file.path}: ${reason}`);
    else changes.push({ path: file.path, content });
  }
  const left = new Set(found.map(({ path }) => path));
  for (const entry of before.values()) {
    if (!left.has(entry.path) && isOurs(entry)) changes.push({ path: entry.path, content: null });
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

async function walk(root: string): Promise<FoundFile[]> {
  const files: FoundFile[] = [];
  const folders = [""];
  let seen = 0;
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
    for (const entry of await readdir(join(root, folder), { withFileTypes: true })) {
      seen += 1;
      if (seen > MAX_ENTRIES) throw new LettaError("limit", `it left more than ${MAX_ENTRIES} files`);
      const path = folder === "" ? entry.name : `${folder}/${entry.name}`;
      // Git's own, at the top and wherever somebody made a repository.
      if (entry.name.toLowerCase() === ".git") continue;
      if (entry.isDirectory()) folders.push(path);
      else if (entry.isSymbolicLink()) files.push({ path, kind: "link", bytes: 0 });
      else if (entry.isFile()) files.push({ path, kind: "file", bytes: (await lstat(join(root, path))).size });
    }
  }
  return files.sort((a, b) => (a.path < b.path ? -1 : 1));
}

/** As git names it. */
function blobOid(content: Uint8Array): Oid {
  return new Bun.CryptoHasher("sha1").update(`blob ${content.length}\0`).update(content).digest("hex");
}
