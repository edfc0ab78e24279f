import { expect, test } from "bun:test";
import { createCursors } from "@/memory/reflection/cursors.ts";
import { openDatabase } from "@/store/db.ts";

const ref = { agentId: "a", conversationId: "default" };
const at = "2026-05-04T10:00:00.000Z";

test("a cursor moves once, from where the dream began", () => {
  const cursors = createCursors(openDatabase(":memory:"), () => Date.parse(at));
  const nothing = {
    through: null,
    pendingCompaction: null,
    failures: 0,
    failedAt: null,
    startedAt: null,
    succeededAt: null,
  };
  expect(cursors.find(ref)).toEqual(nothing);
  cursors.started(ref);
  cursors.failed(ref, "m5");
  cursors.failed(ref, "m7");
  cursors.setCompaction(ref, "s1");
  expect(cursors.find(ref)).toEqual({
    ...nothing,
    pendingCompaction: "s1",
    failures: 2,
    failedAt: "m7",
    startedAt: at,
  });
  const move = { ...ref, from: null, to: "m9", newest: "m9", compaction: "s1" };
  expect(cursors.advance(move)).toBe(true);
  const done = { ...nothing, through: "m9", startedAt: at, succeededAt: at };
  expect(cursors.find(ref)).toEqual(done);
  // The same again, and one that was planned before this one ended.
  expect(cursors.advance(move)).toBe(false);
  expect(cursors.advance({ ...move, to: "m8" })).toBe(false);
  expect(cursors.find(ref)).toEqual(done);
  expect(cursors.find({ ...ref, agentId: "b" })).toEqual(nothing);
});

test("a compaction during the dream stays pending", () => {
  const cursors = createCursors(openDatabase(":memory:"));
  cursors.setCompaction(ref, "s2");
  cursors.advance({ ...ref, from: null, to: "m9", newest: "m9", compaction: "s1" });
  expect(cursors.find(ref).pendingCompaction).toBe("s2");
});
