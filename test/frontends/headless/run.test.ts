// One-shot runs in all three shapes, over a scripted engine.

import { expect, test } from "bun:test";
import * as v from "valibot";
import type { EngineEvent } from "@/engine/events.ts";
import { OutputLineSchema, renderSchema } from "@/frontends/headless/schema.ts";
import { expectGolden } from "../../support/golden.ts";
import { ended, type Script, say, started, textDelta, toolCall } from "../../support/scripted-engine.ts";
import { Client, openTestApp, SELECTION } from "./support.ts";

/** Everything that can happen in a turn, once. */
const EVERYTHING: Script = async function* (context) {
  const { turnId } = context;
  const ok = toolCall("c1", "Bash", { command: "bun test" });
  const denied = toolCall("c2", "Write", { file_path: "/etc/passwd" });
  const rule = { by: "rule", detail: "allowed by a rule", rule: "Bash(bun test)", source: "user" as const };
  yield { type: "recovery", turnId, kind: "interrupted_tool", message: "A call was cut." };
  yield started(context);
  yield { type: "step_started", turnId, step: 1 };
  yield { ...textDelta(context, "Hm."), type: "reasoning_delta" } as EngineEvent;
  yield textDelta(context, "Let me ", "o1");
  yield textDelta(context, "test.", "o1");
  yield { type: "tool_call", turnId, call: ok, runId: "run-1" };
  yield { type: "tool_call", turnId, call: denied, runId: "run-1" };
  const stop = { stopReason: "requires_approval" as const, usage: null };
  yield { type: "step_finished", turnId, runId: "run-1", ...stop };
  yield { type: "auto_decided", turnId, call: ok, behavior: "allow", reason: rule };
  yield {
    type: "auto_decided",
    turnId,
    call: denied,
    behavior: "deny",
    reason: { by: "mode", detail: "nobody can be asked" },
    allowFlag: "--permission-mode acceptEdits",
  };
  yield {
    type: "tool_finished",
    turnId,
    call: denied,
    durationMs: 0,
    result: { outcome: "denied", status: "error", output: "Denied." },
  };
  yield { type: "tool_started", turnId, call: ok };
  yield { type: "tool_output", turnId, toolCallId: "c1", text: "14 pa" };
  yield {
    type: "tool_finished",
    turnId,
    call: ok,
    durationMs: 5.4,
    result: { outcome: "executed", status: "success", output: "14 pass", stdout: ["14 pass"], stderr: [] },
  };
  yield {
    type: "retry",
    turnId,
    attempt: 1,
    maxAttempts: 3,
    delayMs: 1000,
    code: "rate_limit",
    reason: "429",
    runId: "run-2",
  };
  const stats = { trigger: "manual" as const, context_window: 9, messages_count_before: 4, messages_count_after: 1 };
  yield { type: "compaction", turnId, trigger: "manual", summary: "Earlier: …", stats, messageId: "s1" };
  yield { type: "notice", turnId, level: "warning", text: "Nearly full." };
  yield textDelta(context, "All 14 pass.", "o2");
  const usage = { prompt_tokens: 10, completion_tokens: 2, total_tokens: 12, step_count: 1, cost_usd: 0.01 };
  yield { type: "step_finished", turnId, runId: "run-2", stopReason: "end_turn", usage };
  yield ended(context, {
    text: "All 14 pass.",
    steps: 2,
    deniedTools: [{ tool: "Write", reason: "nobody can be asked" }],
  });
};

/** Ids and paths that differ between runs. */
function stable(text: string, cwd: string): string {
  const ids = new Map<string, string>();
  return text
    .replaceAll(cwd, "/project")
    .replace(/\b(agent|conv)-local-[\w-]+|local-conv-[\w-]+|\bconv-[\w-]{8,}/g, (id) => {
      if (!ids.has(id)) ids.set(id, `${id.startsWith("agent") ? "AGENT" : "CONVERSATION"}`);
      return ids.get(id)!;
    })
    .replace(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, "UUID")
    .replace(/"version":"[^"]+"/g, '"version":"VERSION"');
}

test.each([
  ["stream-json", false],
  ["stream-json-partial", true],
] as const)("transcript %s: golden, and as the schema says", async (name, partialMessages) => {
  await using app = await openTestApp([EVERYTHING], {}, ["Bash"]);
  const client = new Client(app, { partialMessages });
  expect(await client.exited).toBe(0);
  expectGolden(`headless/${name}.jsonl`, stable(client.stdout, app.cwd));
  for (const [index, line] of client.lines.entries()) {
    expect(v.parse(OutputLineSchema, line)).toEqual(line as never);
    expect(line.event_seq).toBe(index + 1);
  }
  expect(client.lines[0]).toMatchObject({ type: "system", subtype: "init" });
  expect(client.lines.filter(({ type }) => type === "result")).toEqual([client.lines.at(-1)!]);
});

test("json: one object", async () => {
  await using app = await openTestApp([EVERYTHING]);
  const client = new Client(app, { outputFormat: "json" });
  expect(await client.exited).toBe(0);
  expect(JSON.parse(client.stdout)).toMatchObject({
    type: "result",
    subtype: "success",
    is_error: false,
    result: "All 14 pass.",
    num_turns: 2,
    permission_denials: [{ tool_name: "Write", reason: "nobody can be asked" }],
  });
  expect(client.notes).toContain(
    "denied Write /etc/passwd: nobody can be asked; --permission-mode acceptEdits would allow it",
  );
});

