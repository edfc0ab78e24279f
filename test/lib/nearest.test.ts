import { expect, test } from "bun:test";
import { editDistance, findNearest } from "@/lib/nearest.ts";

test.each([
  ["path", ["command", "file_path"], "file_path"],
  ["cmd", ["command", "description"], "command"],
  ["ofset", ["limit", "offset"], "offset"],
  ["--outptu-format", ["--output-format", "--input-format"], "--output-format"],
  ["Readme.md", ["README.md", "READ.me"], "README.md"],
  ["zzz", ["command", "file_path"], undefined],
  ["x", [], undefined],
] as const)("%s among %p is %p", (typed, candidates, nearest) => expect(findNearest(typed, candidates)).toBe(nearest));

test.each([
  ["", "", 0],
  ["kitten", "sitting", 3],
  ["ab", "ba", 1],
  ["abc", "", 3],
] as const)("distance of %p and %p is %p", (a, b, distance) => expect(editDistance(a, b)).toBe(distance));

test("counting stops at the limit", () => expect(editDistance("aaaaaaaa", "bbbbbbbb", 3)).toBe(3));
