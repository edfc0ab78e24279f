// Hooks for whoever commits to a memory with real git: they ask this program, so that the same rules hold as for its own
// commits. Where the program is not found, git goes on without it.

import { readFile } from "node:fs/promises";
import type { FileMode, GitRepository } from "@/store/git/types.ts";
import type { MemoryChange } from "./validate.ts";

export const HOOK_NAMES = ["pre-commit", "post-commit"] as const;
export type HookName = (typeof HOOK_NAMES)[number];

/** By name, for the repository's `hooks` folder. */
export const MEMORY_HOOKS: Record<string, string> = Object.fromEntries(
  HOOK_NAMES.map((name) => [
    name,
    `#!/bin/sh\n# Checks what is committed to an agent's memory.\ncommand -v letta >/dev/null 2>&1 || exit 0\nLETTA_MEMORY_DIR=$PWD exec letta memory hook ${name}\n`,
  ]),
);

/** What a commit of this index would change. `indexFile`: git may use another one than the repository's own. */
export async function stagedChanges(repository: GitRepository, indexFile: string): Promise<MemoryChange[]> {
  const { parseIndex } = await import("@/store/git/index-file.ts");
  const entries = parseIndex(await readFile(indexFile), indexFile).filter(({ stage }) => stage === 0);
  const hasHead = (await repository.resolve("HEAD")) !== null;
  const head = new Map<string, { oid: string; mode: FileMode }>();
  if (hasHead) for (const { path, oid, mode } of await repository.listFiles("HEAD")) head.set(path, { oid, mode });
  const changed = entries.filter(({ path, oid, mode, intentToAdd }) => {
    const before = head.get(path);
    return !intentToAdd && mode !== "160000" && (before?.oid !== oid || before.mode !== mode);
  });
  const staged = new Set(entries.map(({ path }) => path));
  const gone = [...head.keys()].filter((path) => !staged.has(path));
  const contents = await Promise.all(changed.map(({ oid }) => repository.objects.readBlob(oid)));
  return [
    ...changed.map(({ path }, index) => ({ path, content: contents[index]! })),
    ...gone.map((path) => ({ path, content: null })),
  ];
}
