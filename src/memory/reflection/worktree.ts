// The linked working tree a dream works in, and the commit that is made of what it left there.

import { lstatSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { codeOf, LettaError } from "@/lib/errors.ts";
import { HARNESS_IDENTITY } from "@/memory/places.ts";
import { decodeLoosely, type MemoryChange, validateChanges } from "@/memory/validate.ts";
import type { GitRepository, Identity, Oid } from "@/store/git/types.ts";
import { isDreamId } from "./journal.ts";
import { removeOwnTree } from "./own-tree.ts";
import type { Redact } from "./payload.ts";
import { scratchReason } from "./scratch.ts";

export interface DreamTree {
  repository: GitRepository;
  /** Of the file that says where the repository is, as it was made. */
  link: string;
}

/** What a dream has to itself, and what is taken away with it. */
export interface DreamPlace {
  /** Of the working tree. */
  dir: string;
  /** Full ref. */
  branch: string;
}

/** Follows from the id alone. `worktrees`: the agent's. Throws when that is no folder of its own. */
export function dreamPlace(worktrees: string, id: string): DreamPlace {
  if (!isDreamId(id)) throw new LettaError("internal", `${JSON.stringify(id)} is no id of a dream`);
  const found = lstatSync(worktrees, { throwIfNoEntry: false });
  if (found && !found.isDirectory()) {
    throw new LettaError("storage", `${worktrees} is not a folder of its own`, { hint: "Move it away." });
  }
  return { dir: join(worktrees, `${DREAM_FOLDER}${id}`), branch: `refs/heads/letta/reflection/${id}` };
}

/** Its id follows. */
export const DREAM_FOLDER = "reflection-";

export async function openDreamTree(memory: GitRepository, { dir, branch }: DreamPlace, base: Oid): Promise<DreamTree> {
  const repository = await memory.addWorktree({ dir, branch: branch.replace(/^refs\/heads\//, ""), from: base });
  return { repository, link: await readFile(join(dir, ".git"), "utf8") };
}

/** One commit on the dream's branch that has exactly these changes against its base. Commits the dreamer made itself are
 *  kept below it, unless they hold what may not be kept. Returns the branch's new tip. */
export async function commitDream(
  memory: GitRepository,
  tree: DreamTree,
  { place, base }: { place: DreamPlace; base: Oid },
  commit: { changes: MemoryChange[]; message: string; author: Identity; redact: Redact },
): Promise<Oid> {
  const tip = await memory.resolve(place.branch);
  const isIntact =
    (await readLink(place.dir)) === tree.link && (await tree.repository.currentBranch()) === place.branch;
  const keepsOwn = tip !== null && tip !== base && isIntact && (await isKeepable(memory, { base, tip }, commit.redact));
  let target = tree.repository;
  if (!keepsOwn && (tip !== base || !isIntact)) {
    await discardTree(memory, place);
    target = (await openDreamTree(memory, place, base)).repository;
  }
  const parent = keepsOwn ? tip : base;
  const changes = keepsOwn ? await rebaseChanges(memory, base, tip, commit.changes) : commit.changes;
  const { message, author } = commit;
  const outcome = await target.commitChanges(changes, { message, author, committer: HARNESS_IDENTITY });
  if (outcome.status === "committed") return outcome.oid;
  if (keepsOwn) return parent;
  throw new LettaError("internal", "the dream's changes made no commit");
}

/** Folder, metadata and branch; what is gone already is fine. */
export async function discardTree(memory: GitRepository, { dir, branch }: DreamPlace) {
  // The folder first: it is no working tree any more to whoever looks inside for proof.
  await removeOwnTree(dir);
  try {
    await memory.removeWorktree(dir);
  } catch (error) {
    // Gone already, or locked by whoever worked in it: metadata of a folder that is not there harms nobody.
    if (codeOf(error) !== "not_found" && codeOf(error) !== "conflict") throw error;
  }
  const tip = await memory.resolve(branch);
  if (tip === null) return;
  await memory.updateRef(branch, { from: tip, to: null, reason: "reflection: done", by: HARNESS_IDENTITY });
}

async function readLink(dir: string): Promise<string | null> {
  return readFile(join(dir, ".git"), "utf8").catch(() => null);
}

/** Descends from the base and brings nothing along that is dropped from files, and no secret. */
async function isKeepable(
  memory: GitRepository,
  { base, tip }: { base: Oid; tip: Oid },
  redact: Redact,
): Promise<boolean> {
  if (!(await memory.isAncestor(base, tip))) return false;
  // Every commit on the way: what one added and the next deleted stays in the history.
  for (let oid = tip, steps = 0; oid !== base; steps++) {
    const { parents, message, author, committer } = await memory.objects.readCommit(oid);
    const [parent] = parents;
    if (parent === undefined || parents.length > 1 || steps > MAX_OWN_COMMITS) return false;
    const words = [message, author.name, author.email, committer.name, committer.email].join("\n");
    if (redact(words) !== words) return false;
    const changes: MemoryChange[] = [];
    for (const { path, after } of await memory.diffTrees(parent, oid)) {
      if (after === null) continue;
      if (redact(path) !== path) return false;
      if (after.mode === "120000" || after.mode === "160000") return false;
      const content = await memory.objects.readBlob(after.oid);
      if (scratchReason(path, content.length) !== null) return false;
      changes.push({ path, content });
    }
    const problems = await validateChanges({
      changes,
      paths: [],
      read: (path) => memory.readFile(parent, path),
      redact,
    });
    if (problems.some(({ kind }) => kind === "secret")) return false;
    oid = parent;
  }
  return true;
}

const MAX_OWN_COMMITS = 100;

/** What is left to change after the dreamer's own commits. */
async function rebaseChanges(memory: GitRepository, base: Oid, tip: Oid, wanted: readonly MemoryChange[]) {
  const target = new Map(wanted.map(({ path, content }) => [path, content]));
  // Committed by the dreamer and taken back, or dropped, since.
  for (const { path, before } of await memory.diffTrees(base, tip)) {
    if (!target.has(path)) target.set(path, before ? await memory.objects.readBlob(before.oid) : null);
  }
  const changes: MemoryChange[] = [];
  for (const [path, content] of target) {
    const now = await memory.readFile(tip, path);
    const same = now === null || content === null ? now === content : Buffer.compare(now, content) === 0;
    if (!same) changes.push({ path, content });
  }
  return changes;
}

/** Files of a commit or tree, as text. */
export async function readTexts(memory: GitRepository, revision: string, keep: (path: string) => boolean = () => true) {
  const entries = (await memory.listFiles(revision)).filter(({ path, mode }) => mode.startsWith("100") && keep(path));
  return Promise.all(
    entries.map(async ({ path, oid }) => ({ path, text: decodeLoosely(await memory.objects.readBlob(oid)) })),
  );
}
