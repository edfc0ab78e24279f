// Brings a dream from its commit to its end, one journaled step at a time, from whichever step was the last. The dream
// that ran and the one that is found after a crash end here, by the same code: every step may be done twice.

import { codeOf } from "@/lib/errors.ts";
import { HARNESS_IDENTITY } from "@/memory/places.ts";
import type { FileMerger, GitRepository, Oid } from "@/store/git/types.ts";
import type { CursorMove, Cursors } from "./cursors.ts";
import { integrate } from "./integrate.ts";
import { type DREAM_ENDS, type DreamJournal, type DreamRecord, isPending } from "./journal.ts";
import type { Redact } from "./payload.ts";
import { discardTree, dreamPlace } from "./worktree.ts";

export interface SettleDeps {
  memory: GitRepository;
  /** Folder of the agent's worktrees. */
  worktrees: string;
  journal: DreamJournal;
  cursors: Cursors;
  mergeFile: FileMerger;
  /** Takes secrets out of text. */
  redact: Redact;
  /** For tests that end the process there. */
  onStep?(step: string): void;
}

export interface Settled {
  status: (typeof DREAM_ENDS)[number];
  reason: string | null;
  /** Of the memory, when the dream became part of it. */
  head: Oid | null;
  /** Paths that changed in it. */
  paths: string[];
  notes: string[];
  proposal: string | null;
}

/** What a dream that waits is kept under. */
export function proposalRef(id: string): string {
  return `refs/letta/proposals/${id}`;
}

/** `record` has a commit. */
export async function settleDream(record: DreamRecord, deps: SettleDeps): Promise<Settled> {
  const { memory, journal, mergeFile, redact } = deps;
  const { id, plan } = record;
  const { tip } = record.committed!;
  let paths: string[] = [];
  let notes: string[] = [];
  if (record.merged === null && record.proposed === null) {
    const request = { dreamId: id, agentId: plan.agentId, tip, mode: plan.merge, mergeFile, redact };
    const outcome = await integrate(memory, request);
    deps.onStep?.("integrated");
    if (outcome.status === "merged") {
      ({ paths, notes } = outcome);
      journal.append(id, { step: "merged", head: outcome.head });
      record.merged = outcome.head;
    } else if (outcome.status === "secret") {
      const { reason } = outcome;
      await dropDream(record, { status: "failed", reason, moved: "fail" }, deps);
      return { status: "failed", reason, head: null, paths, notes, proposal: null };
    } else {
      await keepProposal(memory, proposalRef(id), tip);
      const { reason, waits: advances } = outcome;
      journal.append(id, { step: "proposed", tip, reason, advances });
      record.proposed = { tip, reason, advances };
    }
    deps.onStep?.(record.merged === null ? "proposed" : "merged");
  }
  const advances = record.merged !== null || record.proposed?.advances === true;
  if (!record.cursorMoved) {
    if (advances) for (const move of plan.moves) deps.cursors.advance(move);
    else for (const move of plan.moves) deps.cursors.failed(move, move.newest);
    journal.append(id, { step: "cursor" });
    record.cursorMoved = true;
    deps.onStep?.("cursor");
  }
  if (record.merged !== null) await supersede(record, deps);
  const status = record.merged === null ? "proposed" : "merged";
  const reason = record.proposed?.reason ?? null;
  await closeDream(record, { status, ...(reason !== null && { reason }) }, deps);
  return {
    status,
    reason,
    head: record.merged,
    paths,
    notes,
    proposal: record.proposed === null ? null : proposalRef(id),
  };
}

/** Nothing of it is kept; `moved` when its transcript counts as read. */
export async function dropDream(
  record: DreamRecord,
  end: { status: (typeof DREAM_ENDS)[number]; reason?: string; moved: "advance" | "fail" | "leave" },
  deps: SettleDeps,
): Promise<void> {
  if (!record.cursorMoved) {
    for (const move of record.plan.moves) {
      if (end.moved === "advance") deps.cursors.advance(move);
      if (end.moved === "fail") deps.cursors.failed(move, move.newest);
    }
    deps.journal.append(record.id, { step: "cursor" });
    record.cursorMoved = true;
  }
  await closeDream(record, { status: end.status, ...(end.reason !== undefined && { reason: end.reason }) }, deps);
}

async function closeDream(
  record: DreamRecord,
  end: { status: (typeof DREAM_ENDS)[number]; reason?: string },
  { memory, worktrees, journal, onStep }: SettleDeps,
): Promise<void> {
  try {
    await discardTree(memory, dreamPlace(worktrees, record.id));
  } catch (error) {
    // A folder that cannot be removed is swept by a later dream; it must not keep this one from its end.
    if (codeOf(error) !== "storage") throw error;
  }
  onStep?.("discarded");
  journal.append(record.id, { step: "closed", ...end });
  record.end = end.status;
}

async function keepProposal(memory: GitRepository, ref: string, tip: Oid): Promise<void> {
  if ((await memory.resolve(ref)) === tip) return;
  await memory.updateRef(ref, {
    from: null,
    to: tip,
    reason: "reflection: waits for a decision",
    by: HARNESS_IDENTITY,
  });
}

/** Earlier attempts on the same transcript, which this dream was told about, need no decision any more. */
async function supersede({ id, plan }: DreamRecord, deps: SettleDeps): Promise<void> {
  for (const earlier of deps.journal.read()) {
    if (earlier.id === id || !isPending(earlier) || earlier.proposed!.advances) continue;
    if (!earlier.plan.moves.some((move) => plan.moves.some((other) => isSameConversation(move, other)))) continue;
    await dropProposal(deps.memory, earlier.id);
    deps.journal.append(earlier.id, { step: "decided", decision: "superseded", by: id });
  }
}

export async function dropProposal(memory: GitRepository, id: string): Promise<void> {
  const ref = proposalRef(id);
  const tip = await memory.resolve(ref);
  if (tip === null) return;
  try {
    await memory.updateRef(ref, { from: tip, to: null, reason: "reflection: decided", by: HARNESS_IDENTITY });
  } catch (error) {
    // Somebody else dropped it.
    if (codeOf(error) !== "conflict") throw error;
  }
}

export function isSameConversation(a: CursorMove, b: CursorMove): boolean {
  return a.agentId === b.agentId && a.conversationId === b.conversationId;
}
