// A dream's commit becomes part of the memory, or waits as a proposal. Everything is worked out in memory first; the
// memory itself changes in one step or not at all, and whoever wrote to it meanwhile is merged with, not overwritten.

import { codeOf, errorMessage } from "@/lib/errors.ts";
import { isReadOnly, parseMarkdown } from "@/memory/frontmatter.ts";
import { HARNESS_IDENTITY, isMarkdown, PERSONA_PATH } from "@/memory/places.ts";
import { formatProblems, type MemoryChange, type Problem, validateChanges } from "@/memory/validate.ts";
import type { FileMerger, GitRepository, Oid } from "@/store/git/types.ts";
import { MERGE_ATTEMPTS } from "./limits.ts";
import { findDamage, findGrowth } from "./loss.ts";
import type { Redact } from "./payload.ts";
import { mergeMessage } from "./report.ts";
import type { MergeMode } from "./settings.ts";
import { readTexts } from "./worktree.ts";

export interface IntegrationRequest {
  dreamId: string;
  agentId: string;
  tip: Oid;
  mode: MergeMode;
  mergeFile: FileMerger;
  /** Takes secrets out of text: what it changes does not get in. */
  redact: Redact;
  /** A person looked at it and wants it: only what contradicts the memory, or cannot be in one, still stops it. */
  isAccepted?: boolean;
}

export type Integration =
  | { status: "merged"; head: Oid; paths: string[]; notes: string[] }
  /** `waits`: nothing is wrong with it, somebody is to look first. */
  | { status: "blocked"; reason: string; waits: boolean }
  /** There is a secret in it: it may not be kept. */
  | { status: "secret"; reason: string };

export async function integrate(memory: GitRepository, request: IntegrationRequest): Promise<Integration> {
  for (let attempt = 1; ; attempt++) {
    const operation = await memory.operation();
    if (operation !== null) return blocked(`a ${operation} is half done in the memory`);
    const head = await memory.resolve("HEAD");
    if (head === null) return blocked("the memory has no commit");
    const { tip } = request;
    if (await memory.isAncestor(tip, head)) return { status: "merged", head, paths: [], notes: [] };
    const merged = await memory.merge(head, tip, request.mergeFile);
    if (merged.status === "conflict") {
      const paths = [...new Set(merged.conflicts.map(({ path }) => path))];
      return blocked(`the memory changed meanwhile in the same places: ${paths.join(", ")}`);
    }
    const objection = await findObjection(memory, head, merged.tree, request);
    if (objection) return objection;
    const paths = (await memory.diffTrees(head, merged.tree)).map(({ path }) => path);
    try {
      const landed = await land(memory, head, merged.tree, request);
      return { status: "merged", head: landed, paths, notes: merged.notes };
    } catch (error) {
      if (codeOf(error) !== "conflict") throw error;
      const hasMoved = (await memory.resolve("HEAD")) !== head;
      if (!hasMoved) return blocked(`there are changes in the memory that nobody committed: ${errorMessage(error)}`);
      if (attempt === MERGE_ATTEMPTS) return blocked("others kept writing to the memory");
    }
  }
}

/** Forward where nobody wrote meanwhile, a merge commit otherwise. */
async function land(memory: GitRepository, head: Oid, tree: Oid, request: IntegrationRequest): Promise<Oid> {
  const { tip, dreamId, agentId } = request;
  if (await memory.isAncestor(head, tip)) {
    await memory.fastForward(tip, { reason: `reflection ${dreamId}: merged`, by: HARNESS_IDENTITY });
    return tip;
  }
  const { message } = await memory.objects.readCommit(tip);
  return memory.commitTree(tree, {
    parents: [head, tip],
    expectedHead: head,
    message: mergeMessage(message, { dreamId, parentAgentId: agentId }),
    author: HARNESS_IDENTITY,
  });
}

/** Why the merged tree does not become the memory by itself. */
async function findObjection(
  memory: GitRepository,
  head: Oid,
  tree: Oid,
  { mode, redact, isAccepted = false }: IntegrationRequest,
): Promise<Exclude<Integration, { status: "merged" }> | null> {
  const errors = await findErrors(memory, head, tree, { redact, ownerMayOverride: isAccepted });
  if (errors.length > 0) {
    const reason = redact(formatProblems(errors));
    return errors.some(({ kind }) => kind === "secret") ? { status: "secret", reason } : blocked(reason);
  }
  if (isAccepted) return null;
  const before = await readTexts(memory, head);
  const readOnly = before.filter(({ path, text }) => isMarkdown(path) && isReadOnly(parseMarkdown(text)));
  const after = await readTexts(memory, tree);
  const damage = findDamage(before, after, {
    persona: PERSONA_PATH,
    readOnly: readOnly.map(({ path }) => path),
    bodyOf: (text) => parseMarkdown(text).body,
  });
  if (damage.length > 0) return blocked(damage.join("; "));
  const growth = findGrowth(before, after);
  if (growth !== null) return blocked(growth);
  if (mode === "review") return { status: "blocked", reason: "waits for a person to look at it", waits: true };
  if (mode === "explicit") return { status: "blocked", reason: "waits for the agent to look at it", waits: true };
  return null;
}

async function findErrors(
  memory: GitRepository,
  head: Oid,
  tree: Oid,
  options: { redact: Redact; ownerMayOverride: boolean },
): Promise<Problem[]> {
  const changes: MemoryChange[] = [];
  for (const { path, after } of await memory.diffTrees(head, tree)) {
    changes.push({ path, content: after ? await memory.objects.readBlob(after.oid) : null });
  }
  const problems = await validateChanges({
    changes,
    paths: (await memory.listFiles(head)).map(({ path }) => path),
    read: (path) => memory.readFile(head, path),
    ...options,
  });
  return problems.filter(({ severity }) => severity === "error");
}

function blocked(reason: string): Extract<Integration, { status: "blocked" }> {
  return { status: "blocked", reason, waits: false };
}
