// Output is never cut, and a reader that is slow, gone or full ends cleanly and soon.

import { expect, test } from "bun:test";
import { join } from "node:path";
import { builtBinary, childEnv, jsonLines, runLetta, spawnLetta, tempHome } from "../support/binary.ts";
import { startModelServer } from "../support/model-server.ts";
import { headless } from "../support/protocols.ts";

const FIVE_MB = 5 * 1024 * 1024;

/** `letta … <pipeline>` under sh; `$code` is letta's exit code. */
async function inShell(pipeline: string, args: string[], env: Record<string, string>) {
  using home = tempHome();
  const script = `{ "$@"; echo "code=$?" >&2; } ${pipeline}`;
  const startedAt = performance.now();
  const child = Bun.spawn(["sh", "-c", script, "sh", await builtBinary(), ...args], {
    cwd: home.workdir,
    env: { ...childEnv(home), ...env },
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
  });
  const [stdout, stderr] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
  const code = Number(/code=(\d+)/.exec(stderr)?.[1]);
  return { stdout, stderr, code, durationMs: performance.now() - startedAt };
}

test("5 MB into a reader that sleeps ten seconds arrive whole", async () => {
  const piece = `${"0123456789abcdef".repeat(255)} line\n`;
  const text = Array.from({ length: Math.ceil(FIVE_MB / piece.length) }, () => piece);
  await using server = await startModelServer([{ text }]);
  const { args, env } = headless(server.url, ["--output-format", "stream-json", "--include-partial-messages", "x"]);
  const { stdout, code } = await inShell("| { sleep 10; cat; }", args, env);
  const lines = jsonLines(stdout);
  expect(lines.at(-1)).toMatchObject({ type: "result", subtype: "success" });
  expect(lines.at(-1)?.result === text.join("").trimEnd() || lines.at(-1)?.result === text.join("")).toBe(true);
  expect(code).toBe(0);
}, 60_000);

test.each([["stream-json"], ["text"], ["json"]])(
  "%s: a reader that leaves early ends the run and its model call",
  async (format) => {
    await using server = await startModelServer([{ text: Array.from({ length: 2000 }, () => "word ".repeat(400)) }]);
    const { args, env } = headless(server.url, ["--output-format", format, "x"]);
    const { code, durationMs } = await inShell("| head -c 10", args, env);
    expect(code).toBe(0);
    expect(durationMs).toBeLessThan(15_000);
  },
);

test("a reader that left stops the model", async () => {
  await using server = await startModelServer([
    { text: Array.from({ length: 200 }, () => "word ".repeat(4000)), fault: "stall" },
  ]);
  const flags = ["--output-format", "stream-json", "--include-partial-messages"];
  const { args, env } = headless(server.url, [...flags, "x"]);
  const { code, durationMs } = await inShell("| head -c 10", args, env);
  expect(code).toBe(0);
  expect(durationMs).toBeLessThan(15_000);
});

test.each([["stream-json"], ["text"], ["json"]])("%s into a full device fails soon and says so", async (format) => {
  await using server = await startModelServer([{ text: "hello" }]);
  const { args, env } = headless(server.url, ["--output-format", format, "x"]);
  const { stderr, code, durationMs } = await inShell("> /dev/full", args, env);
  expect(stderr).toMatch(/Error: .*(full|space)/i);
  expect(code).toBe(1);
  expect(durationMs).toBeLessThan(15_000);
});

test("closed standard streams are no crash", async () => {
  await using server = await startModelServer([{ text: "hello" }]);
  const { args, env } = headless(server.url, ["x"]);
  const { code } = await inShell("<&- >&-", args, env);
  expect([0, 1]).toContain(code);
});

test("a stdin pipe that nobody writes to or closes is left, with a note", async () => {
  await using server = await startModelServer([{ text: "hello" }]);
  const { args, env } = headless(server.url, ["x"]);
  await using letta = await spawnLetta(args, { env });
  const { stdout, stderr, exitCode, durationMs } = await letta.exited;
  expect({ stdout, exitCode }).toEqual({ stdout: "hello\n", exitCode: 0 });
  expect(stderr).toContain("stdin");
  expect(durationMs).toBeLessThan(15_000);
});

test.each([
  ["prompt and pipe", ["review"], "+ added line\n", ["review", "+ added line"]],
  ["pipe alone", [], "what is this?\n", ["what is this?"]],
  ["--no-stdin", ["--no-stdin", "review"], "ignored\n", ["review"]],
])("%s: what was said reaches the model", async (_, flags, stdin, parts) => {
  await using server = await startModelServer([{ text: "ok" }]);
  const { args, env } = headless(server.url, flags);
  const { exitCode } = await runLetta(args, { env, stdin });
  const said = server.requests[0]!.messages.filter(({ role }) => role === "user")
    .map(({ text }) => text)
    .join("\n");
  for (const part of parts) expect(said).toContain(part);
  if (flags.includes("--no-stdin")) expect(said).not.toContain("ignored");
  expect(exitCode).toBe(0);
});

test("without -p a pipe is a prompt", async () => {
  await using server = await startModelServer([{ text: "ok" }]);
  const { args, env } = headless(server.url, []);
  const { stdout, exitCode } = await runLetta(
    args.filter((arg) => arg !== "-p"),
    { env, stdin: "hi" },
  );
  expect({ stdout, exitCode }).toEqual({ stdout: "ok\n", exitCode: 0 });
});

test("--record, then --replay without any server", async () => {
  using home = tempHome();
  const file = join(home.workdir, "run.jsonl");
  const { args, env } = await (async () => {
    await using server = await startModelServer([
      { toolCalls: [{ id: "a", name: "Bash", args: { command: "echo hello" } }] },
      { text: "It said hello." },
    ]);
    const call = headless(server.url, ["--yolo", "--record", file, "x"]);
    expect(await runLetta(call.args, { home, env: call.env })).toMatchObject({
      stdout: "It said hello.\n",
      exitCode: 0,
    });
    return call;
  })();
  const replay = args.map((arg) => (arg === "--record" ? "--replay" : arg));
  expect(await runLetta(replay, { home, env })).toMatchObject({ stdout: "It said hello.\n", exitCode: 0 });
});
