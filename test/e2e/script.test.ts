// `letta script`: a skill's TypeScript runs where nothing is installed, and a repository has no say in how.

import { expect, test } from "bun:test";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { runLetta, spawnLetta, tempHome } from "../support/binary.ts";

const REPORT = `
import { greeting } from "./lib.ts";
const piped: string = await Bun.stdin.text();
console.log(JSON.stringify([greeting, process.argv.slice(2), piped, process.env.FROM_DOTENV ?? null, import.meta.main]));
process.exit(7);
`;

function scripts(home: { path: string }, files: Record<string, string>): (name: string) => string {
  const folder = join(home.path, "skill", "scripts");
  mkdirSync(folder, { recursive: true });
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  return (name) => join(folder, name);
}

test("arguments, stdin and exit code are the script's; no program is needed on PATH", async () => {
  using home = tempHome();
  const at = scripts(home, { "report.ts": REPORT, "lib.ts": "export const greeting = 'hello';" });
  const args = ["--help", "-v", "--backend", "--json", "a b", "--", "x"];
  const run = await runLetta(["script", at("report.ts"), ...args], { home, stdin: "in", env: { PATH: "/nowhere" } });
  expect(run).toMatchObject({
    stdout: `${JSON.stringify(["hello", args, "in", null, true])}\n`,
    stderr: "",
    exitCode: 7,
  });
});

test("nothing of the working directory runs or reaches the script, and no package is fetched", async () => {
  using home = tempHome();
  const at = scripts(home, {
    "report.ts": REPORT,
    "lib.ts": "export const greeting = 'hello';",
    "needs.ts": 'import "is-odd";',
  });
  writeFileSync(join(home.workdir, "bunfig.toml"), 'preload = ["./evil.ts"]\n');
  writeFileSync(join(home.workdir, "evil.ts"), 'require("node:fs").writeFileSync(import.meta.dir + "/ran", "");\n');
  writeFileSync(join(home.workdir, ".env"), "FROM_DOTENV=hostile\n");
  writeFileSync(join(home.workdir, "package.json"), '{ "scripts": { "report.ts": "touch ran" } }');
  const run = await runLetta(["script", at("report.ts")], { home });
  expect(run.stdout).toBe(`${JSON.stringify(["hello", [], "", null, true])}\n`);
  // A name in the working directory is a file there, not one of its package's scripts.
  expect(await runLetta(["script", "report.ts"], { home })).toMatchObject({ exitCode: 4, stdout: "" });
  const needy = await runLetta(["script", at("needs.ts")], { home });
  expect(needy.stderr).toContain("Cannot find package 'is-odd'");
  expect(needy.exitCode).toBe(1);
  expect(existsSync(join(home.workdir, "ran"))).toBe(false);
});

test("it is one process, which gets the signals", async () => {
  using home = tempHome();
  const at = scripts(home, {
    "wait.ts": 'process.on("SIGTERM", () => process.exit(3)); console.log(process.pid); setInterval(() => {}, 1000);',
  });
  await using letta = await spawnLetta(["script", at("wait.ts")], { home });
  const [, pid] = await letta.waitFor("stdout", /(\d+)\n/);
  expect(Number(pid)).toBe(letta.child.pid);
  letta.kill("SIGTERM");
  expect(await letta.exited).toMatchObject({ exitCode: 3 });
});

test.each([
  [["script"], "FILE is missing", 2],
  [["script", "nothing.ts"], "no such file: ", 4],
  [["script", "--json"], "unknown option --json", 2],
] as const)("letta %j: %s", async (args, message, exitCode) => {
  const run = await runLetta([...args]);
  expect(run.stderr + run.stdout).toContain(message);
  expect(run.exitCode).toBe(exitCode);
});
