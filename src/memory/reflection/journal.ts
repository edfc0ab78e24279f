// What became of each dream, one JSON line per step, in the repository it is about: `.git/letta/dreams.jsonl`. A step is
// written after it was done and before the next begins, so that whoever finds a dream without an end knows where to go
// on, and doing a step again changes nothing. Written only by who holds the agent's reflection lease, or decides about
// one proposal. A memory may come from anywhere, and this file with it: where a dream works and what its refs are called
// follows from its id alone and is never read from here, and a line that is not as we write it is not there.

import { closeSync, fstatSync, fsyncSync, mkdirSync, openSync, readFileSync, readSync, writeSync } from "node:fs";
import { dirname, join } from "node:path";
import * as v from "valibot";
import { LettaError, systemErrorCode, systemReason } from "@/lib/errors.ts";
import { parseJson } from "@/lib/json.ts";
import { writeFileAtomic } from "@/store/atomic-file.ts";
import { JOURNAL_DREAMS } from "./limits.ts";

const Text = v.string();
/** As `dreamId` makes it: it names a folder, a branch and a ref. */
const DreamIdText = v.pipe(Text, v.regex(/^\d{14}-[0-9a-f]{8}$/));
const OidText = v.pipe(Text, v.regex(/^[0-9a-f]{40}$/));

export function isDreamId(text: string): boolean {
  return v.is(DreamIdText, text);
}

const MoveSchema = v.object({
  agentId: Text,
  conversationId: Text,
  from: v.nullable(Text),
  to: Text,
  newest: Text,
  compaction: v.nullable(Text),
});

const PlanSchema = v.object({
  agentId: Text,
  /** Commit the worktree began with. */
  base: OidText,
  /** Cursors that move when the result is in. */
  moves: v.array(MoveSchema),
  /** What was looked back on, one line each. */
  reviewed: v.array(Text),
  merge: v.picklist(["auto", "explicit", "review"]),
  instruction: v.optional(Text),
});
export type DreamPlan = v.InferOutput<typeof PlanSchema>;

export const DREAM_ENDS = ["merged", "proposed", "no_changes", "failed", "timed_out", "stopped"] as const;

const EntrySchema = v.intersect([
  v.object({ v: v.literal(1), id: DreamIdText, at: Text }),
  v.variant("step", [
    v.object({ step: v.literal("planned"), plan: PlanSchema }),
    /** Its files are checked and committed on its branch. */
    v.object({ step: v.literal("committed"), tip: OidText, subject: Text, notes: v.array(Text) }),
    /** They are part of the memory, whose head is this. */
    v.object({ step: v.literal("merged"), head: OidText }),
    /** They wait as a proposal. `advances`: the transcript counts as read. */
    v.object({ step: v.literal("proposed"), tip: OidText, reason: Text, advances: v.boolean() }),
    v.object({ step: v.literal("cursor") }),
    /** Nothing of the worktree is left, or nothing of it matters any more. */
    v.object({ step: v.literal("closed"), status: v.picklist(DREAM_ENDS), reason: v.optional(Text) }),
    /** What somebody decided about a proposal. */
    v.object({ step: v.literal("decided"), decision: v.picklist(["accepted", "rejected", "superseded"]), by: Text }),
  ]),
]);
export type JournalEntry = v.InferOutput<typeof EntrySchema>;
type StepOf<Name extends JournalEntry["step"]> = Extract<JournalEntry, { step: Name }>;

/** Everything known about one dream. */
export interface DreamRecord {
  id: string;
  plan: DreamPlan;
  startedAt: string;
  endedAt: string | null;
  committed: Pick<StepOf<"committed">, "tip" | "subject" | "notes"> | null;
  merged: string | null;
  proposed: Pick<StepOf<"proposed">, "tip" | "reason" | "advances"> | null;
  cursorMoved: boolean;
  /** Null: it runs, or was killed. */
  end: (typeof DREAM_ENDS)[number] | null;
  reason: string | null;
  decision: StepOf<"decided">["decision"] | null;
}

