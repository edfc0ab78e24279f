// Whatever ends `letta`, two seconds later nothing it started is running.

import { expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { jsonLines, spawnLetta, tempHome } from "../support/binary.ts";
import { startModelServer } from "../support/model-server.ts";
import { headless } from "../support/protocols.ts";

const COMMANDS = {
  plain: "echo ready; sleep SECONDS",
  pipeline: "echo ready; sleep SECONDS | cat",
  background: "sleep SECONDS & echo ready; sleep SECONDS",
  "own session": "setsid sleep SECONDS & echo ready; sleep SECONDS",
  stubborn: "trap '' TERM INT HUP; echo ready; sleep SECONDS; sleep SECONDS",
};

const CASES = Object.keys(COMMANDS).flatMap((name) =>
  (["SIGTERM", "SIGKILL", "SIGINT"] as const).map((signal) => [signal, name as keyof typeof COMMANDS] as const),
);

test.each(CASES)("%s during a %s command", async (signal, name) => {
  using home = tempHome();
  // A duration nobody else sleeps: it finds our processes.
  const seconds = `9${crypto.getRandomValues(new Uint32Array(1))[0]}`;
  const command = `${COMMANDS[name].replaceAll("SECONDS", seconds)}; true`.replace("ready", "ready > started");
  await using server = await startModelServer([{ toolCalls: [{ id: "a", name: "Bash", args: { command } }] }]);
  const { args, env } = headless(server.url, ["--yolo", "--output-format", "stream-json", "x"]);
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
});

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
