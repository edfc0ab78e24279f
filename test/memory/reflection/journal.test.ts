import { expect, test } from "bun:test";
import { appendFileSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { type DreamPlan, isOpen, isPending, openDreamJournal } from "@/memory/reflection/journal.ts";
import { JOURNAL_DREAMS } from "@/memory/reflection/limits.ts";
import { tempDir } from "../../support/binary.ts";

const at = "2026-05-04T10:00:00.000Z";
const plan: DreamPlan = {
  agentId: "a",
  base: "b".repeat(40),
  branch: "refs/heads/letta/reflection/1",
  dir: "/w/reflection-1",
  moves: [{ agentId: "a", conversationId: "c", from: null, to: "m9", newest: "m9", compaction: null }],
  reviewed: ["conversation c"],
  merge: "auto",
};

test("a dream is the sum of its steps; half lines and unknown ones are not there", () => {
  using dir = tempDir();
  const journal = openDreamJournal(dir.path, () => Date.parse(at));
  expect(journal.read()).toEqual([]);
  journal.append("1", { step: "planned", plan });
  const path = join(dir.path, ".git/letta/dreams.jsonl");
  appendFileSync(path, '{"v":1,"id":"1","at":"x","step":"of a newer version"}\n{"v":1,"id":"1","ste');
  journal.append("1", { step: "committed", tip: "t".repeat(40), subject: "fix(reflection): x 🔮", notes: [] });
  expect(journal.read().map(isOpen)).toEqual([true]);
  journal.append("1", {
    step: "proposed",
    ref: "refs/letta/proposals/1",
    tip: "t".repeat(40),
    reason: "conflict",
    advances: false,
  });
  journal.append("1", { step: "closed", status: "proposed", reason: "conflict" });
  const [record] = journal.read();
  expect(record).toEqual({
    id: "1",
    plan,
    startedAt: at,
    endedAt: at,
    committed: { tip: "t".repeat(40), subject: "fix(reflection): x 🔮", notes: [] },
    merged: null,
    proposed: { ref: "refs/letta/proposals/1", tip: "t".repeat(40), reason: "conflict", advances: false },
    cursorMoved: false,
    end: "proposed",
    reason: "conflict",
    decision: null,
  });
  expect(isPending(record!)).toBe(true);
  journal.append("1", { step: "decided", decision: "rejected", by: "person" });
  expect(journal.read().map(isPending)).toEqual([false]);
});

test("old dreams are forgotten, open ones and waiting proposals are not", () => {
  using dir = tempDir();
  mkdirSync(join(dir.path, ".git/letta"), { recursive: true });
  const path = join(dir.path, ".git/letta/dreams.jsonl");
  const journal = openDreamJournal(dir.path);
  journal.append("open", { step: "planned", plan });
  journal.append("waiting", { step: "planned", plan });
  journal.append("waiting", { step: "proposed", ref: "r", tip: "t", reason: "review", advances: true });
  journal.append("waiting", { step: "closed", status: "proposed" });
  const line = (id: number, step: object) => `${JSON.stringify({ v: 1, id: String(id), at, ...step })}\n`;
  for (let id = 0; id <= 2 * JOURNAL_DREAMS; id++) {
    appendFileSync(path, line(id, { step: "planned", plan }) + line(id, { step: "closed", status: "no_changes" }));
  }
  journal.compact();
  const ids = journal.read().map(({ id }) => id);
  expect(ids.slice(0, 2)).toEqual(["open", "waiting"]);
  expect(ids.slice(2)).toEqual(Array.from({ length: JOURNAL_DREAMS }, (_, i) => String(JOURNAL_DREAMS + 1 + i)));
  expect(readFileSync(path, "utf8")).toEndWith("\n");
});
