import { afterAll, expect, test } from "bun:test";
import { join } from "node:path";
import { isPidAlive } from "@/lib/process-stat.ts";
import { createWatchdog } from "@/lib/watchdog.ts";
import { type Child, type LaunchOptions, launchChild } from "@/subagents/launch-child.ts";
import { fakeCommand, LAUNCH } from "./fake-launch.ts";

const watchdog = createWatchdog({ path: process.env.PATH! });
afterAll(() => watchdog.close());

function start(kind: string, options: Partial<LaunchOptions> = {}): Child {
  return launchChild(LAUNCH, {
    env: process.env,
    parentAgentId: "agent-1",
    watchdog,
    signal: new AbortController().signal,
    timeoutMs: 60_000,
    maxOutputBytes: 64 * 1024 * 1024,
    command: fakeCommand(kind),
    ...options,
  });
}

async function untilGone(pids: number[]): Promise<void> {
  while (pids.some((pid) => isPidAlive(pid))) await Bun.sleep(20);
}

const usage = { steps: 2, totalTokens: 7, costUsd: null };

test("messages are answered one after the other until no more come", async () => {
  const child = start("echo");
  expect(await child.answer()).toEqual({ status: "answered", report: "heard hello", usage });
  child.send("mend it");
  expect(await child.answer()).toEqual({ status: "answered", report: "heard mend it", usage });
  expect(await child.finish()).toEqual({ status: "ended" });
});

test("a question is answered with no: nobody is there", async () => {
  const child = start("asks");
  expect(JSON.parse(((await child.answer()) as { report: string }).report)).toMatchObject({
    request_id: "r1",
    response: { behavior: "deny", message: expect.stringContaining("Nobody is there") },
  });
  expect(await child.finish()).toEqual({ status: "ended" });
});

test("its own failure is passed on", async () => {
  const child = start("fails");
  expect(await child.answer()).toMatchObject({ status: "failed", error: "no credits" });
  expect(await child.finish()).toEqual({ status: "ended" });
});

test("one that ends without a result failed, with the last line it said", async () => {
  const child = start("silent");
  expect(await child.answer()).toMatchObject({ status: "failed", error: "Error: no model is connected" });
  expect(await child.finish()).toEqual({ status: "failed", error: "Error: no model is connected" });
});

test("one that floods its output is stopped, and memory stays flat", async () => {
  const before = process.memoryUsage.rss();
  const child = start("flood", { maxOutputBytes: 50_000_000 });
  expect(await child.answer()).toMatchObject({ status: "failed", error: "it printed more than 48 MB" });
  expect(await child.finish()).toMatchObject({ status: "flooded" });
  expect(process.memoryUsage.rss() - before).toBeLessThan(150_000_000);
});

test("one that never ends and ignores signals is gone after its time, with what it started", async () => {
  const pids = Promise.withResolvers<number[]>();
  const child = start("deaf", {
    timeoutMs: 1_500,
    onToolCall: ({ argumentsText }) => pids.resolve(argumentsText.split(" ").map(Number)),
  });
  expect(await child.answer()).toMatchObject({ status: "failed", error: "it had not ended after 2 s" });
  expect(await child.finish()).toMatchObject({ status: "timed_out" });
  await untilGone(await pids.promise);
}, 30_000);

test("an abort stops it", async () => {
  const controller = new AbortController();
  const child = start("echo", { signal: controller.signal });
  await child.answer();
  controller.abort();
  expect(await child.finish()).toEqual({ status: "stopped", error: "it was stopped" });
  await untilGone([child.pid]);
});

test("a parent that is killed leaves nothing behind", async () => {
  const parent = Bun.spawn([process.execPath, join(import.meta.dir, "fake-parent.ts")], {
    env: { ...process.env },
    stdout: "pipe",
    stderr: "inherit",
    detached: true,
  });
  const reader = parent.stdout.getReader();
  const { value } = await reader.read();
  const pids = Buffer.from(value!).toString().trim().split(" ").map(Number);
  expect(pids).toHaveLength(2);
  parent.kill("SIGKILL");
  await untilGone(pids);
}, 30_000);
