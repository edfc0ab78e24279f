// An agent's memory and its remote. History is only ever added to: a memory that is behind goes forward, one that has
// diverged gets a merge commit, and what cannot be merged waits under a ref of its own until somebody decides. `main`
// here and there stays whole whatever fails in between, and the network is never waited for under a lock.

import { wait } from "@/lib/abort.ts";
import { codeOf, errorMessage, hintOf, isAbortError, LettaError } from "@/lib/errors.ts";
import { plural } from "@/lib/text.ts";
import { RemoteError, type Transport } from "@/store/git/remote.ts";
import type { GitRepository, Identity, MergeConflict, Oid } from "@/store/git/types.ts";
import { mergeMemoryFile } from "./merge-markdown.ts";
import { type Decisions, resolverOf } from "./three-way.ts";
import { findUnfinished, listed } from "./unfinished.ts";
import { findCollisions } from "./validate.ts";

export interface AgentMemory {
  dir: string;
  /** Null: the agent has no memory yet. */
  repository: GitRepository | null;
  /** Null: on this machine only. `kind` as in `RemoteChoice`. */
  remote: { transport: Transport; kind: "letta" | "own" } | null;
  /** Who makes merge commits: the harness. */
  by: Identity;
}

export type SyncStatus =
  | "skipped"
  /** Something is half done in the repository, or both sides changed the same. */
  | "conflict"
  /** Uncommitted changes. */
  | "dirty"
  | "clean"
  | "pushed"
  | "push_failed"
  /** The remote's history is another one now. */
  | "memory_diverged";

export interface SyncResult {
  status: SyncStatus;
  summary: string;
  memoryDir: string;
  localOnly: boolean;
  hint?: string;
}

export interface PullResult {
  status: "updated" | "current" | "conflict" | "dirty" | "memory_diverged" | "local_only" | "skipped" | "failed";
  updated: boolean;
  summary: string;
  hint?: string;
}

export interface SyncOptions {
  signal?: AbortSignal;
  /** Before trying again. */
  pause?: (ms: number, signal?: AbortSignal) => Promise<void>;
  random?: () => number;
}

/** A remote's version that waits for decisions. */
export interface Proposal {
  id: string;
  oid: Oid;
  conflicts: MergeConflict[];
}

export const MAIN = "refs/heads/main";
export const TRACKING = "refs/remotes/origin/main";
export const CONFLICTS = "refs/letta/conflicts/";
/** Where the remote was when its history turned out to be another one. */
export const DIVERGED = "refs/letta/diverged";

const MAX_PUSHES = 3;
const MAX_COUNTED = 200;
const RESOLVE_HINT = "`letta memory resolve` shows both versions and takes decisions.";
const RENAME_HINT = "Rename one of them and commit it; then they are merged.";
const DIVERGED_HINT =
  "`letta memory resolve --ours` keeps what is here, `--theirs` takes what the remote has; nothing is lost either way.";

/** Pushes what was committed. Throws only the signal's reason: what went wrong is a result. */
export async function syncAfterTurn(memory: AgentMemory, options: SyncOptions = {}): Promise<SyncResult> {
  const { repository: repo, remote } = memory;
  const result = (status: SyncStatus, summary: string, hint?: string): SyncResult => ({
    status,
    summary,
    memoryDir: memory.dir,
    localOnly: remote === null,
    ...(hint !== undefined && { hint }),
  });
  if (!repo) return result("skipped", "This agent has no memory yet.");
  try {
    const unfinished = await findUnfinished(repo);
    if (unfinished) return result(unfinished.status, unfinished.summary);
    if (!remote) return result("skipped", "This memory is kept on this machine only.");
    if ((await repo.currentBranch()) !== MAIN) return result("skipped", "The memory is not on its branch main.");
    return await push(memory, repo, remote.transport, options, result);
  } catch (error) {
    if (isAbort(error, options.signal)) throw error;
    if (remote && keepsNoMemories(remote, error)) {
      return {
        ...result("skipped", "The server keeps no memories: this one is on this machine only."),
        localOnly: true,
      };
    }
    return result("push_failed", errorMessage(error), hintOf(error));
  }
}

