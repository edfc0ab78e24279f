// Whole headless processes: pipes that stay open, readers that leave, full devices, signals.

import { expect, test } from "bun:test";
import { join } from "node:path";

const ENTRY = join(import.meta.dir, "start-entry.ts");
type Stdin = "ignore" | "pipe" | Blob;

function start(script: string, args: string[], stdin: Stdin = "ignore") {
  const child = Bun.spawn([process.execPath, ENTRY, ...args], {
    stdin: stdin as "pipe",
    stdout: "pipe",
    stderr: "pipe",
    env: { ...process.env, LETTA_TEST_SCRIPT: script },
  });
  const decoder = new TextDecoder();
  const state = { stdout: "" };
  const wake: { resolve: () => void } = { resolve: () => {} };
  const reading = (async () => {
    for await (const chunk of child.stdout) {
      state.stdout += decoder.decode(chunk, { stream: true });
      wake.resolve();
    }
  })();
  return {
    child,
    /** Resolves when stdout holds `text`. */
    async printed(text: string): Promise<void> {
      while (!state.stdout.includes(text)) {
        await new Promise<void>((resolve) => {
          wake.resolve = resolve;
        });
      }
    },
    async end() {
      const [stderr, exitCode] = await Promise.all([child.stderr.text(), child.exited, reading]);
      return { stdout: state.stdout, stderr, exitCode, signal: child.signalCode };
    },
  };
}

async function shell(script: string, name: string, vars: Record<string, string> = {}) {
  const child = Bun.spawn(["bash", "-c", script.replaceAll("LETTA", `"${process.execPath}" "${ENTRY}"`)], {
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
    env: { ...process.env, LETTA_TEST_SCRIPT: name, ...vars },
  });
  const [stdout, stderr, exitCode] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
  return { stdout: stdout.trim(), stderr: stderr.trim(), exitCode };
}

function lastLine(stdout: string): Record<string, unknown> {
  return JSON.parse(stdout.trim().split("\n").at(-1)!);
}

test("prompt and piped text are both sent", async () => {
  const { stdout } = await start("echo", ["-p", "review"], new Blob(["the diff"])).end();
  expect(stdout).toBe("review\n\nFrom stdin:\n```\nthe diff\n```\n");
});

test("piped text alone is the prompt", async () => {
  expect((await start("echo", [], new Blob(["hi there\n"])).end()).stdout).toBe("hi there\n");
});

test("a pipe nobody writes to or closes is left after a silence, and does not keep the process", async () => {
  const startedAt = performance.now();
  const { stdout, stderr, exitCode } = await start("echo", ["-p", "hi"], "pipe").end();
  expect(stdout).toBe("hi\n");
  expect(stderr).toBe("nothing arrived on stdin for 3 s; going on without it (--stdin waits)\n");
  expect(exitCode).toBe(0);
  expect(performance.now() - startedAt).toBeLessThan(5000);
}, 10_000);

test("--no-stdin does not look", async () => {
  const { stdout, stderr } = await start("echo", ["-p", "hi", "--no-stdin"], "pipe").end();
  expect([stdout, stderr]).toEqual(["hi\n", ""]);
});

test("--stdin waits for the end", async () => {
  const run = start("echo", ["-p", "--stdin"], "pipe");
  run.child.stdin.write("one ");
  await run.child.stdin.flush();
  run.child.stdin.write("two");
  await run.child.stdin.end();
  expect((await run.end()).stdout).toBe("one two\n");
});

test("a closed stdin costs nothing", async () => {
  expect((await shell("LETTA -p hi <&-", "echo")).stdout).toBe("hi");
});

test("no prompt", async () => {
  const { stdout, stderr, exitCode } = await start("echo", ["-p", "--output-format", "json"]).end();
  expect(stderr).toStartWith("Error: No prompt provided\n");
  expect(JSON.parse(stdout)).toMatchObject({
    type: "result",
    subtype: "error",
    session_id: "startup",
    agent_id: null,
    error: { code: "usage", message: "No prompt provided" },
  });
  expect(exitCode).toBe(2);
});

test("a failure before there is an app: one error, one result; the terminal obeys neither", async () => {
  const { stdout, stderr, exitCode } = await start("broken", ["-p", "hi", "--output-format", "stream-json"]).end();
  const lines = stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
  expect(lines).toMatchObject([
    { type: "error", session_id: "startup", message: "the store is damaged\u001b[2J\u202e", event_seq: 1 },
    { type: "result", subtype: "error", is_error: true, error: { code: "storage", hint: "Run letta doctor." } },
  ]);
  expect(stderr).toBe("Error: the store is damaged\\x1b[2J\\u202e\nRun letta doctor.\n");
  expect(exitCode).toBe(1);
});

