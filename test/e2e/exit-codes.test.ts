// The table of exit codes in the README, and that every failure says what to do.

import { expect, test } from "bun:test";
import { jsonLines, runLetta } from "../support/binary.ts";
import { startModelServer } from "../support/model-server.ts";
import { headless, PROTOCOLS } from "../support/protocols.ts";

test.each([
  ["unknown flag", ["--modle", "x"], 2, "--model"],
  ["unknown command", ["agnets"], 2, "agents"],
  ["bad flag value", ["-p", "hi", "--output-format", "yaml"], 2, "stream-json"],
  ["no prompt", ["-p"], 2, "No prompt"],
  ["no provider", ["-p", "hi"], 3, "letta connect"],
  ["no such conversation", ["-p", "hi", "--backend", "local", "--conv", "conv-nope"], 4, "conv-nope"],
] as const)("%s", async (_, args, code, says) => {
  const { stdout, stderr, exitCode } = await runLetta([...args]);
  expect(stderr).toContain(says);
  expect(stderr).toStartWith("Error: ");
  expect({ stdout, exitCode }).toEqual({ stdout: "", exitCode: code });
});

test.each(PROTOCOLS.map((setup) => [setup.protocol, setup] as const))(
  "%s: a wrong key exits 3 with a hint",
  async (_, setup) => {
    await using server = await startModelServer([{ status: 401 }]);
    const { args, env } = headless(server.url, ["--output-format", "stream-json", "hi"], setup);
    const { stdout, stderr, exitCode } = await runLetta(args, { env });
    const results = jsonLines(stdout).filter(({ type }) => type === "result");
    expect(results).toEqual([
      expect.objectContaining({ is_error: true, error: expect.objectContaining({ code: "auth" }) }),
    ]);
    expect(stderr.trim().split("\n").length).toBeGreaterThan(1);
    expect(exitCode).toBe(3);
  },
);

test("a rate limit that does not end exits 7", async () => {
  await using server = await startModelServer(() => ({ status: 429, headers: { "retry-after": "0" } }));
  const { args, env } = headless(server.url, ["--output-format", "json", "hi"]);
  const { stdout, exitCode } = await runLetta(args, { env });
  expect(JSON.parse(stdout)).toMatchObject({ is_error: true, error: { code: "rate_limit", retryable: true } });
  expect(server.requests.length).toBeGreaterThan(1);
  expect(exitCode).toBe(7);
});

test("a looping model is stopped after two steps", async () => {
  await using server = await startModelServer((_, index) => ({
    text: `step ${index + 1}`,
    toolCalls: [{ id: `c${index}`, name: "Bash", args: { command: "true" } }],
  }));
  const { args, env } = headless(server.url, ["--yolo", "--max-turns", "2", "--output-format", "stream-json", "x"]);
  const { stdout, exitCode } = await runLetta(args, { env });
  const results = jsonLines(stdout).filter(({ type }) => type === "result");
  expect(results).toEqual([expect.objectContaining({ subtype: "error", stop_reason: "max_steps", result: "step 2" })]);
  expect(server.requests).toHaveLength(2);
  expect(exitCode).toBe(5);
});

test("--timeout stops a silent model", async () => {
  await using server = await startModelServer([{ text: ["a", "b"], fault: "stall" }]);
  const { args, env } = headless(server.url, ["--timeout", "1s", "--output-format", "json", "x"]);
  const { stdout, exitCode, durationMs } = await runLetta(args, { env });
  expect(JSON.parse(stdout)).toMatchObject({ is_error: true, error: { code: "limit" } });
  expect(exitCode).toBe(5);
  expect(durationMs).toBeLessThan(10_000);
});

test("--max-turns lets a turn that ends exactly there succeed", async () => {
  await using server = await startModelServer([{ text: "one step" }]);
  const { args, env } = headless(server.url, ["--max-turns", "1", "x"]);
  const { stdout, exitCode } = await runLetta(args, { env });
  expect({ stdout, exitCode }).toEqual({ stdout: "one step\n", exitCode: 0 });
});
