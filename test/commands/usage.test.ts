import { expect, test } from "bun:test";
import { FLAGS, type FlagDef } from "@/commands/flags.ts";
import { commandNames, findCommand, loadCommand } from "@/commands/registry.ts";
import { commandsOf, renderCommandHelp } from "@/commands/run-command.ts";
import { renderUsage } from "@/commands/usage.ts";
import { expectGolden } from "../support/golden.ts";

test("help text", () => expectGolden("help.txt", renderUsage()));

test("fits a terminal and is plain text", () => {
  for (const line of renderUsage().split("\n")) expect(line.length).toBeLessThanOrEqual(80);
  expect(renderUsage()).not.toContain("\x1b");
});

test("the help of every command fits too", async () => {
  const pending: [string[], Awaited<ReturnType<typeof loadCommand>>][] = [];
  for (const name of commandNames()) pending.push([[name], await loadCommand(findCommand(name)!)]);
  for (const [path, command] of pending) {
    for (const [name, sub] of await commandsOf(command)) pending.push([[...path, name], sub]);
    const text = await renderCommandHelp(path, command);
    expect(text.split("\n").filter((line) => line.length > 80)).toEqual([]);
  }
});

test("short letters are unique", () => {
  const letters = Object.values(FLAGS).flatMap((flag: FlagDef) => flag.alias ?? []);
  expect(new Set(letters).size).toBe(letters.length);
});
