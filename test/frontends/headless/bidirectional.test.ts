// Lines in both directions over a scripted engine: routing, merging, permissions, external tools, stopping.

import { expect, test } from "bun:test";
import * as v from "valibot";
import type { EngineEvent } from "@/engine/events.ts";
import { OutputLineSchema } from "@/frontends/headless/schema.ts";
import { ended, type Script, type ScriptContext, say, textDelta, toolCall } from "../../support/scripted-engine.ts";
import { Client, type Line, openTestApp, type TestApp } from "./support.ts";

function connect(app: TestApp): Client {
  return new Client(app, { bidirectional: true, content: null });
}

const isResult = ({ type }: Line) => type === "result";

function question({ turnId }: ScriptContext, id: string): EngineEvent {
  return {
    type: "approval_requested",
    turnId,
    approvalId: `approval-${id}`,
    call: toolCall(id, "Write", { file_path: "/etc/hosts", content: "x" }),
    reason: { by: "default", detail: "Write asks" },
    suggestions: [{ rule: "Write(/etc/**)", scope: "session", description: "all of /etc" }],
    diffs: [{ path: "/etc/hosts", kind: "create", added: 1, removed: 0, hunks: [], note: "binary" }],
    index: 1,
    count: 1,
  };
}

/** Asks, and answers with what was decided. */
const ASK: Script = async function* (context) {
  yield question(context, "c1");
  yield ended(context, { text: JSON.stringify(await context.decision("approval-c1")) });
};

test("a conversation: init, answers, results, clean end", async () => {
  await using app = await openTestApp([say("one"), say("two")]);
  const client = connect(app);
  expect(await client.control({ subtype: "initialize" })).toMatchObject({
    subtype: "success",
    response: { model: "scripted/stand-in", permission_mode: "standard", memfs_enabled: false },
  });
  await client.user("first");
  await client.waitFor(isResult);
  await client.user([{ type: "text", text: "second" }]);
  await client.end();
  expect(await client.exited).toBe(0);
  expect(client.lines[0]).toMatchObject({ subtype: "init" });
  expect(client.lines.filter(isResult)).toMatchObject([
    { subtype: "success", result: "one", usage: { total_tokens: 12, cost_usd: 0.001 }, run_ids: ["run-turn-1"] },
    { subtype: "success", result: "two" },
  ]);
  expect(app.engine.inputs).toMatchObject([
    { content: "first", approver: "front_end" },
    { content: [{ type: "text", text: "second" }] },
  ]);
  for (const line of client.lines) expect(v.parse(OutputLineSchema, line)).toEqual(line as never);
});

test("messages that arrive during a turn become one turn", async () => {
  const gate = Promise.withResolvers<void>();
  const slow: Script = async function* (context) {
    yield textDelta(context, "busy");
    await gate.promise;
    yield ended(context, { text: "done" });
  };
  await using app = await openTestApp([slow, say("both")]);
  const client = connect(app);
  await client.user("one");
  await client.waitFor(({ message_type }) => message_type === "assistant_message");
  await client.user("two");
  await client.send({ type: "user", message: { content: "three" }, uuid: "mine" });
  await client.waitFor(({ client_message_id }) => client_message_id === "mine");
  gate.resolve();
  await client.end();
  expect(await client.exited).toBe(0);
  expect(app.engine.inputs.map(({ content }) => content)).toEqual(["one", "two\nthree"]);
  expect(
    client.lines
      .filter(({ type }) => type.startsWith("queue_"))
      .map(({ type, queue_len, merged_count }) => [type, queue_len ?? merged_count]),
  ).toEqual([
    ["queue_item_enqueued", 1],
    ["queue_batch_dequeued", 1],
    ["queue_item_enqueued", 1],
    ["queue_blocked", 1],
    ["queue_item_enqueued", 2],
    ["queue_batch_dequeued", 2],
  ]);
});