type WithoutStamp<Entry> = Entry extends unknown ? Omit<Entry, "v" | "id" | "at"> : never;
export type Step = WithoutStamp<JournalEntry>;

export interface DreamJournal {
  /** In the order they began. */
  read(): DreamRecord[];
  /** On disk when it returns. Throws `storage`. */
  append(id: string, step: Step): void;
  /** Forgets dreams that ended long ago. */
  compact(): void;
}

export function openDreamJournal(memoryDir: string, now: () => number = Date.now): DreamJournal {
  const path = join(memoryDir, ".git", "letta", "dreams.jsonl");
  return {
    read: () => fold(readEntries(path)),
    append(id, step) {
      const entry = { v: 1, id, at: new Date(now()).toISOString(), ...step };
      appendDurably(path, JSON.stringify(entry));
    },
    compact() {
      const entries = readEntries(path);
      const records = fold(entries);
      const closed = records.filter(isForgettable);
      if (closed.length <= 2 * JOURNAL_DREAMS) return;
      const forgotten = new Set(closed.slice(0, -JOURNAL_DREAMS).map(({ id }) => id));
      const kept = entries.filter(({ id }) => !forgotten.has(id));
      writeFileAtomic(path, kept.map((entry) => `${JSON.stringify(entry)}\n`).join(""));
    },
  };
}

/** What is still to be done about it, if anything. */
export function isOpen({ end }: DreamRecord): boolean {
  return end === null;
}

/** It waits for a decision. */
export function isPending({ proposed, decision }: DreamRecord): boolean {
  return proposed !== null && decision === null;
}

function isForgettable(record: DreamRecord): boolean {
  return !isOpen(record) && !isPending(record);
}

function fold(entries: readonly JournalEntry[]): DreamRecord[] {
  const records = new Map<string, DreamRecord>();
  for (const entry of entries) {
    const record = records.get(entry.id);
    if (entry.step === "planned") {
      records.set(entry.id, {
        id: entry.id,
        plan: entry.plan,
        startedAt: entry.at,
        endedAt: null,
        committed: null,
        merged: null,
        proposed: null,
        cursorMoved: false,
        end: null,
        reason: null,
        decision: null,
      });
    } else if (record) apply(record, entry);
  }
  return [...records.values()];
}

function apply(record: DreamRecord, entry: Exclude<JournalEntry, { step: "planned" }>): void {
  switch (entry.step) {
    case "committed":
      record.committed = { tip: entry.tip, subject: entry.subject, notes: entry.notes };
      break;
    case "merged":
      record.merged = entry.head;
      break;
    case "proposed": {
      const { tip, reason, advances } = entry;
      record.proposed = { tip, reason, advances };
      break;
    }
    case "cursor":
      record.cursorMoved = true;
      break;
    case "closed":
      record.end = entry.status;
      record.reason = entry.reason ?? null;
      record.endedAt = entry.at;
      break;
    case "decided":
      record.decision = entry.decision;
  }
}

/** A line that is none (the end of one that a full disk or a power cut left) is not there. */
function readEntries(path: string): JournalEntry[] {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (error) {
    if (systemErrorCode(error) === "ENOENT") return [];
    throw new LettaError("storage", `cannot read ${path}: ${systemReason(error)}`, { cause: error });
  }
  return text.split("\n").flatMap((line) => {
    const parsed = v.safeParse(EntrySchema, parseJson(line));
    return parsed.success ? [parsed.output] : [];
  });
}

function appendDurably(path: string, line: string): void {
  try {
    mkdirSync(dirname(path), { recursive: true });
    const file = openSync(path, "a+", 0o600);
    try {
      // A half line of an earlier writer must not swallow this one.
      const separator = endsInTheMiddle(file) ? "\n" : "";
      writeSync(file, `${separator}${line}\n`);
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
  } catch (error) {
    throw new LettaError("storage", `cannot write ${path}: ${systemReason(error)}`, { cause: error });
  }
}

function endsInTheMiddle(file: number): boolean {
  const { size } = fstatSync(file);
  if (size === 0) return false;
  const last = Buffer.alloc(1);
  readSync(file, last, 0, 1, size - 1);
  return last[0] !== 10;
}
