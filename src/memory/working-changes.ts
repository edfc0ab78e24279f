// What lies in a memory's folder without being committed: shown, checked and committed as the tools' own edits are.

import { lstat, readFile, readlink } from "node:fs/promises";
import { join } from "node:path";
import { LettaError } from "@/lib/errors.ts";
import type { FileMode, FileStatus, GitRepository } from "@/store/git/types.ts";
import type { FilePair, FileVersion } from "./diff-text.ts";
import type { AgentMemory, CommitRequest, MemoryCommit } from "./service.ts";
import { formatProblems, hasErrors, type MemoryChange } from "./validate.ts";

/** Commits what the folder has at or below the paths (`[]`: everywhere). Throws `usage` when that is nothing,
 *  `invalid_data` with what is wrong, `conflict` for what git has half done. */
export async function commitWorking(
  memory: AgentMemory,
  paths: string[],
  { message, author = memory.identity, ownerMayOverride = false }: CommitRequest,
): Promise<MemoryCommit> {
  const repository = await memory.ensure();
  const operation = await repository.operation();
  if (operation) {
    throw new LettaError("conflict", `A ${operation} is half done in ${memory.places.memory}`, {
      hint: "Finish or abort it with git first.",
    });
  }
  const reason = message.trim();
  if (reason === "") throw new LettaError("usage", "A change of memory needs a reason");
  const changed = await repository.status({ paths });
  const changes = await Promise.all(changed.map((file) => toChange(memory, file)));
  if (changes.length === 0) throw new LettaError("usage", "There is nothing to commit");
  const problems = await memory.validate(changes, { ownerMayOverride });
  if (hasErrors(problems)) {
    const errors = problems.filter(({ severity }) => severity === "error");
    throw new LettaError("invalid_data", `Nothing was committed:\n${formatProblems(errors)}`);
  }
  const outcome = await repository.commitPaths(
    changes.map(({ path }) => path),
    { message: reason, author },
  );
  if (outcome.status === "unchanged") throw new LettaError("usage", "There is nothing to commit");
  return { oid: outcome.oid, paths: outcome.paths, problems, notes: formatProblems(problems) };
}

/** Every uncommitted file against HEAD. */
export async function workingPairs(repository: GitRepository, paths: string[] = []): Promise<FilePair[]> {
  const head = new Map(
    (await repository.resolve("HEAD")) === null
      ? []
      : (await repository.listFiles("HEAD")).map((entry) => [entry.path, entry] as const),
  );
  const files = await repository.status({ paths });
  return Promise.all(
    files.map(async ({ path }) => {
      const entry = head.get(path);
      const before = entry && { mode: entry.mode, content: await repository.objects.readBlob(entry.oid) };
      return { path, before: before ?? null, after: await readVersion(join(repository.dir, path)) };
    }),
  );
}

async function toChange({ places }: AgentMemory, { path }: FileStatus): Promise<MemoryChange> {
  return { path, content: (await readVersion(join(places.memory, path)))?.content ?? null };
}

/** As git would keep it; a link is its target, never what it leads to. */
async function readVersion(path: string): Promise<FileVersion | null> {
  const stat = await lstat(path).catch(() => null);
  if (stat?.isSymbolicLink()) return { mode: "120000", content: Buffer.from(await readlink(path)) };
  if (!stat?.isFile()) return null;
  const mode: FileMode = stat.mode & 0o111 ? "100755" : "100644";
  return { mode, content: await readFile(path) };
}
