import { expect, test } from "bun:test";
import { appendFileSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { type DreamPlan, isOpen, isPending, openDreamJournal } from "@/memory/reflection/journal.ts";
import { JOURNAL_DREAMS } from "@/memory/reflection/limits.ts";
import { tempDir } from "../../support/binary.ts";

const at = "2026-05-04T10:00:00.000Z";
const TIP = "e".repeat(40);
/** The n-th dream's. */
const idOf = (n: number) => `20260504100000-${n.toString(16).padStart(8, "0")}`;
const plan: DreamPlan = {
  agentId: "a",
  base: "b".repeat(40),
  moves: [{ agentId: "a", conversationId: "c", from: null, to: "m9", newest: "m9", compaction: null }],
  reviewed: ["conversation c"],
  merge: "auto",
};

test("a dream is the sum of its steps; half lines and unknown ones are not there", () => {
  using dir = tempDir();
  const journal = openDreamJournal(dir.path, () => Date.parse(at));
  expect(journal.read()).toEqual([]);
  journal.append(idOf(1), { step: "planned", plan });
  const path = join(dir.path, ".git/letta/dreams.jsonl");
  appendFileSync(
    path,
    '{"v":1,"id":"20260504100000-00000001","at":"x","step":"of a newer version"}\n{"v":1,"id":"20260504100000-00000001","ste',
  );
  journal.append(idOf(1), { step: "committed", tip: TIP, subject: "fix(reflection): x 🔮", notes: [] });
  expect(journal.read().map(isOpen)).toEqual([true]);
  journal.append(idOf(1), {
    step: "proposed",
    tip: TIP,
    reason: "conflict",
    advances: false,
  });
  journal.append(idOf(1), { step: "closed", status: "proposed", reason: "conflict" });
  const [record] = journal.read();
  expect(record).toEqual({
    id: idOf(1),
    plan,
    startedAt: at,
    endedAt: at,
    committed: { tip: TIP, subject: "fix(reflection): x 🔮", notes: [] },
    merged: null,
    proposed: { tip: TIP, reason: "conflict", advances: false },
    cursorMoved: false,
    end: "proposed",
    reason: "conflict",
    decision: null,
  });
  expect(isPending(record!)).toBe(true);
  journal.append(idOf(1), { step: "decided", decision: "rejected", by: "person" });
  expect(journal.read().map(isPending)).toEqual([false]);
});

const OPEN = idOf(0xaaaa);
const WAITING = idOf(0xbbbb);

test("old dreams are forgotten, open ones and waiting proposals are not", () => {
  using dir = tempDir();
  mkdirSync(join(dir.path, ".git/letta"), { recursive: true });
  const path = join(dir.path, ".git/letta/dreams.jsonl");
  const journal = openDreamJournal(dir.path);
  journal.append(OPEN, { step: "planned", plan });
  journal.append(WAITING, { step: "planned", plan });
  journal.append(WAITING, { step: "proposed", tip: TIP, reason: "review", advances: true });
  journal.append(WAITING, { step: "closed", status: "proposed" });
  const line = (id: number, step: object) => `${JSON.stringify({ v: 1, id: idOf(id), at, ...step })}\n`;
  for (let id = 0; id <= 2 * JOURNAL_DREAMS; id++) {
    appendFileSync(path, line(id, { step: "planned", plan }) + line(id, { step: "closed", status: "no_changes" }));
  }
  journal.compact();
  const ids = journal.read().map(({ id }) => id);
  expect(ids.slice(0, 2)).toEqual([OPEN, WAITING]);
  expect(ids.slice(2)).toEqual(Array.from({ length: JOURNAL_DREAMS }, (_, i) => idOf(JOURNAL_DREAMS + 1 + i)));
  expect(readFileSync(path, "utf8")).toEndWith("\n");
});

test.each([
  ["an id that leads elsewhere", { id: "../../../photos" }],
  ["an id that is no dream's", { id: "1" }],
  ["a base that is no commit", { plan: { ...plan, base: "refs/heads/main" } }],
])("a line that is not as we write it is not there: %s", (_, patch) => {
  using dir = tempDir();
  mkdirSync(join(dir.path, ".git/letta"), { recursive: true });
  const line = { v: 1, id: idOf(1), at, step: "planned", plan, ...patch };
  appendFileSync(join(dir.path, ".git/letta/dreams.jsonl"), `${JSON.stringify(line)}\n`);
  expect(openDreamJournal(dir.path).read()).toEqual([]);
});