/** Brings what the remote has. Throws only the signal's reason. */
export async function pullMemory(memory: AgentMemory, options: SyncOptions = {}): Promise<PullResult> {
  const { repository: repo, remote } = memory;
  if (!repo) return pulled("skipped", "This agent has no memory yet.");
  if (!remote) return pulled("skipped", "This memory is kept on this machine only.");
  try {
    const operation = await repo.operation();
    if (operation) return pulled("conflict", `A ${operation} is half done in ${memory.dir}.`);
    if ((await repo.currentBranch()) !== MAIN) return pulled("skipped", "The memory is not on its branch main.");
    const before = await repo.resolve(MAIN);
    const joined = await join(memory, repo, remote.transport, options);
    if (joined.status !== "joined") return pulled(joined.status, joined.summary, joined.hint);
    const after = await repo.resolve(MAIN);
    if (after === before) return pulled("current", "Already up to date.");
    return pulled("updated", joined.summary);
  } catch (error) {
    if (isAbort(error, options.signal)) throw error;
    if (keepsNoMemories(remote, error)) {
      return pulled("local_only", "The server keeps no memories: this one is on this machine only.");
    }
    return pulled("failed", errorMessage(error), hintOf(error));
  }
}

/** What `--memfs-startup` says: wait for it, let it run beside the first turn, or leave it. The result of a pull that runs
 *  beside comes through `onResult`, which must not throw. */
export async function pullAtStart(
  memory: AgentMemory,
  mode: "blocking" | "background" | "skip",
  { onResult, ...options }: SyncOptions & { onResult(result: PullResult): void },
): Promise<void> {
  if (mode === "skip") return;
  const pull = pullMemory(memory, options).then(onResult);
  if (mode === "blocking") return pull;
  // It only rejects when it was told to stop.
  pull.catch(() => undefined);
}

/** What waits for decisions: remote versions that could not be merged, with what is still disputed. */
export async function listProposals(repo: GitRepository): Promise<Proposal[]> {
  const head = await repo.resolve(MAIN);
  if (head === null) return [];
  const proposals: Proposal[] = [];
  for (const { ref, oid } of await repo.listRefs(CONFLICTS)) {
    const outcome = await repo.merge(head, oid, mergeMemoryFile);
    const conflicts = outcome.status === "conflict" ? outcome.conflicts : [];
    proposals.push({ id: ref.slice(CONFLICTS.length), oid, conflicts });
  }
  return proposals;
}

/** Merges a proposal with decisions; what is left undecided comes back, and nothing has changed then. */
export async function resolveProposal(
  { repository: repo, by }: AgentMemory,
  id: string,
  decisions: Decisions,
): Promise<{ status: "merged"; oid: Oid } | { status: "conflict"; conflicts: MergeConflict[] }> {
  const theirs = repo && (await repo.resolve(CONFLICTS + id));
  const head = repo && (await repo.resolve(MAIN));
  if (!repo || !theirs || !head) throw new LettaError("not_found", `There is no conflict ${id} in this memory.`);
  const outcome = await repo.merge(head, theirs, mergeMemoryFile, resolverOf(decisions));
  if (outcome.status === "conflict") return outcome;
  const collision = await findCollision(repo, head, outcome.tree);
  if (collision !== null) throw new LettaError("conflict", collision, { hint: RENAME_HINT });
  const message = mergeMessage("merge: memory of another place, with decisions", outcome.notes);
  const options = { message, author: by, parents: [head, theirs], expectedHead: head };
  const oid = await repo.commitTree(outcome.tree, options);
  await dropSettled(repo, by);
  return { status: "merged", oid };
}

/** After the remote's history was replaced: a commit that has both histories, and the files of one side. */
export async function settleDivergence({ repository: repo, by }: AgentMemory, take: "ours" | "theirs"): Promise<Oid> {
  const theirs = repo && (await repo.resolve(DIVERGED));
  const head = repo && (await repo.resolve(MAIN));
  if (!repo || !theirs || !head) throw new LettaError("not_found", "This memory and its remote have not diverged.");
  const { tree } = await repo.objects.readCommit(take === "ours" ? head : theirs);
  const kept = take === "ours" ? "this machine's" : "the remote's";
  const oid = await repo.commitTree(tree, {
    message: `merge: keep ${kept} memory after the histories diverged`,
    author: by,
    parents: [head, theirs],
    expectedHead: head,
  });
  await setRef(repo, DIVERGED, null, by);
  await dropSettled(repo, by);
  return oid;
}

