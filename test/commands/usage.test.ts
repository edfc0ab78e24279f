import { expect, test } from "bun:test";
import { FLAGS, type FlagDef } from "@/commands/flags.ts";
import { renderUsage } from "@/commands/usage.ts";
import { expectGolden } from "../support/golden.ts";

test("help text", () => expectGolden("help.txt", renderUsage()));

test("fits a terminal and is plain text", () => {
  for (const line of renderUsage().split("\n")) expect(line.length).toBeLessThanOrEqual(120);
  expect(renderUsage()).not.toContain("\x1b");
});

test("short letters are unique", () => {
  const letters = Object.values(FLAGS).flatMap((flag: FlagDef) => flag.alias ?? []);
  expect(new Set(letters).size).toBe(letters.length);
});
