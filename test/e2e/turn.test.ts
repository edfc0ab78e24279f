// One headless turn with real tools, over every protocol, as the first thing a new user's script does.

import { describe, expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { jsonLines, runLetta, tempHome } from "../support/binary.ts";
import { startModelServer } from "../support/model-server.ts";
import { CHAT, headless, PROTOCOLS } from "../support/protocols.ts";

describe.each(PROTOCOLS.map((setup) => [setup.protocol, setup] as const))("%s", (_, setup) => {
  test("stream-json: init first, one result last, and the tools really ran", async () => {
    using home = tempHome();
    await using server = await startModelServer([
      {
        text: "Looking.",
        toolCalls: [{ id: "a", name: "Bash", args: { command: "echo from-$((40+2)) | tee made.txt" } }],
      },
      { text: "Done: ünïcode ✓" },
    ]);
    const { args, env } = headless(server.url, ["--yolo", "--output-format", "stream-json", "make it"], setup);
    const { stdout, stderr, exitCode } = await runLetta(args, { home, env });
    const lines = jsonLines(stdout);
    expect(stderr).toBe("");
    expect(lines[0]).toMatchObject({ type: "system", subtype: "init", model: expect.stringContaining("/") });
    expect(lines.filter(({ type }) => type === "result")).toHaveLength(1);
    expect(lines.at(-1)).toMatchObject({
      type: "result",
      subtype: "success",
      is_error: false,
      num_turns: 2,
      result: "Done: ünïcode ✓",
    });
    expect(lines.find((line) => line.message_type === "tool_return_message")).toMatchObject({
      status: "success",
      tool_return: expect.stringContaining("from-42"),
    });
    expect(readFileSync(join(home.workdir, "made.txt"), "utf8")).toBe("from-42\n");
    expect(server.requests).toHaveLength(2);
    expect(server.requests[1]!.toolResults).toEqual([
      { id: expect.any(String), text: expect.stringContaining("from-42") },
    ]);
    expect(exitCode).toBe(0);
  });
});

test("letta connect, then a turn with the connected server", async () => {
  using home = tempHome();
  await using server = await startModelServer([{ text: "Hello." }]);
  const connected = await runLetta(["connect", "lmstudio", "--base-url", server.url, "--backend", "local"], { home });
  expect(connected).toMatchObject({ exitCode: 0 });
  const { stdout, exitCode } = await runLetta(["--backend", "local", "--model", "lmstudio/m", "-p", "hi"], { home });
  expect({ stdout, exitCode }).toEqual({ stdout: "Hello.\n", exitCode: 0 });
});

test("json prints one object", async () => {
  await using server = await startModelServer([{ text: "Hello." }]);
  const { args, env } = headless(server.url, ["--output-format", "json", "hi"]);
  const { stdout, exitCode } = await runLetta(args, { env });
  expect(JSON.parse(stdout)).toMatchObject({ type: "result", subtype: "success", result: "Hello." });
  expect(exitCode).toBe(0);
});

test("without a flag nothing outside the folder is touched, and the refusal names the flag", async () => {
  using home = tempHome();
  const target = join(home.path, "outside.txt");
  await using server = await startModelServer([
    { toolCalls: [{ name: "Bash", args: { command: `echo gotcha > ${target}` } }] },
    { text: "I was not allowed to." },
  ]);
  const { args, env } = headless(server.url, ["--sandbox", "off", "--output-format", "json", "do it"], CHAT);
  const { exitCode } = await runLetta(args, { home, env });
  expect(existsSync(target)).toBe(false);
  expect(server.requests[1]!.toolResults[0]!.text).toContain("--");
  expect(exitCode).toBe(0);
});
