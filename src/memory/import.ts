// Takes over the memories of another client's local store: byte for byte, history included, but nothing that would have
// this program or git do something. The store is only read. What lies at an agent's place here is never touched.

import { lstatSync, readdirSync } from "node:fs";
import { cp, mkdir, realpath, rename, rm } from "node:fs/promises";
import { dirname, join, relative, sep } from "node:path";
import { errorMessage, LettaError } from "@/lib/errors.ts";
import type { Paths } from "@/store/paths.ts";
import { memoryPaths } from "./places.ts";

export interface MemoryImport {
  imported: number;
  present: number;
  problems: { file: string; message: string }[];
}

/** `dryRun` only counts. */
export async function importMemories(
  store: string,
  paths: Pick<Paths, "agents">,
  { dryRun }: { dryRun: boolean },
): Promise<MemoryImport> {
  const report: MemoryImport = { imported: 0, present: 0, problems: [] };
  const root = join(store, "memfs");
  for (const agentId of listFolders(root)) {
    const from = join(root, agentId, "memory");
    if (!lstatSync(from, { throwIfNoEntry: false })?.isDirectory()) continue;
    try {
      const to = memoryPaths(paths, agentId).memory;
      if (lstatSync(to, { throwIfNoEntry: false })) {
        report.present++;
        continue;
      }
      const git = lstatSync(join(from, ".git"), { throwIfNoEntry: false });
      if (git && !git.isDirectory()) throw new LettaError("invalid_data", "its .git is not a folder");
      if (!dryRun) await copyFolder(from, to);
      report.imported++;
    } catch (error) {
      report.problems.push({ file: from, message: `the memory was left out: ${errorMessage(error)}` });
    }
  }
  return report;
}

/** In `.git`: notes of this program about its own work, commands, and working trees of another place. */
const NOT_TAKEN = ["letta", "hooks", "worktrees"];

/** Whole or not at all. Links stay links. */
async function copyFolder(from: string, to: string): Promise<void> {
  await mkdir(dirname(to), { recursive: true, mode: 0o700 });
  // Beside its place, and under the name it really has: the copy may not run into itself.
  const temporary = join(await realpath(dirname(to)), `.importing-${crypto.randomUUID()}`);
  try {
    // On disks that ignore case, they are the same folders.
    const isTaken = (path: string) => {
      const [top, name] = relative(from, path).toLowerCase().split(sep);
      return top !== ".git" || name === undefined || !NOT_TAKEN.includes(name);
    };
    await cp(from, temporary, {
      filter: isTaken,
      recursive: true,
      verbatimSymlinks: true,
      preserveTimestamps: true,
      errorOnExist: true,
    });
    await rename(temporary, to);
  } catch (error) {
    await rm(temporary, { recursive: true, force: true });
    throw error;
  }
}

function listFolders(root: string): string[] {
  try {
    return readdirSync(root, { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .map(({ name }) => name)
      .sort();
  } catch {
    return []; // That store has no memories.
  }
}
