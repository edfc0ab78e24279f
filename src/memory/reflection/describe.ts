// What became of a dream, in words for people. The first line says it; the rest is what to look at.

import { formatCount, plural } from "@/lib/text.ts";
import type { DreamRecord } from "./journal.ts";
import { isOpen, isPending } from "./journal.ts";
import type { Recovered } from "./recover.ts";
import type { DreamNews, DreamResult } from "./service.ts";

/** Paths named before the rest is counted. */
const MAX_PATHS = 3;

export function describeResult(result: DreamResult): string[] {
  return [...result.recovered.map(describeRecovered), ...describeOutcome(result)];
}

export function describeNews({ result }: DreamNews): string[] {
  if ("failed" in result) return [`Looking back on the conversation failed: ${result.failed}`];
  return result.launched ? describeResult(result) : result.recovered.map(describeRecovered);
}

function describeOutcome(result: DreamResult): string[] {
  if (!result.launched) {
    switch (result.reason) {
      case "no_payload":
        return ["Nothing was said since the last look back."];
      case "not_due":
        return [`It is not time yet: ${NOT_DUE[result.because] ?? result.because}.`];
      case "already_active": {
        const { label, pid, startedAt } = result.holder;
        return [`The agent is looking back already: ${label} process ${pid}, since ${startedAt}.`];
      }
    }
  }
  const { id, status, reason, subject, paths, notes, usage } = result.outcome;
  const cost = usage.totalTokens === 0 ? "" : ` (${formatCount(usage.totalTokens)} tokens)`;
  switch (status) {
    case "merged":
      return [`Memory updated: ${toSentence(subject)}${cost}`, ...listPaths(paths), ...notes, look(id)];
    case "no_changes":
      return [`Looked back; there was nothing to keep.${cost}`, ...notes];
    case "proposed":
      return [`A change of memory waits: ${toSentence(subject)}${cost}`, `Why: ${reason}`, ...notes, decide(id)];
    case "timed_out":
    case "failed":
      return [`Looking back failed: ${reason}. The memory is as it was; it is tried again later.${cost}`];
    case "stopped":
      return ["Looking back was stopped. The memory is as it was."];
  }
}

const NOT_DUE: Record<string, string> = {
  off: "reflection is off for this agent",
  not_enough_steps: "there are too few replies since the last look back",
  no_compaction: "no compaction happened since the last look back",
  backing_off: "the last attempt failed, and a few more turns pass before the next",
};

function describeRecovered({ id, status, reason }: Recovered): string {
  switch (status) {
    case "merged":
      return `Memory updated by an earlier look back whose process had ended (${id}).`;
    case "proposed":
      return `A change of memory from an earlier look back waits (${id}): ${reason}`;
    default:
      return `An earlier look back was cut off (${id}); nothing of it was kept.`;
  }
}

/** One word for lists. */
export function stateOf(record: DreamRecord): string {
  if (isPending(record)) return "waits";
  if (record.decision) return record.decision;
  return isOpen(record) ? "running" : (record.end ?? "");
}

function listPaths(paths: readonly string[]): string[] {
  if (paths.length === 0) return [];
  const rest = paths.length - MAX_PATHS;
  return [`${paths.slice(0, MAX_PATHS).join(", ")}${rest > 0 ? ` and ${plural(rest, "more file")}` : ""}`];
}

function toSentence(subject: string | null): string {
  return (subject ?? "").replace(/^[a-z]+\(reflection\):\s*/, "");
}

function look(id: string): string {
  return `Look: letta dream show ${id}`;
}

function decide(id: string): string {
  return `Look: letta dream show ${id} · take it: letta dream accept ${id} · leave it: letta dream reject ${id}`;
}
