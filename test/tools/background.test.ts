import { afterAll, expect, test } from "bun:test";
import { existsSync, mkdirSync, readFileSync, rmSync, statSync, utimesSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { bashTool } from "@/tools/bash.ts";
import type { BackgroundTask } from "@/tools/services.ts";
import { taskOutputTool } from "@/tools/task-output.ts";
import { taskStopTool } from "@/tools/task-stop.ts";
import { isAlive, openWorkbench, until } from "./support.ts";

const bench = openWorkbench();
const { background } = bench.services;
afterAll(() => bench[Symbol.asyncDispose]());

async function start(command: string, more: object = {}): Promise<BackgroundTask> {
  const { output } = await bench.call(bashTool, { command, run_in_background: true, ...more });
  const id = /ID: (bash_\d+)\n/.exec(output)?.[1] ?? "";
  const task = background.find(id);
  if (!task) throw new Error(output);
  expect(output).toContain(`Output file: ${task.outputFile}`);
  return task;
}
const ended = (task: BackgroundTask): Promise<true> => until(() => task.state !== "running");

test("a task writes a private log and is told of exactly once, whenever somebody listens", async () => {
  await using own = openWorkbench();
  const { background: tasks } = own.services;
  await own.call(bashTool, { command: "echo '<out>'; echo err >&2; exit 4", run_in_background: true });
  const task = tasks.find("bash_1")!;
  await ended(task);
  const told: string[] = [];
  const stop = tasks.onFinished((_, text) => told.push(text));
  tasks.onFinished((_, text) => told.push(`second ${text}`));
  expect(told).toEqual([
    [
      "<task-notification>",
      "<task-id>bash_1</task-id><status>failed</status><summary>Background command failed (exit code: 4)</summary>" +
        "<result>$ echo '&lt;out&gt;'; echo err &gt;&amp;2; exit 4\nexit code: 4\n[output]\n&lt;out&gt;\nerr</result>",
      "</task-notification>",
      `Full transcript available at: ${task.outputFile}`,
    ].join("\n"),
  ]);
  stop();
  expect(task).toMatchObject({ state: "failed", exitCode: 4, conversationId: "conv-1" });
  expect(readFileSync(task.outputFile, "utf8")).toBe("<out>\nerr\n[exit code: 4]\n");
  expect(statSync(task.outputFile).mode & 0o777).toBe(0o600);
  expect(statSync(dirname(task.outputFile)).mode & 0o777).toBe(0o700);
});

test("the default log directory is private and of this process; logs of days ago are removed", async () => {
  await using own = openWorkbench({ vars: { LETTA_SCRATCHPAD: "" } });
  const [old, recent] = ["old", "recent"].map((name) => join(tmpdir(), `letta-background-${name}-${process.pid}`));
  for (const path of [old!, recent!]) mkdirSync(path);
  utimesSync(old!, new Date(0), new Date(0));
  await own.call(bashTool, { command: "true", run_in_background: true });
  expect([existsSync(old!), existsSync(recent!)]).toEqual([false, true]);
  rmSync(recent!, { recursive: true });
  const { outputFile } = own.services.background.find("bash_1")!;
  await own.services.background.stopAll();
  expect(outputFile).toMatch(/letta-background-\w+\/bash_1\.log$/);
  expect(statSync(dirname(outputFile)).mode & 0o777).toBe(0o700);
  rmSync(dirname(outputFile), { recursive: true });
});

test("two processes sharing a scratchpad do not share logs", async () => {
  const task = await start("true");
  await using own = openWorkbench({ vars: { LETTA_SCRATCHPAD: dirname(task.outputFile) } });
  await own.call(bashTool, { command: "true", run_in_background: true });
  const [other] = own.services.background.list();
  expect(other?.outputFile).not.toBe(task.outputFile);
});

test("TaskOutput shows a running task at once, and waits when asked to", async () => {
  const task = await start("echo begun; while [ ! -e finish ]; do sleep 0.02; done; echo over");
  await until(() => background.read(task.id, 0).text.includes("begun"));
  const early = await bench.call(taskOutputTool, { task_id: task.id, block: false, timeout: 0 });
  expect(early.output).toMatch(/^status: running \(still running\)\noutput file: .*\n\nbegun\n$/);
  const short = await bench.call(taskOutputTool, { task_id: task.id, block: true, timeout: 30 });
  expect(short.summary).toBe("running");
  let live = "";
  const waiting = bench.call(taskOutputTool, { task_id: task.id }, { onOutput: (text) => (live += text) });
  await Bun.write(`${bench.cwd}/finish`, "");
  const { output, summary } = await waiting;
  expect(output).toMatch(/^status: completed\nexit code: 0\noutput file: .*\n\nbegun\nover\n\[exit code: 0\]\n$/);
  expect([summary, live]).toEqual(["completed", "begun\nover\n[exit code: 0]\n"]);
});

test("waiting ends with the turn", async () => {
  const task = await start("sleep 300");
  const controller = new AbortController();
  const waiting = bench.call(taskOutputTool, { task_id: task.id, timeout: 600_000 }, { signal: controller.signal });
  controller.abort();
  await expect(waiting).rejects.toThrow("aborted");
  await background.stop(task.id);
});

test("TaskStop ends the whole tree, and is not a notification", async () => {
  const told: string[] = [];
  const stop = background.onFinished((task) => told.push(task.id));
  const task = await start("sleep 300 & echo $!; trap '' TERM INT; wait; sleep 300");
  const child = await until(() => Number(background.read(task.id, 0).text.trim()) || undefined);
  expect((await bench.call(taskStopTool, { task_id: task.id })).output).toBe('{"killed":true}');
  expect([task.state, isAlive(child)]).toEqual(["stopped", false]);
  expect((await bench.call(taskStopTool, { task_id: task.id })).output).toBe('{"killed":false}');
  expect(told).not.toContain(task.id);
  stop();
});

test("unknown ids are a message", async () => {
  expect(await bench.call(taskOutputTool, { task_id: "bash_999" })).toMatchObject({
    status: "success",
    output: expect.stringMatching(/^No background task with ID bash_999\. Known: bash_1, /),
  });
  expect((await bench.call(taskStopTool, { task_id: "bash_999" })).status).toBe("error");
});

test("no default timeout, an explicit one is honoured", async () => {
  const task = await start("echo x; sleep 300", { timeout: 300 });
  await ended(task);
  expect(readFileSync(task.outputFile, "utf8")).toBe("x\n[timeout after 300 ms]\n");
  expect(task.state).toBe("failed");
});

test("reading by offset gives every byte once, characters whole", async () => {
  const task = await start("printf '漢字%.0s' 1 2 3");
  await ended(task);
  let text = "";
  for (let offset = 0; ; ) {
    const piece = background.read(task.id, offset);
    if (piece.nextOffset === offset) break;
    text += piece.text;
    offset = piece.nextOffset;
  }
  expect(text).toBe("漢字漢字漢字\n[exit code: 0]\n");
});

test("a long log is cut for the model and whole in its file", async () => {
  const task = await start("yes 0123456789 | head -n 100000");
  await ended(task);
  const { output } = await bench.call(taskOutputTool, { task_id: task.id });
  expect(output.length).toBeLessThan(31_000);
  expect(output).toContain(`output file: ${task.outputFile}`);
  expect(statSync(task.outputFile).size).toBe(1_100_000 + "[exit code: 0]\n".length);
});

test("at most 32 run at once", async () => {
  await using own = openWorkbench();
  const one = () => own.call(bashTool, { command: "sleep 300", run_in_background: true });
  await Promise.all(Array.from({ length: 32 }, one));
  await expect(one()).rejects.toThrow("32 background tasks are running");
  await own.services.background.stop("bash_3");
  expect((await one()).status).toBe("success");
}, 20_000);
