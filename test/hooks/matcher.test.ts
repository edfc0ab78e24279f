import { expect, test } from "bun:test";
import { matchesTool } from "@/hooks/matcher.ts";

test.each([
  ["", ["Bash"], true],
  ["*", ["Bash"], true],
  ["Bash", ["Bash"], true],
  ["Bash|Edit", ["Edit"], true],
  ["Bas", ["Bash"], false],
  ["bash", ["Bash"], false],
  ["Edit|Write|.*Patch", ["ApplyPatch"], true],
  // The name the model calls it by, and the one it is known by here.
  ["Task", ["Task", "Agent"], true],
  ["Agent", ["Task", "Agent"], true],
  // Not an expression: the name itself.
  ["mcp__a(", ["mcp__a("], true],
  ["mcp__a(", ["mcp__a"], false],
] as const)("%s means %p: %p", (matcher, names, expected) => {
  expect(matchesTool(matcher, names)).toBe(expected);
});
