import { expect, test } from "bun:test";
import { type Candidate, scoreCandidates } from "@/memory/reflection/choose.ts";

const now = Date.parse("2026-05-10T00:00:00Z");
const candidate = (conversationId: string, patch: Partial<Candidate>): Candidate => ({
  conversationId,
  steps: 5,
  lastMessageAt: "2026-05-09T12:00:00Z",
  isCurrent: false,
  isHidden: false,
  ...patch,
});

test("what is unread, recent, long and current comes first; trivial and hidden ones not at all", () => {
  const choices = scoreCandidates(
    [
      candidate("old", { lastMessageAt: "2026-01-01T00:00:00Z" }),
      candidate("recent", {}),
      candidate("long", { steps: 50 }),
      candidate("current", { isCurrent: true }),
      candidate("trivial", { steps: 1 }),
      candidate("hidden", { isHidden: true, steps: 50 }),
      candidate("never", { lastMessageAt: null }),
    ],
    now,
  );
  expect(choices.map(({ conversationId, score }) => [conversationId, score])).toEqual([
    ["current", 37],
    ["long", 37],
    ["recent", 29],
    ["never", 21],
    ["old", 21],
  ]);
  expect(choices[1]?.reason).toBe("50 or more replies no reflection has seen");
});
