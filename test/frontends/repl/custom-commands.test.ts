import { afterEach, beforeEach, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { listCustomCommands } from "@/frontends/repl/custom-commands.ts";
import { runRepl } from "@/frontends/repl/run.ts";
import { createWatchdog } from "@/lib/watchdog.ts";
import { withoutSandbox } from "@/sandbox/types.ts";
import { createShells } from "@/tools/shell.ts";
import { FakeTerminal } from "./fake-terminal.ts";
import { SELECTION, scriptedApp } from "./scripted-app.ts";

let home: string;
let project: string;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "letta-custom-"));
  project = join(home, "project");
  mkdirSync(project);
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

function write(path: string, text: string): void {
  mkdirSync(dirname(join(home, path)), { recursive: true });
  writeFileSync(join(home, path), text);
}

function app(trust: "trusted" | "nothing" = "nothing") {
  const scripted = scriptedApp({ home, cwd: project, vars: { NO_COLOR: "1" }, trust: { status: trust } });
  Object.assign(scripted.app.services, {
    shells: createShells(createWatchdog({}), withoutSandbox()),
    childEnv: () => ({ PATH: process.env.PATH ?? "/usr/bin:/bin" }),
  });
  return scripted;
}

test("project beats user, built-in commands beat both, folders are part of the name", () => {
  write(".letta/commands/review.md", "---\ndescription: mine\n---\nuser body");
  write(".letta/commands/exit.md", "never");
  write(".letta/commands/bad name.md", "never");
  write("project/.commands/review.md", "# Title\n\nfirst line\nmore");
  write("project/.commands/git/Pr.md", '---\ndescription: "open a PR"\nargument-hint: "[number]"\n---\nbody');
  write("project/.commands/broken.md", "---\ndescription: [\n---\nstill works");
  symlinkSync("/etc/hostname", join(project, ".commands", "link.md"));
  expect(listCustomCommands(app().app).map(({ name, description, source }) => [name, description, source])).toEqual([
    ["review", "first line", "project"],
    ["broken", "still works", "project"],
    ["git:pr", "open a PR", "project"],
  ]);
});

async function send(line: string, trust: "trusted" | "nothing" = "nothing", answer?: string) {
  const scripted = app(trust);
  const terminal = new FakeTerminal();
  let now = 0;
  const done = runRepl(scripted.app, {
    selection: SELECTION,
    terminal,
    now: () => {
      now += 1000;
      return now;
    },
  });
  await terminal.until(() => terminal.reading);
  terminal.type(`${line}\r`);
  if (answer) {
    await terminal.untilShown("2. Run it");
    terminal.type(answer);
  }
  if (answer === "n") await terminal.untilShown(/\n>$/);
  else await terminal.until(() => scripted.turns.length === 1);
  terminal.end();
  await done;
  return { content: scripted.turns[0]?.input.content, screen: terminal.screen() };
}

test.each([
  ["say $ARGUMENTS.", "/c hello world", "say hello world."],
  ["say $1 and $2, not $3!", '/c "two words" b', "say two words and b, not !"],
  ["in: !`echo out`", "/c", "in: out"],
  // An argument is a parameter of the script, never part of its text; outputs are not expanded again.
  ['<!`printf %s "$1"`>', "/c $(touch-pwned);`id`", "<$(touch-pwned);`id`>"],
  ["<!`echo '$1 $& $ARGUMENTS'`> $1", "/c x", "<$1 $& $ARGUMENTS> x"],
  ["!`echo oops; exit 3`", "/c", "oops\n(`echo oops; exit 3` ended with exit code 3)"],
  ["$1 !`echo a`", "/c !`id`", "!`id` a"],
])("%j with %j", async (body, line, expected) => {
  write(".letta/commands/c.md", body);
  expect((await send(line)).content).toBe(expected);
});

test("a project's shell part is shown first, unless the folder is trusted", async () => {
  write("project/.commands/c.md", "out: !`echo ran`");
  expect((await send("/c", "trusted")).content).toBe("out: ran");
  const asked = await send("/c", "nothing", "y");
  expect(asked.content).toBe("out: ran");
  expect(asked.screen).toContain("runs in your shell:\n  echo ran");
  expect((await send("/c", "nothing", "n")).content).toBeUndefined();
});

test("without shell parts nothing is asked", async () => {
  write("project/.commands/c.md", "just text for $1");
  expect((await send("/c you")).content).toBe("just text for you");
});
