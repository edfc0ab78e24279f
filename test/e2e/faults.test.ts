// What real providers' streams do wrong, over every protocol: no crash, no lost or doubled text, a named error where
// the stream was really broken, and one visible retry budget.

import { describe, expect, test } from "bun:test";
import { jsonLines, runLetta } from "../support/binary.ts";
import { type Script, startModelServer } from "../support/model-server.ts";
import { CHAT, headless, PROTOCOLS, type ProtocolSetup } from "../support/protocols.ts";

const TEXT = ["Grüße, ", "日本語 ", "and ", "🧪👩‍🔬 ", "end."];
const WHOLE = TEXT.join("");

describe.each(PROTOCOLS.map((setup) => [setup.protocol, setup] as const))("%s", (_, setup) => {
  test.each(["split_utf8", "crlf", "comments"] as const)("%s changes nothing", async (fault) => {
    const { lines, exitCode, requests } = await run(setup, [{ text: TEXT, fault }]);
    expect(textOf(lines)).toEqual([WHOLE]);
    expect(resultOf(lines)).toMatchObject({ subtype: "success", result: WHOLE });
    expect({ exitCode, requests }).toEqual({ exitCode: 0, requests: 1 });
  });

  test("cut before any text: retried, visibly", async () => {
    const { lines, exitCode, requests } = await run(setup, [{ text: TEXT, fault: "cut_before_text" }, { text: TEXT }]);
    expect(lines.filter(({ type }) => type === "retry")).toHaveLength(1);
    expect(resultOf(lines)).toMatchObject({ subtype: "success", result: WHOLE });
    expect(textOf(lines)).toEqual([WHOLE]);
    expect({ exitCode, requests }).toEqual({ exitCode: 0, requests: 2 });
  });

  test.each(["cut", "overload_mid_stream"] as const)(
    "%s in the middle: the model goes on where it stopped",
    async (fault) => {
      const { lines, exitCode, last } = await run(setup, [{ text: TEXT, fault }, { text: TEXT.slice(1) }]);
      expect(lines.filter(({ type }) => type === "retry")).toHaveLength(1);
      expect(last.messages.findLast(({ role }) => role === "assistant" || role === "model")?.text).toBe(TEXT[0]!);
      expect(textOf(lines).join("")).toBe(WHOLE);
      expect(resultOf(lines)).toMatchObject({ subtype: "success", result: WHOLE });
      expect(exitCode).toBe(0);
    },
  );

  test.each(["missing_terminator", "missing_finish", "garbage"] as const)(
    "%s: the whole text at once, or a named error and a retry",
    async (fault) => {
      const { lines, exitCode, requests } = await run(setup, [{ text: TEXT, fault }, { text: "(more)" }]);
      const retries = lines.filter(({ type }) => type === "retry");
      expect(retries).toHaveLength(requests - 1);
      for (const { code } of retries) expect(code).toMatch(/^(stream_cut|provider)$/);
      const arrived = fault === "garbage" && requests === 2 ? TEXT[0]! : WHOLE;
      const text = requests === 2 ? `${arrived}(more)` : WHOLE;
      expect(textOf(lines).join("")).toBe(text);
      expect(resultOf(lines)).toMatchObject({ subtype: "success", result: text });
      expect(exitCode).toBe(0);
    },
  );

  test.each([429, 503, 529])("HTTP %d once: retried", async (status) => {
    const { lines, exitCode } = await run(setup, [{ status, headers: { "retry-after": "0" } }, { text: TEXT }]);
    expect(lines.filter(({ type }) => type === "retry")).toHaveLength(1);
    expect(resultOf(lines)).toMatchObject({ subtype: "success", result: WHOLE });
    expect(exitCode).toBe(0);
  });

  test("tool arguments that did not arrive whole are never executed", async () => {
    const toolCalls = [
      { id: "a", name: "Bash", args: { command: "echo ran > ran.txt; echo aaaaaaaaaaaaaaaaaaaaaaaa" } },
    ];
    const { lines, toolResults } = await run(
      setup,
      [{ toolCalls, fault: "truncated_tool_json" }, { text: "ok" }],
      ["--yolo"],
    );
    expect(lines.filter(({ type }) => type === "tool_execution_started")).toEqual([]);
    // Gemini sends arguments as JSON, so there they cannot be cut without breaking the stream.
    if (toolResults.length > 0)
      expect(toolResults).toEqual([expect.objectContaining({ text: expect.not.stringContaining("aaaa\n") })]);
  });

  test("two calls with one id are both run and both answered", async () => {
    const toolCalls = [
      { id: "same", name: "Bash", args: { command: "echo first" } },
      { id: "same", name: "Bash", args: { command: "echo second" } },
    ];
    const { toolResults, exitCode } = await run(
      setup,
      [{ toolCalls, fault: "duplicate_ids" }, { text: "ok" }],
      ["--yolo"],
    );
    expect(toolResults.map(({ text }) => /first|second/.exec(text)?.[0])).toEqual(["first", "second"]);
    expect(exitCode).toBe(0);
  });

  test("an argument text that is empty is not filled with a guess", async () => {
    const toolCalls = [{ id: "a", name: "Glob", args: {} }];
    const { toolResults, exitCode } = await run(
      setup,
      [{ toolCalls, fault: "empty_args" }, { text: "ok" }],
      ["--yolo"],
    );
    expect(toolResults).toEqual([
      { id: expect.any(String), text: expect.stringMatching(/missing required|did not arrive/) },
    ]);
    expect(exitCode).toBe(0);
  });
});

test("broken every time: the budget ends, with the error's name", async () => {
  const { lines, exitCode, requests } = await run(CHAT, () => ({ text: TEXT, fault: "cut" }));
  const retries = lines.filter(({ type }) => type === "retry");
  expect(retries.length).toBeGreaterThan(0);
  expect(requests).toBe(retries.length + 1);
  expect(retries.map(({ attempt }) => attempt)).toEqual(retries.map((_, index) => index + 1));
  expect(resultOf(lines)).toMatchObject({ is_error: true, error: { code: "stream_cut", retryable: true } });
  expect(exitCode).toBe(1);
});

async function run(setup: ProtocolSetup, script: Script, flags: string[] = []) {
  await using server = await startModelServer(script);
  const { args, env } = headless(server.url, [...flags, "--output-format", "stream-json", "hi"], setup);
  const { stdout, exitCode } = await runLetta(args, { env, timeoutMs: 55_000 });
  const toolResults = server.requests.at(-1)?.toolResults ?? [];
  return {
    lines: jsonLines(stdout),
    exitCode,
    requests: server.requests.length,
    toolResults,
    last: server.requests.at(-1)!,
  };
}

function resultOf(lines: Record<string, unknown>[]): Record<string, unknown> {
  const results = lines.filter(({ type }) => type === "result");
  expect(results).toHaveLength(1);
  return results[0]!;
}

/** One text per message, put together from its pieces. */
function textOf(lines: Record<string, unknown>[]): string[] {
  const texts = new Map<unknown, string>();
  for (const line of lines) {
    if (line.message_type !== "assistant_message") continue;
    const parts = typeof line.content === "string" ? [{ text: line.content }] : (line.content as { text: string }[]);
    texts.set(line.otid ?? line.id, (texts.get(line.otid ?? line.id) ?? "") + parts.map(({ text }) => text).join(""));
  }
  return [...texts.values()];
}
