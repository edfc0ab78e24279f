// `letta memory status` and `diff`: what is not committed, and what the remote does not have yet.

import { formatAge } from "@/lib/relative-time.ts";
import { renderFields } from "@/lib/table.ts";
import { plural } from "@/lib/text.ts";
import { formatDiff, readPairs } from "@/memory/diff-text.ts";
import { parsePath } from "@/memory/places.ts";
import { originOf } from "@/memory/remote-settings.ts";
import { subjectOf } from "@/memory/revert.ts";
import { listProposals, TRACKING } from "@/memory/sync.ts";
import { workingPairs } from "@/memory/working-changes.ts";
import { redactUrl } from "@/store/git/remote.ts";
import type { GitRepository } from "@/store/git/types.ts";
import type { Io } from "./io.ts";
import { showDiff } from "./memory-log.ts";
import type { MemoryScope } from "./memory-scope.ts";
import { type OutputArgs, present } from "./output.ts";

/** As `git diff --exit-code` and its like say that there is something. */
const EXIT_CHANGES = 2;
const MAX_LISTED = 20;
const MAX_COUNTED = 1_000;

export async function runMemoryStatus(
  { memory }: MemoryScope,
  args: OutputArgs,
  io: Io,
  now = Date.now(),
): Promise<number> {
  return present(io, args, () => readStatus(memory.places.memory, memory.agent.name, memory.ensure()), {
    piped: "json",
    value: ({ operation, ...status }) => ({ ...status, ...(operation && { operation }) }),
    exitCode: ({ dirty, aheadOfRemote }) => (dirty || aheadOfRemote ? EXIT_CHANGES : 0),
    text: (status) => {
      const { agent, dir, last, remote, ahead, files, conflicts, operation } = status;
      const shown = files.slice(0, MAX_LISTED).map(({ state, path }) => `${state} ${path}`);
      const more = files.length - shown.length;
      const rows = [...shown, ...(more > 0 ? [`and ${more} more`] : [])];
      return [
        renderFields([
          ["Memory of", agent],
          ["Folder", dir],
          [
            "Last change",
            last && `${formatAge(last.at, now)} by ${last.author}: ${last.subject} (${last.oid.slice(0, 7)})`,
          ],
          ["Remote", remote === null ? "none: on this machine only" : `${redactUrl(remote)}, ${describeAhead(ahead)}`],
          ["Half done", operation],
          [
            "Conflicts",
            conflicts.length > 0 ? `${plural(conflicts.length, "version")} to decide about: letta memory resolve` : "",
          ],
          ...rows.map((row, index) => [index === 0 ? "Not committed" : " ", row] as [string, string]),
        ]),
        files.length > 0 ? "letta memory diff shows it, letta memory commit -m WHY keeps it.\n" : "",
      ].join("");
    },
  });
}

async function readStatus(dir: string, agent: string, opening: Promise<GitRepository>) {
  const repository = await opening;
  const files = (await repository.status()).map(({ path, state, staged }) => ({ path, state, staged }));
  const remote = originOf(repository);
  const ahead = remote === null ? 0 : await countAhead(repository);
  const [last] = await Array.fromAsync(repository.log({ limit: 1 }));
  const conflicts = (await listProposals(repository)).map(({ id, conflicts }) => ({
    id,
    paths: conflicts.map(({ path }) => path),
  }));
  const summary = [
    files.length > 0 ? plural(files.length, "uncommitted file") : "clean",
    ...(ahead > 0 ? [`${plural(ahead, "commit")} to push`] : []),
    ...(conflicts.length > 0 ? [plural(conflicts.length, "conflict")] : []),
  ].join(", ");
  return {
    dirty: files.length > 0,
    aheadOfRemote: ahead > 0,
    summary,
    agent,
    dir,
    branch: (await repository.currentBranch())?.replace("refs/heads/", "") ?? null,
    head: await repository.resolve("HEAD"),
    last: last
      ? { oid: last.oid, at: last.author.at, author: last.author.name, subject: subjectOf(last.message) }
      : null,
    remote: remote === null ? null : redactUrl(remote),
    ahead,
    files,
    conflicts,
    operation: await repository.operation(),
  };
}

async function countAhead(repository: GitRepository): Promise<number> {
  const [head, known] = await Promise.all([repository.resolve("HEAD"), repository.resolve(TRACKING)]);
  if (head === null || head === known) return 0;
  let count = 0;
  for await (const { oid } of repository.log({ limit: MAX_COUNTED })) {
    if (known !== null && (await repository.isAncestor(oid, known))) break;
    count++;
  }
  return count;
}

function describeAhead(ahead: number): string {
  return ahead === 0 ? "nothing to push" : `${plural(ahead, "commit")} to push`;
}

export interface MemoryDiffArgs extends OutputArgs {
  path?: string;
  from?: string;
  to?: string;
}

export async function runMemoryDiff({ memory }: MemoryScope, args: MemoryDiffArgs, io: Io): Promise<number> {
  return present(
    io,
    args,
    async () => {
      const repository = await memory.ensure();
      const path = args.path === undefined ? undefined : parsePath(args.path, memory.places.memory);
      const isWanted = (name: string) =>
        path === undefined || [path, `${path}.md`].includes(name) || name.startsWith(`${path}/`);
      const pairs =
        args.from === undefined
          ? (await workingPairs(repository)).filter((pair) => isWanted(pair.path))
          : await readPairs(repository, args.from, args.to ?? "HEAD", isWanted);
      return { paths: pairs.map((pair) => pair.path), diff: formatDiff(pairs) };
    },
    {
      exitCode: ({ paths }) => (paths.length > 0 ? EXIT_CHANGES : 0),
      text: ({ paths, diff }) => (paths.length === 0 ? "No changes.\n" : showDiff(diff, io)),
    },
  );
}
