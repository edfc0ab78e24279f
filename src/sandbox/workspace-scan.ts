// What a workspace holds that decides what runs outside later, looked for folder by folder, nearest first, and not
// forever: git repositories besides the one at the top, and files whose reading is forbidden by a pattern.

import { join } from "node:path";
import type { ListDirectory } from "./landlock.ts";

export interface WorkspaceScan {
  /** Directories git takes for its own: `x/.git`, or `x` itself where it is bare. */
  repositories: string[];
  /** Files named `.git`, which say where a repository is. */
  links: string[];
  /** Files and directories `denies` is true for. */
  denied: string[];
}

/** More folders than this are not looked into: it happens before each command. */
const MAX_FOLDERS = 200;
const MAX_ENTRIES = 10_000;
/** Large, and nobody works in them. */
const SKIPPED = new Set(["node_modules", ".git", "__pycache__", ".venv", "target"]);

export function scanWorkspace(
  roots: readonly string[],
  { list, denies }: { list: ListDirectory; denies?: ((path: string) => boolean) | null },
): WorkspaceScan {
  const found: WorkspaceScan = { repositories: [], links: [], denied: [] };
  const queue = [...roots];
  let entries = 0;
  for (let at = 0; at < queue.length && at < MAX_FOLDERS && entries < MAX_ENTRIES; at++) {
    const folder = queue[at]!;
    const listed = list(folder);
    entries += listed.length;
    if (isBare(listed)) found.repositories.push(folder);
    for (const { name, kind } of listed) {
      const path = join(folder, name);
      if (denies?.(path)) {
        found.denied.push(path);
        continue;
      }
      if (name === ".git") (kind === "directory" ? found.repositories : found.links).push(path);
      if (kind === "directory" && !SKIPPED.has(name)) queue.push(path);
    }
  }
  return found;
}

/** What git looks for before it takes a directory for a repository. */
export function isBare(entries: ReturnType<ListDirectory>): boolean {
  const has = (name: string, kind: string): boolean =>
    entries.some((entry) => entry.name === name && entry.kind === kind);
  return has("HEAD", "file") && has("objects", "directory") && has("refs", "directory");
}

const PIPE_FOLDERS = 200;

/** Named pipes below these directories, down to a depth. */
export function findPipes(places: readonly { path: string; depth: number }[], list: ListDirectory): string[] {
  const pipes = new Set<string>();
  const queue = [...places];
  for (let at = 0; at < queue.length && at < PIPE_FOLDERS; at++) {
    const { path, depth } = queue[at]!;
    for (const { name, kind } of list(path)) {
      if (kind === "pipe") pipes.add(join(path, name));
      if (kind === "directory" && depth > 1) queue.push({ path: join(path, name), depth: depth - 1 });
    }
  }
  return [...pipes];
}
