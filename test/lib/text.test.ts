import { expect, test } from "bun:test";
import { clip, cutMiddle, formatCount, plural, shortCount, takeHead, takeTail } from "@/lib/text.ts";

test.each([
  [999, "999", "999"],
  [1000, "1,000", "1k"],
  [1234, "1,234", "1.2k"],
  [9960, "9,960", "10k"],
  [45_499, "45,499", "45k"],
  [999_500, "999,500", "1M"],
  [1_048_576, "1,048,576", "1M"],
  [1_250_000, "1,250,000", "1.3M"],
])("%d reads as %s, or short as %s", (count, full, short) => {
  expect(formatCount(count)).toBe(full);
  expect(shortCount(count)).toBe(short);
});

test("a count agrees with its noun", () => {
  expect([plural(0, "file"), plural(1, "file"), plural(1200, "entry", "entries")]).toEqual([
    "0 files",
    "1 file",
    "1,200 entries",
  ]);
});

test("a cut never halves a character", () => {
  expect([takeHead("a😀b", 2), takeTail("a😀b", 2), clip("a😀b", 2), clip("ab", 2)]).toEqual(["a", "b", "a…", "ab"]);
  expect(cutMiddle("abcdefgh", { head: 2, tail: 3, note: (omitted) => `[${omitted}]` })).toBe("ab\n[3]\nfgh");
  expect(cutMiddle("abcde", { head: 2, tail: 3, note: String })).toBe("abcde");
});
