import { expect, test } from "bun:test";
import { formatDuration, formatSeconds, parseDuration } from "@/lib/duration.ts";

test.each([
  ["10m", 600_000],
  ["90", 90_000],
  ["1.5s", 1500],
  ["250ms", 250],
  ["1h1m1s", 3_661_000],
  ["m", null],
  ["10x", null],
  ["", null],
] as const)("%j is %p ms", (text, expected) => expect(parseDuration(text, "s")).toBe(expected));

test("a number alone has the unit the caller says", () => expect(parseDuration("90", "ms")).toBe(90));

test.each([
  [850, "850 ms", "850ms"],
  [1000, "1 s", "1.0s"],
  [2540, "2.5 s", "2.5s"],
  [125_000, "125 s", "2m 05s"],
  [3_840_000, "3840 s", "1h 04m"],
] as const)("%d ms reads as %s, or short as %s", (ms, sentence, short) => {
  expect(formatSeconds(ms)).toBe(sentence);
  expect(formatDuration(ms)).toBe(short);
});
