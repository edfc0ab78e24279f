import { expect, test } from "bun:test";
import { chooseCut, clipToFit, firstUnanswered, shrinkEntries } from "@/backend/local/compaction-plan.ts";
import { estimateEntries, estimateMessage } from "@/backend/local/tokens.ts";
import type { WindowEntry } from "@/backend/local/window.ts";
import { estimateTokens, type ModelMessage } from "@/backend/model.ts";
import { call, message } from "../../support/fake-model.ts";

/** `u` user, `a` reply, `c` reply with a call, `r` its result, `s` summary; a number after it: tokens. */
function entries(plan: string): WindowEntry[] {
  return plan.split(" ").map((token, index) => {
    const text = "word".repeat(Number(token.slice(1) || 1));
    const made = make(token[0] ?? "", text, index);
    return {
      seq: index,
      id: `msg-${index}`,
      isSummary: token[0] === "s",
      interrupted: false,
      keep: [],
      message: made,
      tokens: estimateMessage(made),
    };
  });
}

function make(kind: string, text: string, index: number): ModelMessage {
  if (kind === "a") return message([{ type: "text", text }]);
  if (kind === "c") return message([{ type: "text", text }, call(`c${index}`)]);
  if (kind === "r") {
    return {
      role: "toolResult",
      toolCallId: "c",
      toolName: "Bash",
      content: [{ type: "text", text }],
      isError: false,
      timestamp: 0,
    };
  }
  return { role: "user", content: text, timestamp: 0 };
}

test.each([
  ["u a", 2], // complete: nothing waits
  ["u a u", 2],
  ["u a u u", 2],
  ["u c r r", 1], // results nobody read yet stay with their call
  ["u c r u", 1],
  ["u a c", 2], // an open call
  ["s u", 1],
  ["s", 1],
] as const)("what is unanswered in %s begins at %d", (plan, expected) => {
  expect(firstUnanswered(entries(plan))).toBe(expected);
});

test.each([
  ["u100 a100 u100 a100 u100", 250, 3],
  ["u100 a100 u100 a100 u100", 1000, 0],
  ["u100 a100 u100 a100 u100", 0, 4],
  ["u100 c100 r100 a100 u100", 350, 3], // never between a call and its result
  ["u100 c100 r100 a100 u100", 450, 1],
  ["s100 u100 a100 u100", 1000, 1], // an old summary goes into the new one
] as const)("%s with %d tokens to keep is cut at %d", (plan, keep, expected) => {
  const window = entries(plan);
  expect(chooseCut(window, firstUnanswered(window), keep)).toBe(expected);
});

test("only old and long outputs become stubs", () => {
  const window = entries("u c r2000 c r10 c r2000 u");
  const overrides = shrinkEntries(window, 10_000);
  expect([...overrides.keys()]).toEqual([2]);
  expect(JSON.stringify(overrides.get(2))).toContain("message msg-2");
});

test("clipping takes from the largest first and leaves replies alone", () => {
  const window = entries("u5000 a3000 u10 r9000");
  const overrides = clipToFit(window, 6_000);
  expect([...overrides.keys()].toSorted()).toEqual([0, 3]);
  const after = window.map((entry) => overrides.get(entry.seq) ?? entry.message);
  expect(after.reduce((sum, item) => sum + estimateMessage(item), 0)).toBeLessThanOrEqual(6_000);
  expect(estimateEntries(window)).toBeGreaterThan(17_000);
});

test.each([
  ["abcd", 1],
  ["abcde", 2],
  ["数据库", 3], // nine bytes
  ["", 0],
] as const)("%p is about %d tokens", (text, tokens) => expect(estimateTokens(text)).toBe(tokens));
