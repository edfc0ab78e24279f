import { expect, test } from "bun:test";
import { isRecord, parseJson } from "@/lib/json.ts";

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