test.each([
  ["SIGINT", 130],
  ["SIGTERM", 143],
  ["SIGHUP", 143],
] as const)("%s ends the turn and exits %i", async (signal, code) => {
  const run = start("wait", ["-p", "hi", "--output-format", "stream-json"]);
  await run.printed("assistant_message");
  run.child.kill(signal);
  const { stdout, stderr, exitCode } = await run.end();
  expect(lastLine(stdout)).toMatchObject({ type: "result", subtype: "interrupted", result: "part" });
  expect(stderr).toMatch(new RegExp(`^Error: Interrupted by ${signal}\nContinue with: letta --conv `));
  expect(exitCode).toBe(code);
});

test("a second signal ends it at once", async () => {
  const run = start("deaf", ["-p", "hi", "--output-format", "stream-json"]);
  await run.printed("assistant_message");
  run.child.kill("SIGINT");
  run.child.kill("SIGINT");
  // Two signals may arrive as one.
  const again = setInterval(() => run.child.kill("SIGINT"), 50);
  expect((await run.end()).signal).toBe("SIGINT");
  clearInterval(again);
});

test("a signal while waiting for stdin ends it", async () => {
  const run = start("echo", ["-p", "--stdin", "--output-format", "stream-json"], "pipe");
  const again = setInterval(() => run.child.kill("SIGTERM"), 300);
  const { exitCode, signal } = await run.end();
  clearInterval(again);
  // Before the handlers are in place the signal itself ends it.
  expect([exitCode, signal]).toBeOneOf([
    [143, null],
    [143, "SIGTERM"],
  ]);
});

test("a reader that leaves: the turn is aborted, exit 0, nothing on stderr but the script's word", async () => {
  const script = "set -o pipefail; LETTA -p hi --output-format stream-json | head -n 3 | wc -l";
  expect(await shell(script, "flood")).toEqual({ stdout: "3", stderr: "aborted", exitCode: 0 });
});

test("a reader that leaves while there is nothing to write ends the turn, too", async () => {
  const script = "set -o pipefail; LETTA -p hi --output-format stream-json | head -n 2 | wc -l";
  const startedAt = performance.now();
  expect(await shell(script, "wait")).toEqual({ stdout: "2", stderr: "", exitCode: 0 });
  expect(performance.now() - startedAt).toBeLessThan(4000);
}, 10_000);

test("a full device: exit 1 with a message, the turn aborted", async () => {
  const { stderr, exitCode } = await shell("LETTA -p hi --output-format stream-json > /dev/full", "flood");
  expect(stderr).toEndWith("Error: cannot write to standard output: no space left on device");
  expect(exitCode).toBe(1);
});

test("five megabytes reach a reader that starts late", async () => {
  const { stdout } = await shell("LETTA -p hi --output-format stream-json | (sleep 1; tr -cd y | wc -c)", "large");
  expect(Number(stdout)).toBeGreaterThanOrEqual(5_000_000);
});

test("stdin closed before the turn ends: the queue is finished", async () => {
  const line = '{"type":"user","message":{"content":"hi"}}\n';
  const args = ["-p", "--input-format", "stream-json"];
  const { stdout, exitCode } = await start("echo", args, new Blob([line, line])).end();
  expect(lastLine(stdout)).toMatchObject({ type: "result", subtype: "success" });
  expect(exitCode).toBe(0);
});

test("a prompt beside stream-json input is not dropped silently", async () => {
  const run = start("echo", ["-p", "--input-format", "stream-json", "hi"], new Blob([]));
  const { stderr, exitCode } = await run.end();
  expect(stderr).toContain("the prompt on the command line is not used");
  expect(exitCode).toBe(0);
});

test("an open stdin does not keep a stopped session", async () => {
  const run = start("wait", ["-p", "--input-format", "stream-json"], "pipe");
  await run.printed('"init"');
  run.child.stdin.write('{"type":"user","message":{"content":"hi"}}\n');
  await run.child.stdin.flush();
  await run.printed("assistant_message");
  run.child.kill("SIGTERM");
  const { stdout, exitCode } = await run.end();
  expect(lastLine(stdout)).toMatchObject({ type: "result", subtype: "interrupted" });
  expect(exitCode).toBe(143);
});

test("a child agent ends when its parent is gone", async () => {
  // The shell is the parent; reading to the end of stdout waits for the orphan.
  const script = "LETTA -p hi --output-format stream-json & sleep 0.5";
  const { stdout } = await shell(script, "wait", { LETTA_PARENT_AGENT_ID: "agent-local-1" });
  expect(lastLine(stdout)).toMatchObject({ type: "result", subtype: "interrupted" });
});
