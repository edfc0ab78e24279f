import { expect, test } from "bun:test";
import type { SyncStatus } from "@/memory/sync.ts";
import { createSyncNotes, syncNote } from "@/memory/sync-notes.ts";

const dirty = { status: "dirty" as const, summary: "2 files have uncommitted changes." };

test("the same is said once, and again after it was right in between", () => {
  const notes = createSyncNotes();
  notes.add("a", "/m", dirty);
  notes.add("a", "/m", dirty);
  expect(notes.take("b")).toEqual([]);
  expect(notes.take("a")).toEqual([
    "Memory repository /m: 2 files have uncommitted changes.\nCommit what belongs into memory with a reason, or take it back. Nothing is synced before; do not push yourself.",
  ]);
  notes.add("a", "/m", dirty);
  expect(notes.take("a")).toEqual([]);
  notes.add("a", "/m", { status: "clean", summary: "Nothing to push." });
  notes.add("a", "/m", dirty);
  expect(notes.take("a").length).toBe(1);
});

test("at most 25 wait, the newest", () => {
  const notes = createSyncNotes();
  for (let at = 0; at < 40; at++) notes.add("a", "/m", { status: "push_failed", summary: `No. ${at}.` });
  const due = notes.take("a");
  expect(due.length).toBe(25);
  expect(due[0]).toStartWith("Memory repository /m: No. 15.");
});

test.each<[SyncStatus, boolean]>([
  ["conflict", true],
  ["dirty", true],
  ["push_failed", true],
  ["memory_diverged", true],
  ["clean", false],
  ["pushed", false],
  ["skipped", false],
])("%s is news for the agent: %p", (status, isNews) => {
  const note = syncNote("/m", { status, summary: "S.", hint: "H." });
  expect(note !== null).toBe(isNews);
  if (note) expect(note).toMatch(/do not push/);
});