test.each([
  [{ behavior: "allow" }, { behavior: "allow" }],
  [
    { behavior: "allow", updatedInput: { a: 1 }, message: "fine" },
    { behavior: "allow", updatedArgs: { a: 1 }, comment: "fine" },
  ],
  [
    { behavior: "allow", updatedPermissions: [{ rule: "Write", scope: "session" }] },
    { behavior: "allow", addRules: [{ rule: "Write", scope: "session", description: "" }] },
  ],
  [
    { behavior: "deny", message: "no", interrupt: true },
    { behavior: "deny", reason: "no", interrupt: true },
  ],
  [{ behavior: "deny" }, { behavior: "deny" }],
  [{ verdict: "sure" }, { behavior: "deny", reason: "Invalid response format" }],
])("can_use_tool answered %j", async (reply, decision) => {
  await using app = await openTestApp([ASK]);
  const client = connect(app);
  await client.user("go");
  const request = await client.waitFor(({ type }) => type === "control_request");
  expect(request).toMatchObject({
    request_id: "perm-c1",
    session_id: expect.stringMatching(/^agent-/),
    request: {
      subtype: "can_use_tool",
      tool_name: "Write",
      input: { file_path: "/etc/hosts", content: "x" },
      blocked_path: "/etc/hosts",
      permission_suggestions: [{ rule: "Write(/etc/**)", scope: "session", description: "all of /etc" }],
      diffs: [{ mode: "unpreviewable", fileName: "/etc/hosts", reason: "binary" }],
    },
  });
  await client.reply("perm-c1", reply);
  const result = await client.waitFor(isResult);
  expect(JSON.parse(String(result.result))).toEqual(decision);
  await client.end();
  expect(await client.exited).toBe(0);
});

test("several questions are open at once and answered in any order", async () => {
  const script: Script = async function* (context) {
    for (const id of ["a", "b", "c"]) yield question(context, id);
    const decisions = await Promise.all(["a", "b", "c"].map((id) => context.decision(`approval-${id}`)));
    yield ended(context, { text: decisions.map(({ behavior }) => behavior).join(" ") });
  };
  await using app = await openTestApp([script]);
  const client = connect(app);
  await client.user("go");
  await client.waitFor(({ request_id }) => request_id === "perm-c");
  await client.reply("perm-c", { behavior: "allow" });
  await client.reply("perm-a", { behavior: "deny" });
  await client.reply("perm-b", { behavior: "allow" });
  expect(await client.waitFor(isResult)).toMatchObject({ result: "deny allow allow" });
  await client.end();
  await client.exited;
});

test("a client that goes away denies what is open, and the queue is still finished", async () => {
  await using app = await openTestApp([ASK, say("after")]);
  const client = connect(app);
  await client.user("go");
  await client.waitFor(({ type }) => type === "control_request");
  await client.user("more");
  await client.end();
  expect(await client.exited).toBe(0);
  const results = client.lines.filter(isResult);
  expect(JSON.parse(String(results[0]!.result))).toEqual({
    behavior: "deny",
    reason: "The client has closed its input.",
  });
  expect(results[1]).toMatchObject({ result: "after" });
  expect(app.engine.inputs[1]).toMatchObject({ approver: "nobody" });
});

test("interrupt ends the running turn, withdraws its question and is always a success", async () => {
  const script: Script = async function* (context) {
    yield question(context, "c1");
    await context.aborted;
    yield ended(context, { status: "interrupted", stopReason: "cancelled" });
  };
  await using app = await openTestApp([script, say("next")]);
  const client = connect(app);
  expect(await client.control({ subtype: "interrupt" })).toMatchObject({ subtype: "success" });
  await client.user("go");
  await client.waitFor(({ type }) => type === "control_request");
  expect(await client.control({ subtype: "interrupt" })).toMatchObject({ subtype: "success" });
  expect(await client.waitFor(isResult)).toMatchObject({ subtype: "interrupted", stop_reason: "cancelled" });
  expect(await client.waitFor(({ type }) => type === "control_cancel_request")).toMatchObject({
    request_id: "perm-c1",
  });
  await client.user("again");
  await client.end();
  expect(await client.exited).toBe(0);
  expect(client.lines.at(-1)).toMatchObject({ type: "result", result: "next" });
});

