// `kill -9` at twenty moments of a turn with three tool calls. Whatever the moment: the next process tells the model
// everything that happened, marks what was cut, runs nothing twice, and the conversation goes on.

import { expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync, readlinkSync } from "node:fs";
import { join } from "node:path";
import { jsonLines, runLetta, spawnLetta, type TempHome, tempHome } from "../support/binary.ts";
import { type ModelServer, type Script, startModelServer } from "../support/model-server.ts";
import { headless } from "../support/protocols.ts";

const PROMPT = "do three things";

/** Three calls, one a step; each leaves two marks, so that one that was cut is told from one that ended. */
const script: Script = (request) => {
  if (request.messages.some(({ role, text }) => role === "user" && text.includes("go on"))) return { text: "Went on." };
  const step = request.toolResults.length + 1;
  if (step > 3) return { text: ["All ", "three ", "are ", "done."] };
  const command = `echo start-${step} >> log.txt; sleep 0.1; echo end-${step} >> log.txt`;
  return {
    text: [`Step ${step}: `, "one ", "more."],
    toolCalls: [{ id: `call-${step}`, name: "Bash", args: { command } }],
  };
};

const MOMENTS = [
  ...[1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 18, 20, 23, 26].map((lines) => ({ lines })),
  { mark: "start-1" },
  { mark: "start-2" },
  { mark: "end-2" },
  { mark: "start-3" },
];

test.each(MOMENTS.map((moment) => [JSON.stringify(moment), moment] as const))("killed at %s", async (_, moment) => {
  using home = tempHome();
  await using server = await startModelServer(script);
  await killAt(moment, home, server);
  const before = marksOf(home);

  const { args, env } = headless(server.url, ["--yolo", "--continue", "go on"]);
  const { stdout, stderr, exitCode } = await runLetta(args, { home, env });
  expect({ stdout, exitCode, stderr: exitCode === 0 ? "" : stderr }).toEqual({
    stdout: "Went on.\n",
    exitCode: 0,
    stderr: "",
  });

  // Nothing ran after the kill, and nothing ran twice.
  const marks = marksOf(home);
  expect(marks).toEqual(before);
  expect(new Set(marks).size).toBe(marks.length);

  const request = server.requests.at(-1)!;
  const calls = request.messages.flatMap(({ toolCalls }) => toolCalls.map(({ id }) => id));
  expect(request.toolResults.map(({ id }) => id).sort()).toEqual(calls.sort());
  const prompts = request.messages.filter(({ role, text }) => role === "user" && text.includes(PROMPT));
  // The first line is printed before there is a turn.
  if (!("lines" in moment && moment.lines === 1)) expect(prompts).toHaveLength(1);
  for (const step of [1, 2, 3]) {
    if (!marks.includes(`start-${step}`)) continue;
    const result = request.toolResults[step - 1]!.text;
    // The model is told that it does not know how a cut call ended; a finished one may also have been cut before its
    // result was kept.
    if (!marks.includes(`end-${step}`)) expect(result).toMatch(/unknown|interrupted/i);
  }
});

test("a killed turn's text is kept and marked", async () => {
  using home = tempHome();
  await using server = await startModelServer((request, index) =>
    index === 0 ? { text: ["The beginning ", "of something"], fault: "stall" } : script(request, index),
  );
  const { args, env } = headless(server.url, ["--include-partial-messages", "--output-format", "stream-json", PROMPT]);
  await using child = await spawnLetta(args, { home, env });
  child.child.stdin.end();
  await child.waitFor("stdout", /The beginning/);
  child.kill("SIGKILL");
  await child.exited;
  const next = headless(server.url, ["--continue", "go on"]);
  expect(await runLetta(next.args, { home, env })).toMatchObject({ stdout: "Went on.\n", exitCode: 0 });
  const list = await runLetta(["messages", "search", "beginning", "--all-agents", "--hidden", "--format", "json"], {
    home,
    env,
  });
  expect(list.stdout).toContain("The beginning");
});

async function killAt(
  moment: { lines: number } | { mark: string },
  home: TempHome,
  server: ModelServer,
): Promise<void> {
  const flags = ["--yolo", "--include-partial-messages", "--output-format", "stream-json"];
  const { args, env } = headless(server.url, [...flags, PROMPT]);
  await using letta = await spawnLetta(args, { home, env });
  letta.child.stdin.end();
  if ("lines" in moment) await letta.waitFor("stdout", new RegExp(`^(.*\\n){${moment.lines}}`));
  else await until(() => marksOf(home).includes(moment.mark));
  letta.kill("SIGKILL");
  const { stdout } = await letta.exited;
  // A command that was starting may leave its first mark before the watchdog stops it.
  await until(() => processesIn(home.workdir) === 0);
  // Whole lines only, but for the last one.
  jsonLines(stdout.slice(0, stdout.lastIndexOf("\n") + 1));
}

async function until(condition: () => boolean): Promise<void> {
  const deadline = Date.now() + 20_000;
  while (!condition()) {
    if (Date.now() > deadline) throw new Error("the condition never came true");
    await Bun.sleep(5);
  }
}

function processesIn(folder: string): number {
  return readdirSync("/proc").filter((pid) => {
    try {
      return /^\d+$/.test(pid) && readlinkSync(`/proc/${pid}/cwd`) === folder;
    } catch {
      // It has just ended, or is not ours.
      return false;
    }
  }).length;
}

function marksOf(home: TempHome): string[] {
  const log = join(home.workdir, "log.txt");
  return existsSync(log) ? readFileSync(log, "utf8").trim().split("\n") : [];
}