type ResultOf = (status: SyncStatus, summary: string, hint?: string) => SyncResult;

async function push(
  memory: AgentMemory,
  repo: GitRepository,
  remote: Transport,
  options: SyncOptions,
  result: ResultOf,
): Promise<SyncResult> {
  const { pause = wait, random = Math.random, signal } = options;
  let merged = false;
  for (let attempt = 1; attempt <= MAX_PUSHES; attempt++) {
    if (attempt > 1) {
      await pause(100 * 2 ** attempt * (0.5 + random()), signal);
      signal?.throwIfAborted();
    }
    const head = await repo.resolve(MAIN);
    const known = await repo.resolve(TRACKING);
    if (head === null || head === known) return result("clean", "Nothing to push.");
    const held = (await repo.resolve(DIVERGED)) !== null;
    if (!held && (known === null || (await repo.isAncestor(known, head)))) {
      const outcome = await remote.push(repo.objects, MAIN, { from: known, to: head }, options);
      if (outcome.status === "refused") return result("push_failed", `The remote refused it: ${outcome.reason}.`);
      if (outcome.status === "pushed") {
        const count = await countCommits(repo, head, known);
        await setRef(repo, TRACKING, head, memory.by);
        return result("pushed", `Pushed ${count}${merged ? " after merging what the remote had" : ""}.`);
      }
    }
    const joined = await join(memory, repo, remote, options);
    if (joined.status !== "joined") return result(joined.status, joined.summary, joined.hint);
    merged = true;
  }
  return result("push_failed", "The remote changed each time before the push arrived.", "It is tried again next turn.");
}

type Joined =
  | { status: "joined"; summary: string; hint?: undefined }
  | { status: "conflict" | "dirty" | "memory_diverged"; summary: string; hint?: string };

/** Fetches, and makes `main` contain what came. */
async function join(
  { dir, by }: AgentMemory,
  repo: GitRepository,
  remote: Transport,
  options: SyncOptions,
): Promise<Joined> {
  const known = await repo.resolve(TRACKING);
  const theirs = await remote.fetch(repo.objects, MAIN, {
    ...options,
    have: known ?? (await repo.resolve(MAIN)),
  });
  const rewritten = known !== null && theirs !== null && !(await repo.isAncestor(known, theirs));
  // Before what is known of the remote changes: a kill in between must not make us forget that it was replaced.
  if (rewritten) await setRef(repo, DIVERGED, theirs, by);
  await setRef(repo, TRACKING, theirs, by);
  if (theirs === null) return { status: "joined", summary: "The remote is empty." };

  // Another process of ours may commit meanwhile; the merge is then made again.
  for (let attempt = 1; ; attempt++) {
    const head = await repo.resolve(MAIN);
    try {
      const joined = await joinCommit(repo, head, theirs, by);
      if (joined.status === "joined") await dropSettled(repo, by);
      return joined;
    } catch (error) {
      if (codeOf(error) !== "conflict") throw error;
      if (attempt < MAX_PUSHES && (await repo.resolve(MAIN)) !== head) continue;
      const summary = `Uncommitted changes in ${dir} are in the way of what the remote has: ${errorMessage(error)}`;
      return { status: "dirty", summary };
    }
  }
}