test("external tools run in parallel at the client", async () => {
  const script: Script = async function* (context) {
    const tool = app.tools.find("lookup_order")!;
    const run = async (id: string) => {
      const result = await tool.run(tool.parse({ id }), {
        agentId: null,
        conversationId: "c",
        turnId: context.turnId,
        toolCallId: id,
        cwd: app.cwd,
        signal: context.signal,
        services: app.services,
        onOutput: () => {},
      });
      return typeof result === "string" ? result : `${result.status}:${JSON.stringify(result.output)}`;
    };
    yield ended(context, { text: (await Promise.all([run("1"), run("2")])).join(" ") });
  };
  await using app = await openTestApp([script]);
  const client = connect(app);
  const parameters = { type: "object", properties: { id: { type: "string" } } };
  const registered = await client.control({
    subtype: "register_external_tools",
    tools: [{ name: "lookup_order", description: "Finds an order", parameters }],
  });
  expect(registered).toMatchObject({ response: { registered: 1 } });
  expect(app.tools.find("lookup_order")).toMatchObject({ description: "Finds an order", parameters });
  await client.user("go");
  await client.waitFor(({ request_id }) => request_id === "ext-1");
  const second = await client.waitFor(({ request_id }) => request_id === "ext-2");
  expect(second.request).toEqual({
    subtype: "execute_external_tool",
    tool_call_id: "2",
    tool_name: "lookup_order",
    input: { id: "2" },
  });
  const answer = (id: string, text: string, is_error: boolean) =>
    client.send({
      type: "control_response",
      response: {
        subtype: "external_tool_result",
        request_id: `ext-${id}`,
        tool_call_id: id,
        content: [{ type: "text", text }],
        is_error,
      },
    });
  await answer("2", "lost", true);
  await answer("1", "shipped", false);
  expect(await client.waitFor(isResult)).toMatchObject({ result: 'success:"shipped" error:"lost"' });
  await client.end();
  await client.exited;
});

test("model and permission mode change for the turns that follow", async () => {
  await using app = await openTestApp([say("ok")]);
  const client = connect(app);
  expect(await client.control({ subtype: "set_model", model: "nope/x" })).toMatchObject({ subtype: "error" });
  expect(await client.control({ subtype: "set_model", model: "scripted/stand-in" })).toMatchObject({
    response: { model: "scripted/stand-in" },
  });
  expect(await client.control({ subtype: "set_permission_mode", mode: "plan" })).toMatchObject({
    response: { mode: "plan" },
  });
  expect(app.permissions.mode).toBe("plan");
  await client.user("go");
  await client.end();
  await client.exited;
  expect(app.engine.inputs[0]).toMatchObject({ model: "scripted/stand-in" });
});

test("history, state and context usage", async () => {
  await using app = await openTestApp([
    async function* (context) {
      const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2, step_count: 1, context_tokens: 50_000 };
      yield { type: "step_finished", turnId: context.turnId, runId: "r", stopReason: "end_turn", usage };
      yield ended(context, { text: "ok" });
    },
  ]);
  const client = connect(app);
  expect(await client.control({ subtype: "get_context_usage" })).toMatchObject({
    response: { context_tokens: null, context_window: 200_000, percent: null },
  });
  expect(await client.control({ subtype: "list_messages", limit: 5 })).toMatchObject({
    response: { messages: [], next_before: null, has_more: false },
  });
  expect(await client.control({ subtype: "bootstrap_session_state" })).toMatchObject({
    response: { model: "scripted/stand-in", messages: [], has_pending_approval: false },
  });
  expect(await client.control({ subtype: "recover_pending_approvals" })).toMatchObject({
    response: { recovered: true, pending_approval: false, approvals_processed: 0 },
  });
  await client.user("go");
  await client.waitFor(isResult);
  expect(await client.control({ subtype: "get_context_usage" })).toMatchObject({
    response: { context_tokens: 50_000, percent: 25 },
  });
  await client.end();
  await client.exited;
});