test("text: the last answer on stdout, the rest on stderr", async () => {
  await using app = await openTestApp([EVERYTHING]);
  const client = new Client(app, { outputFormat: "text" });
  expect(await client.exited).toBe(0);
  expect(client.stdout).toBe("All 14 pass.\n");
  expect(client.notes).toEqual([
    "A call was cut.",
    "denied Write /etc/passwd: nobody can be asked; --permission-mode acceptEdits would allow it",
    "429; trying again in 1 s (1/3)",
    "the conversation did not fit the model's window: the model sees a shorter form of it",
    "Nearly full.",
  ]);
});

test("text: without an answer, the last tool result", async () => {
  const script: Script = async function* (context) {
    const result = { outcome: "executed", status: "success", output: "42" } as const;
    yield { type: "tool_finished", turnId: context.turnId, call: toolCall("c", "Bash"), durationMs: 1, result };
    yield ended(context);
  };
  await using app = await openTestApp([
    script,
    async function* (context) {
      yield ended(context);
    },
  ]);
  const client = new Client(app, { outputFormat: "text" });
  expect([await client.exited, client.stdout]).toEqual([0, "42\n"]);
  const silent = new Client(app, { outputFormat: "text" });
  expect([await silent.exited, silent.stdout, silent.notes]).toEqual([1, "", ["Error: No assistant response found"]]);
});

test.each([
  ["failed", "auth", 3],
  ["failed", "rate_limit", 7],
  ["failed", "denied", 6],
  ["failed", "busy", 1],
  ["limit", "limit", 5],
] as const)("a turn that %s with %s exits %i with one result", async (status, code, exitCode) => {
  const error = { code, message: "What happened", hint: "What to do", retryable: false };
  await using app = await openTestApp([say("part", { status, stopReason: "error", error })]);
  const client = new Client(app);
  expect(await client.exited).toBe(exitCode);
  expect(client.lines.slice(-2)).toMatchObject([
    { type: "error", message: "What happened", error },
    { type: "result", subtype: "error", is_error: true, result: "part", error },
  ]);
  expect(client.notes.slice(0, 2)).toEqual(["Error: What happened", "What to do"]);
  for (const line of client.lines) expect(v.parse(OutputLineSchema, line)).toEqual(line as never);
});

/** Runs until it is aborted. */
const ENDLESS: Script = async function* (context) {
  yield textDelta(context, "part");
  await context.aborted;
  yield ended(context, { status: "interrupted", stopReason: "cancelled", text: "part" });
};

test("a signal interrupts: the result is still written, the exit code is the signal's", async () => {
  await using app = await openTestApp([ENDLESS]);
  const client = new Client(app);
  await client.waitFor(({ message_type }) => message_type === "assistant_message");
  client.stop();
  expect(await client.exited).toBe(143);
  expect(client.lines.at(-1)).toMatchObject({ type: "result", subtype: "interrupted", is_error: true, result: "part" });
  expect(client.notes[0]).toBe("Error: Interrupted by SIGTERM");
});

test("a reader that leaves stops the model", async () => {
  await using app = await openTestApp([ENDLESS]);
  const client = new Client(app);
  await client.waitFor(({ message_type }) => message_type === "assistant_message");
  client.leave();
  await client.exited;
  expect(client.notes).toEqual([]);
});

test("limits, model and system go with the turn; nobody approves", async () => {
  await using app = await openTestApp([say("ok")]);
  const limits = { maxTurns: 2, timeoutMs: 1000 };
  const selection = { ...SELECTION, system: { text: "Be brief." } };
  await new Client(app, { limits, selection, content: "hi" }).exited;
  expect(app.engine.inputs).toMatchObject([{ content: "hi", limits, approver: "nobody" }]);
});

test("--ephemeral has no agent to the outside", async () => {
  await using app = await openTestApp([say("ok")]);
  const client = new Client(app, { selection: { ...SELECTION, ephemeral: true } });
  await client.exited;
  expect(client.lines[0]).toMatchObject({ agent_id: null });
  expect(client.lines.at(-1)).toMatchObject({ agent_id: null, resume_command: null });
});

test("--dry-run creates and sends nothing", async () => {
  await using app = await openTestApp([say("no")], {}, ["Bash"]);
  const client = new Client(app, { dryRun: true, outputFormat: "text", content: null });
  expect(await client.exited).toBe(0);
  expectGolden("headless/dry-run.txt", stable(client.stdout, app.cwd).replace(/local:\S+\/local/, "local:STORE"));
  expect(app.engine.inputs).toEqual([]);
  expect((await app.backend.listAgents()).items).toEqual([]);
});

test("an unknown name in --tools is a notice", async () => {
  await using app = await openTestApp([say("ok")], {}, ["Bash", "Bsh"]);
  const client = new Client(app, {});
  await client.exited;
  expect(client.lines[0]).toMatchObject({ tools: ["Bash"] });
  expect(client.lines[1]).toMatchObject({ subtype: "notice", text: "there is no tool called Bsh (--tools)" });
});

test("the printed schema is JSON Schema of both directions", () => {
  const { $defs, ...rest } = renderSchema() as { $defs: Record<string, unknown> };
  expect(Object.keys($defs)).toEqual(["output", "input", "result"]);
  expect(rest).toMatchObject({ title: "letta stream-json", schema_version: 1 });
  expectGolden("headless/schema.json", `${JSON.stringify(renderSchema(), null, 2)}\n`);
});
