// Which conversation a script goes on with, and what a second process is told.

import { expect, test } from "bun:test";
import { jsonLines, runLetta, spawnLetta, type TempHome, tempDir, tempHome } from "../support/binary.ts";
import { type ModelServer, startModelServer } from "../support/model-server.ts";
import { headless } from "../support/protocols.ts";

/** Says how many messages of the user it was shown. */
const COUNTING = (request: { messages: { role: string }[] }) => ({
  text: `${request.messages.filter(({ role }) => role === "user").length}`,
});

test("-p starts anew, --continue and --conv go on", async () => {
  using home = tempHome();
  await using server = await startModelServer(COUNTING);
  const first = await say(["one"], home, server);
  const second = await say(["two"], home, server);
  expect(second.conversation_id).not.toBe(first.conversation_id);
  expect(await say(["--continue", "three"], home, server)).toMatchObject({
    conversation_id: second.conversation_id,
    result: "2",
  });
  expect(await say(["--conv", `${first.conversation_id}`, "four"], home, server)).toMatchObject({
    conversation_id: first.conversation_id,
    result: "2",
  });
});

test("--continue is this directory's", async () => {
  using home = tempHome();
  using elsewhere = tempDir();
  await using server = await startModelServer(COUNTING);
  await say(["one"], home, server);
  const { args, env } = headless(server.url, ["--continue", "two"]);
  const { exitCode, stderr } = await runLetta(args, { home, env, cwd: elsewhere.path });
  expect(stderr).toStartWith("Error: ");
  expect(exitCode).toBe(4);
});

test("a second process on one conversation is told at once who is busy", async () => {
  using home = tempHome();
  const gate = Promise.withResolvers<void>();
  await using server = await startModelServer((_, index) =>
    index === 1 ? { text: ["slow ", "answer"], gate: gate.promise } : { text: "ok" },
  );
  const { conversation_id } = await say(["one"], home, server);
  const flags = ["--output-format", "stream-json", "--include-partial-messages", "--conv", `${conversation_id}`];
  const { args, env } = headless(server.url, [...flags, "two"]);
  await using letta = await spawnLetta(args, { home, env });
  letta.child.stdin.end();
  await letta.waitFor("stdout", /slow /);
  const busy = headless(server.url, ["--output-format", "json", "--conv", `${conversation_id}`, "three"]);
  const { stdout, exitCode, durationMs } = await runLetta(busy.args, { home, env });
  expect(JSON.parse(stdout)).toMatchObject({
    is_error: true,
    error: { code: "busy", message: expect.stringContaining(`${letta.child.pid}`) },
  });
  expect(exitCode).toBe(1);
  expect(durationMs).toBeLessThan(5000);
  gate.resolve();
  const { stdout: whole } = await letta.exited;
  expect(jsonLines(whole).at(-1)).toMatchObject({ type: "result", subtype: "success", result: "slow answer" });
  expect(server.requests).toHaveLength(2);
});

test("twenty processes at once, each in a conversation of its own", async () => {
  using home = tempHome();
  await using server = await startModelServer(COUNTING);
  await say(["warm up"], home, server);
  const results = await Promise.all(Array.from({ length: 20 }, (_, index) => say([`number ${index}`], home, server)));
  expect(new Set(results.map(({ conversation_id }) => conversation_id)).size).toBe(20);
  expect(results.every(({ result }) => result === "1")).toBe(true);
});

async function say(flags: string[], home: TempHome, server: ModelServer): Promise<Record<string, unknown>> {
  const { args, env } = headless(server.url, ["--output-format", "json", ...flags]);
  const { stdout, stderr, exitCode } = await runLetta(args, { home, env, timeoutMs: 60_000 });
  if (exitCode !== 0) throw new Error(`exit ${exitCode}\n${stdout}\n${stderr}`);
  return JSON.parse(stdout);
}
