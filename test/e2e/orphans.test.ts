// Whatever ends `letta`, two seconds later nothing it started is running.

import { expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { jsonLines, spawnLetta, tempHome } from "../support/binary.ts";
import { type ScriptedToolCall, startModelServer } from "../support/model-server.ts";
import { CHAT, headless } from "../support/protocols.ts";

const COMMANDS = {
  plain: "echo ready; sleep SECONDS",
  pipeline: "echo ready; sleep SECONDS | cat",
  background: "sleep SECONDS & echo ready; sleep SECONDS",
  "own session": "setsid sleep SECONDS & echo ready; sleep SECONDS",
  stubborn: "trap '' TERM INT HUP; echo ready; sleep SECONDS; sleep SECONDS",
};

/** On a terminal, where jobs get process groups of their own. */
const ON_TERMINAL = {
  terminal: "set -m; sleep SECONDS & echo ready; sleep SECONDS",
  "stubborn terminal": "trap '' TERM INT HUP; setsid nohup sleep SECONDS & echo ready; sleep SECONDS; sleep SECONDS",
};

test.each(
  Object.keys(ON_TERMINAL).flatMap((name) =>
    (["SIGTERM", "SIGKILL"] as const).map((signal) => [signal, name] as const),
  ),
)("%s during a command on a %s", async (signal, name) => {
  const cmd = ON_TERMINAL[name as keyof typeof ON_TERMINAL];
  await killDuring(signal, cmd, (text) => ({ name: "exec_command", args: { cmd: text, tty: true } }), "codex");
});

const CASES = Object.keys(COMMANDS).flatMap((name) =>
  (["SIGTERM", "SIGKILL", "SIGINT"] as const).map((signal) => [signal, name as keyof typeof COMMANDS] as const),
);

test.each(CASES)("%s during a %s command", (signal, name) =>
  killDuring(signal, COMMANDS[name], (command) => ({ name: "Bash", args: { command } }), "default"),
);

async function killDuring(
  signal: NodeJS.Signals,
  text: string,
  call: (command: string) => ScriptedToolCall,
  toolset: string,
): Promise<void> {
  using home = tempHome();
  // A duration nobody else sleeps: it finds our processes.
  const seconds = `9${crypto.getRandomValues(new Uint32Array(1))[0]}`;
  const command = `${text.replaceAll("SECONDS", seconds)}; true`.replace("ready", "ready > started");
  await using server = await startModelServer([{ toolCalls: [{ ...call(command), id: "a" }] }]);
  const { args, env } = headless(server.url, ["--yolo", "--output-format", "stream-json", "x"], CHAT, toolset);
  await using letta = await spawnLetta(args, { home, env });
  letta.child.stdin.end();
  await until(() => Bun.file(`${home.workdir}/started`).exists());
  await until(async () => sleepers(seconds) > 0);
  const killedAt = performance.now();
  letta.kill(signal);
  await until(async () => sleepers(seconds) === 0);
  expect(performance.now() - killedAt).toBeLessThan(2500);
  const { stdout, exitCode } = await letta.exited;
  if (signal !== "SIGKILL") {
    expect(jsonLines(stdout).at(-1)).toMatchObject({ type: "result", subtype: "interrupted" });
    expect(exitCode).toBe(signal === "SIGTERM" ? 143 : 130);
  }
}

function sleepers(seconds: string): number {
  return readdirSync("/proc").filter((pid) => {
    if (!/^\d+$/.test(pid)) return false;
    try {
      return readFileSync(`/proc/${pid}/cmdline`, "utf8").startsWith(`sleep\0${seconds}`);
    } catch {
      // It has just ended.
      return false;
    }
  }).length;
}

async function until(condition: () => Promise<boolean>): Promise<void> {
  const deadline = Date.now() + 20_000;
  while (!(await condition())) {
    if (Date.now() > deadline) throw new Error("the condition never came true");
    await Bun.sleep(10);
  }
}
