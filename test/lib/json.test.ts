import { expect, test } from "bun:test";
import { isDeeperThan, isRecord, parseJson } from "@/lib/json.ts";

test.each([
  ['{"a":1}', { a: 1 }],
  ["null", null],
  ["", undefined],
  ['{"a":', undefined],
] as const)("parseJson %p", (text, value) => expect(parseJson(text)).toEqual(value));

test.each([
  [{}, true],
  [[], false],
  [null, false],
  ["text", false],
] as const)("isRecord %p: %p", (value, expected) => expect(isRecord(value)).toBe(expected));

const nested = (depth: number): unknown => JSON.parse(`${'{"a":['.repeat(depth / 2)}${"]}".repeat(depth / 2)}`);

test.each([
  [1, 0, false],
  [null, 0, false],
  [{}, 0, true],
  [{ a: 1 }, 1, false],
  [{ a: [1], b: {} }, 1, true],
  [{ a: [1], b: {} }, 2, false],
])("%j nests deeper than %d: %p", (value, levels, expected) => expect(isDeeperThan(levels, value)).toBe(expected));

test("no depth is too deep to be told", () => {
  expect(isDeeperThan(200, nested(200))).toBe(false);
  expect(isDeeperThan(199, nested(200))).toBe(true);
  expect(isDeeperThan(200, nested(1_000_000))).toBe(true);
});
