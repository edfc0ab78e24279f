// `letta memory commit`, `restore`, `revert` and `undo`. Every one adds a commit: nothing that was committed is ever lost
// by them.

import { codeOf, errorMessage, LettaError } from "@/lib/errors.ts";
import { plural } from "@/lib/text.ts";
import { parsePath } from "@/memory/places.ts";
import { findLastStanding, type Reverted, revertCommit, subjectOf } from "@/memory/revert.ts";
import type { AgentMemory } from "@/memory/service.ts";
import { commitWorking } from "@/memory/working-changes.ts";
import type { GitRepository } from "@/store/git/types.ts";
import type { Io } from "./io.ts";
import { findPath, requireRevision } from "./memory-log.ts";
import type { MemoryScope } from "./memory-scope.ts";
import { type OutputArgs, present, requireConsent } from "./output.ts";

export interface MemoryCommitArgs extends OutputArgs {
  _?: string[];
  message?: string;
}

export async function runMemoryCommit(scope: MemoryScope, args: MemoryCommitArgs, io: Io): Promise<number> {
  const { memory, author, isAgent } = scope;
  return present(
    io,
    args,
    async () => {
      await scope.prepare();
      const paths = await Promise.all((args._ ?? []).map((path) => workingPath(memory, path)));
      const request = { message: args.message ?? "", author, ownerMayOverride: !isAgent };
      const commit = await explainSandbox(scope, () => commitWorking(memory, paths, request));
      const { oid, paths: committed, problems, notes } = commit;
      return { oid, paths: committed, problems, notes };
    },
    {
      value: ({ notes: _, ...rest }) => rest,
      text: ({ oid, paths, notes }) => `Committed ${paths.join(", ")} (${oid.slice(0, 7)})\n${notes && `${notes}\n`}`,
    },
  );
}

export interface MemoryRestoreArgs extends OutputArgs {
  _?: string[];
  from?: string;
  message?: string;
}

/** Without `--from`: drops what is not committed at the paths. With it, brings them back to a commit, as a new one. */
export async function runMemoryRestore(scope: MemoryScope, args: MemoryRestoreArgs, io: Io): Promise<number> {
  const { memory, author, isAgent } = scope;
  return present(
    io,
    args,
    async () => {
      const repository = await memory.ensure();
      const revision = await requireRevision(repository, args.from ?? "HEAD");
      const typed = args._ ?? [];
      if (typed.length === 0) throw new LettaError("usage", "PATH is missing (what to restore)");
      const paths = await Promise.all(typed.map((path) => restorablePath(memory, repository, path, revision)));
      if (args.from === undefined) {
        const dropped = (await repository.status({ paths })).map(({ path }) => path);
        await explainSandbox(scope, () => repository.restore(paths, "HEAD"));
        return { paths: dropped, oid: null, from: revision, notes: "" };
      }
      await scope.prepare();
      const reason = args.message ?? `restore: ${paths.join(", ")} as of ${revision.slice(0, 7)}`;
      const request = { message: reason, author, ownerMayOverride: !isAgent };
      const commit = await memory.edit(async (draft) => {
        const then = (await repository.listFiles(revision)).map((entry) => entry.path);
        const isMeant = (name: string) => paths.some((path) => name === path || name.startsWith(`${path}/`));
        for (const name of draft.find(isMeant)) draft.write(name, null);
        for (const name of then.filter(isMeant)) draft.write(name, await repository.readFile(revision, name));
      }, request);
      return { paths: commit.paths, oid: commit.oid, from: revision, notes: commit.notes };
    },
    {
      value: ({ notes: _, ...rest }) => rest,
      text: ({ paths, oid, from, notes }) => {
        if (paths.length === 0) return "Nothing there was changed.\n";
        const what = paths.join(", ");
        if (oid === null) return `Dropped what was not committed: ${what}\n`;
        return `${what}: as in ${from.slice(0, 7)} again (commit ${oid.slice(0, 7)})\n${notes && `${notes}\n`}`;
      },
    },
  );
}

export interface MemoryRevertArgs extends OutputArgs {
  commit?: string;
}

export async function runMemoryRevert(scope: MemoryScope, args: MemoryRevertArgs, io: Io): Promise<number> {
  const { memory, author } = scope;
  return presentRevert(scope, io, args, async () => {
    const repository = await memory.ensure();
    const oid = await requireRevision(repository, args.commit ?? "");
    return revertCommit(repository, await repository.objects.readCommit(oid), author);
  });
}

/** The last commit that still stands; again, the one before. */
export async function runMemoryUndo(scope: MemoryScope, args: OutputArgs & { yes?: boolean }, io: Io): Promise<number> {
  const { memory, author } = scope;
  return presentRevert(scope, io, args, async () => {
    const repository = await memory.ensure();
    const last = await findLastStanding(repository);
    if (!last)
      throw new LettaError("not_found", "There is no commit left to take back", { hint: "See: letta memory log" });
    if (io.confirm) await requireConsent(io, args, `Take back "${subjectOf(last.message)}" (${last.oid.slice(0, 7)})?`);
    return revertCommit(repository, last, author);
  });
}

function presentRevert(scope: MemoryScope, io: Io, args: OutputArgs, work: () => Promise<Reverted>): Promise<number> {
  return present(io, args, () => explainSandbox(scope, work), {
    value: ({ oid, of, paths }) => ({ oid, reverted: of.oid, subject: subjectOf(of.message), paths }),
    text: ({ oid, of, paths }) =>
      `Took back "${subjectOf(of.message)}" of ${of.author.name} in ${plural(paths.length, "file")}: ${paths.join(", ")}\n` +
      `To do it again: letta memory revert ${oid.slice(0, 7)}\n`,
  });
}

/** What an agent's confined command may not write, its tools may. */
async function explainSandbox<T>({ isAgent }: MemoryScope, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!isAgent || codeOf(error) !== "storage") throw error;
    throw new LettaError("storage", errorMessage(error), {
      cause: error,
      hint: "Where commands run in a sandbox they cannot commit: your memory tool can.",
    });
  }
}

/** As it lies in the folder, with `.md` where that was left out. */
async function workingPath(memory: AgentMemory, typed: string): Promise<string> {
  const repository = await memory.ensure();
  const path = parsePath(typed, memory.places.memory);
  const changed = (await repository.status({ paths: [path, `${path}.md`] })).map((file) => file.path);
  return changed.includes(`${path}.md`) && !changed.includes(path) ? `${path}.md` : path;
}

async function restorablePath(
  memory: AgentMemory,
  repository: GitRepository,
  typed: string,
  revision: string,
): Promise<string> {
  const { memory: dir } = memory.places;
  const path = await findPath(repository, typed, dir, revision);
  const isKnown = async (at: string) =>
    (await repository.listFiles(at)).some((entry) => entry.path === path || entry.path.startsWith(`${path}/`));
  if ((await isKnown(revision)) || (await isKnown("HEAD"))) return path;
  const here = await findPath(repository, typed, dir, "HEAD");
  if (here !== path) return here;
  throw new LettaError("not_found", `${path} is no file of this memory`, {
    hint: `It was never committed, or earlier than asked for: letta memory log ${path}`,
  });
}