async function joinCommit(repo: GitRepository, head: Oid | null, theirs: Oid, by: Identity): Promise<Joined> {
  if (head === theirs || head === null || (await repo.isAncestor(head, theirs))) {
    if (head !== theirs) await repo.fastForward(theirs, { reason: "pull: fast-forward", by });
    // Nothing of this machine is missing there, whatever became of the remote's history.
    await setRef(repo, DIVERGED, null, by);
    const count = head === theirs ? "" : await countCommits(repo, theirs, head);
    return { status: "joined", summary: count === "" ? "Already up to date." : `Took over ${count}.` };
  }
  const held = (await repo.resolve(DIVERGED)) !== null;
  if (held || (await repo.findMergeBase(head, theirs)) === null) {
    await setRef(repo, DIVERGED, theirs, by);
    const summary = "The remote's history is not the one this memory comes from; both are kept, nothing was changed.";
    return { status: "memory_diverged", summary, hint: DIVERGED_HINT };
  }
  if (await repo.isAncestor(theirs, head)) return { status: "joined", summary: "Already up to date." };

  const outcome = await repo.merge(head, theirs, mergeMemoryFile);
  const propose = () => setRef(repo, CONFLICTS + theirs.slice(0, 12), theirs, by);
  if (outcome.status === "conflict") {
    await propose();
    const files = listed(outcome.conflicts.map(({ path }) => path));
    const summary = `Both sides changed the same in ${files}. This machine's version stays; the other one is kept beside it.`;
    return { status: "conflict", summary, hint: RESOLVE_HINT };
  }
  const collision = await findCollision(repo, head, outcome.tree);
  if (collision !== null) {
    await propose();
    const summary = `${collision} This machine's version stays; the other one is kept beside it.`;
    return { status: "conflict", summary, hint: RENAME_HINT };
  }
  const message = mergeMessage("merge: memory of another place", outcome.notes);
  await repo.commitTree(outcome.tree, { message, author: by, parents: [head, theirs], expectedHead: head });
  return { status: "joined", summary: `Merged ${await countCommits(repo, theirs, head)} of the remote.` };
}

/** Names that each side may have, and one memory may not: a file and a folder of one name, or two that differ in case. */
async function findCollision(repo: GitRepository, head: Oid, tree: Oid): Promise<string | null> {
  const [before, after] = await Promise.all([repo.listFiles(head), repo.listFiles(tree)]);
  const kept = new Set(after.map(({ path }) => path));
  const paths = before.map(({ path }) => path);
  const known = new Set(paths);
  const collision = findCollisions({
    paths,
    added: [...kept].filter((path) => !known.has(path)),
    deleted: paths.filter((path) => !kept.has(path)),
  }).at(0);
  return collision ? `${collision.path}: ${collision.problem}.` : null;
}

/** Proposals that are part of `main` by now. */
async function dropSettled(repo: GitRepository, by: Identity): Promise<void> {
  const head = await repo.resolve(MAIN);
  if (head === null) return;
  for (const { ref, oid } of await repo.listRefs(CONFLICTS)) {
    if (await repo.isAncestor(oid, head)) await setRef(repo, ref, null, by);
  }
}

/** Of these refs only the newest value counts: when another process was faster, ours follows. */
async function setRef(repo: GitRepository, ref: string, to: Oid | null, by: Identity): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    const from = await repo.resolve(ref);
    if (from === to) return;
    try {
      return await repo.updateRef(ref, { from, to, reason: "memory sync", by });
    } catch (error) {
      if (codeOf(error) !== "conflict" || attempt >= MAX_PUSHES) throw error;
    }
  }
}

/** `3 commits` that `of` has and `without` lacks. */
async function countCommits(repo: GitRepository, of: Oid, without: Oid | null): Promise<string> {
  let count = 0;
  for await (const { oid } of repo.log({ from: of, limit: MAX_COUNTED })) {
    if (oid === without) break;
    if (without === null || !(await repo.isAncestor(oid, without))) count++;
  }
  return count >= MAX_COUNTED ? `${MAX_COUNTED} or more commits` : plural(count, "commit");
}

/** A server of an older kind, or somebody's own without this part: no reason not to work. */
function keepsNoMemories({ kind }: NonNullable<AgentMemory["remote"]>, error: unknown): boolean {
  return kind === "letta" && error instanceof RemoteError && (error.status === 404 || error.status === 405);
}

function mergeMessage(subject: string, notes: string[]): string {
  return notes.length === 0 ? subject : `${subject}\n\n${notes.map((note) => `- ${note}`).join("\n")}`;
}

function pulled(status: PullResult["status"], summary: string, hint?: string): PullResult {
  return { status, updated: status === "updated", summary, ...(hint !== undefined && { hint }) };
}

function isAbort(error: unknown, signal: AbortSignal | undefined): boolean {
  return signal?.aborted === true && (error === signal.reason || isAbortError(error));
}
