// Results of dreams that wait for a decision: what they would change, and taking or leaving them. A decision may come from
// any process at any time; it needs no lease, because the memory and the journal are changed one step at a time.

import { LettaError } from "@/lib/errors.ts";
import { isMarkdown } from "@/memory/places.ts";
import { decodeLoosely } from "@/memory/validate.ts";
import type { GitRepository, Oid } from "@/store/git/types.ts";
import { integrate } from "./integrate.ts";
import { type DreamRecord, isPending } from "./journal.ts";
import { dropProposal, type SettleDeps } from "./settle.ts";

export interface ProposedFile {
  path: string;
  change: "added" | "modified" | "deleted";
  /** Null where there is none, or it is no text. */
  before: string | null;
  after: string | null;
}

/** Against the memory it was made from. */
export async function describeProposal(memory: GitRepository, record: DreamRecord): Promise<ProposedFile[]> {
  const tip = record.proposed?.tip ?? record.committed?.tip;
  if (tip === undefined || (await memory.resolve(tip)) === null) return [];
  const files: ProposedFile[] = [];
  for (const { path, before, after } of await memory.diffTrees(record.plan.base, tip)) {
    const text = async (oid: Oid | undefined) =>
      oid === undefined || !isMarkdown(path) ? null : decodeLoosely(await memory.objects.readBlob(oid));
    files.push({
      path,
      change: before === null ? "added" : after === null ? "deleted" : "modified",
      before: await text(before?.oid),
      after: await text(after?.oid),
    });
  }
  return files;
}

/** By its id or the beginning of one. Throws `not_found` or `usage`. */
export function findDream(records: readonly DreamRecord[], id: string): DreamRecord {
  const found = records.filter((record) => record.id === id || record.id.startsWith(id) || record.id.endsWith(id));
  if (found.length === 1) return found[0]!;
  if (found.length > 1) throw new LettaError("usage", `${id} is the beginning of ${found.length} dreams`);
  throw new LettaError("not_found", `there is no dream ${id}`, { hint: "See: letta dream list" });
}

/** Makes it part of the memory. Throws `conflict` when it cannot be any more, and leaves it waiting. */
export async function acceptProposal(
  record: DreamRecord,
  by: string,
  deps: SettleDeps,
): Promise<{ head: Oid; paths: string[] }> {
  const { proposed, plan } = requirePending(record);
  const request = {
    dreamId: record.id,
    agentId: plan.agentId,
    tip: proposed.tip,
    mergeFile: deps.mergeFile,
    redact: deps.redact,
  };
  const outcome = await integrate(deps.memory, { ...request, mode: "auto", isAccepted: true });
  if (outcome.status !== "merged") {
    throw new LettaError("conflict", `The dream cannot become part of the memory: ${outcome.reason}`, {
      hint: `Dream again with letta dream, which is told about this one, or reject it: letta dream reject ${record.id}`,
    });
  }
  await decide(record, { decision: "accepted", by }, deps);
  return { head: outcome.head, paths: outcome.paths };
}

/** It is gone, and its transcript counts as read. */
export async function rejectProposal(record: DreamRecord, by: string, deps: SettleDeps): Promise<void> {
  requirePending(record);
  await decide(record, { decision: "rejected", by }, deps);
}

async function decide(
  record: DreamRecord,
  decision: { decision: "accepted" | "rejected"; by: string },
  { memory, journal, cursors }: SettleDeps,
): Promise<void> {
  // A person has decided about this transcript: it is not dreamt of again.
  for (const move of record.plan.moves) cursors.advance(move);
  await dropProposal(memory, record.id);
  journal.append(record.id, { step: "decided", ...decision });
  record.decision = decision.decision;
}

function requirePending(record: DreamRecord) {
  const { proposed, plan } = record;
  if (!isPending(record) || proposed === null) {
    const state = record.decision ?? record.end ?? "still running";
    throw new LettaError("usage", `dream ${record.id} does not wait for a decision: ${state}`);
  }
  return { proposed, plan };
}
