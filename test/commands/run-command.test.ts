import { expect, test } from "bun:test";
import { defineCommand } from "citty";
import type { CommandContext } from "@/commands/context.ts";
import { renderCommandHelp, runCommand } from "@/commands/run-command.ts";
import { readEnv } from "@/store/env.ts";

const list = defineCommand({
  meta: { name: "list", alias: "ls", description: "List things" },
  args: {
    name: { type: "positional", required: false, description: "Which" },
    limit: { type: "string", alias: "l", valueHint: "N", default: "20", description: "How many" },
    "match-all": { type: "boolean", description: "All of them" },
    format: { type: "enum", options: ["text", "json"], description: "Shape" },
  },
  run: ({ args, data }) => {
    (data as CommandContext).io.stdout(JSON.stringify(args));
    return 7;
  },
});
const things = defineCommand({
  meta: { name: "things", description: "Work with things" },
  subCommands: { list, remove: () => Promise.resolve(defineCommand({ run: () => {} })) },
});

async function run(...argv: string[]) {
  let stdout = "";
  const io = {
    stdout: (text: string) => (stdout += text),
    stderr: () => {},
    isTty: false,
    width: 80,
    color: false,
    closed: false,
  };
  const exitCode = await runCommand(["things"], things, argv, { cwd: "/", env: readEnv({}), io });
  return { stdout, exitCode };
}

test.each([
  [["list"], { limit: "20" }],
  [["ls", "x"], { name: "x", limit: "20" }],
  [["list", "--limit", "5", "--match-all"], { limit: "5", "match-all": true }],
  [["list", "-l5", "--format=json"], { limit: "5", format: "json" }],
  [["list", "-l", "5", "--no-match-all"], { limit: "5", "match-all": false }],
  [["list", "--", "--limit"], { name: "--limit", limit: "20" }],
] as const)("%j", async (argv, args) => {
  const { stdout, exitCode } = await run(...argv);
  const { _, ...given } = JSON.parse(stdout);
  expect(given).toEqual(args);
  expect(exitCode).toBe(7);
});

test("a default sub-command takes the flags, a wrong word is still an unknown command", async () => {
  const command = defineCommand({ subCommands: { list }, default: "list" });
  let stdout = "";
  const io = {
    stdout: (text: string) => {
      stdout += text;
    },
    stderr: () => {},
    isTty: false,
    width: 80,
    color: false,
  };
  const start = (...argv: string[]) =>
    runCommand(["things"], command, argv, { cwd: "/", env: readEnv({}), io: { ...io, closed: false } });
  expect(await start("--format", "json")).toBe(7);
  expect(JSON.parse(stdout)).toEqual({ _: [], format: "json", limit: "20" });
  expect(
    await runCommand(["only"], defineCommand({ subCommands: { list } }), [], {
      cwd: "/",
      env: readEnv({}),
      io: { ...io, closed: false },
    }),
  ).toBe(7);
  expect(start("lst")).rejects.toMatchObject({ code: "usage", message: 'unknown command "things lst"' });
});

test("a command without a result is a success", async () => {
  expect((await run("remove")).exitCode).toBe(0);
});

test.each([
  [["lst"], 'unknown command "things lst"', "Did you mean: letta things list"],
  [["list", "--limt", "3"], "unknown option --limt", "Did you mean --limit?"],
  [["list", "--limit"], "--limit needs a value", "See: letta help things list"],
  [["list", "--match-all=no"], "--match-all takes no value", undefined],
  [["list", "--format", "yaml"], '--format must be one of text, json, not "yaml"', undefined],
  [["list", "a", "b"], 'unexpected argument "b"', undefined],
  [["--limit"], "unknown option --limit", undefined],
] as const)("%j is refused", async (argv, message, hint) => {
  const error = await run(...argv).catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ code: "usage", message, ...(hint && { hint }) });
});

test("what is missing is explained", async () => {
  const args = { shell: { type: "positional", required: true, description: "bash, zsh or fish" } } as const;
  const io = { stdout() {}, stderr() {}, isTty: false, width: 80, color: false, closed: false };
  const work = runCommand(["complete"], defineCommand({ args, run() {} }), [], { cwd: "/", env: readEnv({}), io });
  await expect(work).rejects.toMatchObject({ code: "usage", message: "SHELL is missing (bash, zsh or fish)" });
});

test.each([[[]], [["--help"]], [["help"]], [["-h"]]] as const)("%j shows what the command has", async (argv) => {
  expect(await run(...argv)).toEqual({ stdout: await renderCommandHelp(["things"], things), exitCode: 0 });
});

test("help text", async () => {
  expect(await renderCommandHelp(["things"], things)).toBe(
    `Work with things

Usage: letta things <command>

Commands:
  list    List things
  remove
`,
  );
  expect((await run("list", "--help")).stdout).toBe(
    `List things

Usage: letta things list [name] [options]

Arguments:
  name  Which

Options:
  -l, --limit N       How many (default 20)
  --match-all         All of them
  --format text|json  Shape
`,
  );
});
