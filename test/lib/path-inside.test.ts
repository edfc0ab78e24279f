import { expect, test } from "bun:test";
import { pathInside, shortPath } from "@/lib/path-inside.ts";

test.each([
  ["/a/b", "b"],
  ["/a", "."],
  ["/a/..b/c", "..b/c"],
  ["/a/b/../../ab", null],
  ["/ab", null],
  ["/", null],
])("%s from /a", (path, expected) => {
  expect(pathInside("/a", path)).toBe(expected);
  expect(shortPath("/a", path)).toBe(expected ?? path);
});
