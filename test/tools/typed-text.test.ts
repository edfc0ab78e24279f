import { expect, test } from "bun:test";
import { continueLine, typedTarget } from "@/tools/typed-text.ts";
import { openWorkbench } from "./support.ts";

const { services } = openWorkbench();
const target = (chars: string, openLine = "") =>
  typedTarget("write_stdin", chars, { openLine, cwd: "/w", confined: false }, { cwd: "/elsewhere", services });

test.each([
  ["ls\r", "", "ls", false],
  ["m x\n", "r", "rm x", false],
  ["\u0003rm x\n", "", "rm x", false],
  ["ls\n", "\u0003", "ls", false],
  ["for x in y:\n\tprint(x)\n", "", "for x in y:\n\tprint(x)", false],
  ["a != b\n", "", "a != b", false],
  ["rx\u007fm y\n", "", "rx\u007fm y", true],
  ["m x\n", "r\u0004", "r\u0004m x", true],
  ["rm\t", "", "rm\t", true],
  ["\u001b[A\r", "", "\u001b[A", true],
  ["!!\n", "", "!!", true],
  ["^echo^rm\n", "", "^echo^rm", true],
] as const)("%j after %j says %j", (chars, before, command, reshaped) => {
  expect(target(chars, before)).toEqual({
    kind: "shell",
    command,
    cwd: "/w",
    typed: { tool: "write_stdin", reshaped },
  });
});

test.each(["", "\u0003", "\u0003\u0004", "\u001c"])("%j asks nobody", (chars) => {
  expect(target(chars, "rm x")).toBeNull();
});

test.each([
  ["", "r", "r"],
  ["r", "m x", "rm x"],
  ["r", "m x\n", ""],
  ["", "one\ntwo", "two"],
  ["", "one\rtwo\r", ""],
  ["", "\n", ""],
  ["", "r\\\n", "r\\\n"],
  ["r\\\n", "m x\n", ""],
])("%j and then %j leaves %j open", (before, typed, open) => {
  expect(continueLine(before, typed)).toBe(open);
});

test("of a very long line, the end is kept, and that it is not all", () => {
  const open = continueLine("x", "y".repeat(9_000));
  expect(open).toBe(`\u0018${"y".repeat(8_192)}`);
  expect(target("z", open)).toMatchObject({ typed: { reshaped: true } });
});