test.each([
  ["not json", "Invalid JSON input"],
  ['{"type":"telepathy"}', "Unknown message type: telepathy"],
  ["[1]", "Unknown message type: undefined"],
  ['{"type":"user","message":{"content":7}}', /^Invalid user message: message\.content: /],
  ['{"type":"user","message":{"content":" "}}', "Invalid user message: content is empty"],
  ['{"type":"control_request","request":{}}', /^Invalid control request: /],
])("%s is an error line, and the process goes on", async (line, message) => {
  await using app = await openTestApp([say("ok")]);
  const client = connect(app);
  await client.send(line);
  await client.send("");
  const error = await client.waitFor(({ type }) => type === "error");
  expect(error.message).toEqual(typeof message === "string" ? message : expect.stringMatching(message));
  await client.user("go");
  await client.end();
  expect(await client.exited).toBe(0);
  expect(client.lines.at(-1)).toMatchObject({ type: "result", result: "ok" });
});

test.each([
  [{ subtype: "foo" }, "Unknown control request subtype: foo"],
  [{ subtype: "list_messages", limit: -1 }, /^Invalid list_messages request: limit: /],
  [{ subtype: "recover_pending_approvals", agent_id: "other" }, /works with agent/],
])("control request %j is answered with an error", async (request, message) => {
  await using app = await openTestApp();
  const client = connect(app);
  expect(await client.control(request)).toMatchObject({
    subtype: "error",
    error: typeof message === "string" ? message : expect.stringMatching(message),
  });
  await client.end();
  expect(await client.exited).toBe(0);
});

test("a signal ends the turn, clears the queue and exits", async () => {
  const script: Script = async function* (context) {
    yield textDelta(context, "part");
    await context.aborted;
    yield ended(context, { status: "interrupted", stopReason: "cancelled", text: "part" });
  };
  await using app = await openTestApp([script]);
  const client = connect(app);
  await client.user("go");
  await client.waitFor(({ message_type }) => message_type === "assistant_message");
  await client.user("later");
  await client.waitFor(({ type }) => type === "queue_blocked");
  client.stop();
  expect(await client.exited).toBe(143);
  expect(client.lines.slice(-2)).toMatchObject([
    { type: "result", subtype: "interrupted", result: "part" },
    { type: "queue_cleared", reason: "shutdown", cleared_count: 1 },
  ]);
});

test("no input at all is a clean end", async () => {
  await using app = await openTestApp();
  const client = connect(app);
  await client.end();
  expect(await client.exited).toBe(0);
});

test("a message names the tools of its turn", async () => {
  await using app = await openTestApp([say("one"), say("two")]);
  const client = connect(app);
  const tool = { name: "lookup", description: "Looks up", parameters: { type: "object" } };
  await client.send({
    type: "control_request",
    request_id: "r",
    request: { subtype: "register_external_tools", tools: [tool] },
  });
  await client.send({
    type: "user",
    message: { content: "first" },
    client_toolset: { base: "codex", include: ["lookup", "Read"] },
    client_tool_allowlist: ["lookup", "someone_elses"],
    exclude_interactive_tools: true,
  });
  await client.waitFor(isResult);
  await client.send({ type: "user", message: { content: "bad" }, client_toolset: { include: ["Raed"] } });
  await client.waitFor(({ message }) => message === "Invalid user message: client_toolset.include names no tool: Raed");
  await client.send({ type: "user", message: { content: "bad" }, client_toolset: { base: "codec" } });
  await client.waitFor(({ message }) => String(message).startsWith("Invalid user message: client_toolset.base"));
  await client.send({
    type: "user",
    message: { content: "second" },
    client_toolset: null,
    client_tool_allowlist: null,
  });
  await client.end();
  expect(await client.exited).toBe(0);
  expect(app.engine.inputs.map(({ content, tools }) => [content, tools])).toEqual([
    [
      "first",
      { toolset: "codex", include: ["lookup", "Read"], only: ["lookup", "someone_elses"], withoutQuestions: true },
    ],
    ["second", undefined],
  ]);
});
