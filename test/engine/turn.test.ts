import { expect, test } from "bun:test";
import type { ApprovalItem } from "@/backend/wire.ts";
import { LAST_TURN } from "@/engine/turn.ts";
import { ToolError } from "@/lib/errors.ts";
import { createClientState } from "@/store/client-state.ts";
import { createLeases } from "@/store/leases.ts";
import { call, FakeModel, fail, Gate, message, reply, say } from "../support/fake-model.ts";
import { harness, play, tools, types } from "./harness.ts";

/** The tool results of the last request, as the model read them. */
const resultsSeen = (model: FakeModel) =>
  model.requests
    .at(-1)!
    .messages.filter((m) => m.role === "toolResult")
    .map((m) => m.content.map((part) => (part.type === "text" ? part.text : "[image]")).join(""));

test("a plain answer is one step and ends with turn_ended", async () => {
  const h = await harness(new FakeModel([say("Hello there")]));
  const { events, result } = await play(h.engine, h.input());
  expect(types(events)).toEqual([
    "turn_started",
    "step_started",
    "text_delta",
    "text_delta",
    "step_finished",
    "turn_ended",
  ]);
  expect(result).toMatchObject({ status: "completed", stopReason: "end_turn", text: "Hello there", steps: 1 });
  expect(result.error).toBeUndefined();
});

test("tools run, results go back in call order, the turn goes on", async () => {
  const model = new FakeModel([reply([call("a", "Free", { n: 1 }), call("b", "Free", { n: 2 })]), say("both done")]);
  const h = await harness(
    model,
    tools(async ({ n }) => `result ${n}`),
  );
  const { events, result } = await play(h.engine, h.input());
  expect(resultsSeen(model)).toEqual(["result 1", "result 2"]);
  expect(events.filter((e) => e.type === "tool_call").length).toBe(2);
  expect(result).toMatchObject({ status: "completed", text: "both done", steps: 2 });
  expect(h.journal.openCalls(h.conversationId)).toEqual([]);
});

test("a denied, a refused and an approved call of one batch each get their own answer", async () => {
  const model = new FakeModel([reply([call("a", "Never", {}), call("b", "Ask", {}), call("c", "Ask", {})]), say("ok")]);
  const h = await harness(model);
  const { events, result } = await play(h.engine, h.input(), ({ index }) =>
    index === 2 ? { behavior: "deny", reason: "not now" } : { behavior: "allow", comment: "fine" },
  );
  expect(resultsSeen(model)).toEqual([
    "Permission denied by rule: Never",
    "Error: request to call tool denied. User reason: not now",
    "fine\n\ndone",
  ]);
  expect(result.deniedTools.map((d) => d.tool)).toEqual(["Never", "Ask"]);
  expect(events.filter((e) => e.type === "approval_requested").map((e) => [e.index, e.count])).toEqual([
    [2, 3],
    [3, 3],
  ]);
});

test("a rule added by one answer decides the rest of the batch", async () => {
  const model = new FakeModel([reply([call("a", "Ask", {}), call("b", "Ask", {})]), say("ok")]);
  const h = await harness(model);
  const { events } = await play(h.engine, h.input(), (event) => ({ behavior: "allow", addRules: event.suggestions }));
  expect(events.filter((e) => e.type === "approval_requested").length).toBe(1);
  expect(events.filter((e) => e.type === "auto_decided").length).toBe(1);
  expect(resultsSeen(model)).toEqual(["done", "done"]);
});

test("without anybody to ask, asking means denial that names the way out", async () => {
  const model = new FakeModel([reply([call("a", "Ask", {})]), say("I was not allowed")]);
  const h = await harness(model);
  const { result, events } = await play(h.engine, h.input({ approver: "nobody" }));
  expect(events.find((e) => e.type === "auto_decided")).toMatchObject({ behavior: "deny", allowFlag: "--yolo" });
  expect(resultsSeen(model)).toEqual([
    "Tool requires approval (headless mode): Ask asks. It would be allowed with --yolo.",
  ]);
  expect(result.status).toBe("completed");
});

test("updated arguments are what runs, and are checked again", async () => {
  const seen: unknown[] = [];
  const model = new FakeModel([reply([call("a", "Ask", { n: 1 }), call("b", "Ask", { n: 1 })]), say("ok")]);
  const h = await harness(
    model,
    tools(async (args) => {
      seen.push(args);
      return "done";
    }),
  );
  await play(h.engine, h.input(), ({ index }) => ({
    behavior: "allow",
    updatedArgs: index === 1 ? { n: 7 } : { wrong: true },
  }));
  expect(seen).toEqual([{ n: 7 }]);
  expect(resultsSeen(model)[1]).toContain("wrong");
});

test.each([
  ["an unknown tool", call("a", "Nope", {}), "Unknown tool Nope. Available tools: Free, Ask, Never."],
  ["a wrong argument", call("a", "Free", { m: 1 }), "m"],
  [
    "arguments that did not arrive whole",
    { ...call("a", "Free", {}), argumentsError: '{"n": 1' },
    "did not arrive as a complete JSON object",
  ],
  [
    "arguments nested without end",
    { ...call("a", "Free", {}), argumentsError: `${'{"n":'.repeat(50_000)}1${"}".repeat(50_000)}` },
    "did not arrive as a complete JSON object",
  ],
] as const)("%s is answered and not executed", async (_, toolCall, text) => {
  let runs = 0;
  const model = new FakeModel([reply([toolCall]), say("ok")]);
  const h = await harness(
    model,
    tools(async () => {
      runs += 1;
      return "done";
    }),
  );
  const { events, result } = await play(h.engine, h.input());
  expect(resultsSeen(model)[0]).toContain(text);
  expect(runs).toBe(0);
  expect(events.find((e) => e.type === "tool_finished")).toMatchObject({
    result: { outcome: "invalid", status: "error" },
  });
  expect(result.status).toBe("completed");
});

test("a tool's own error is read by the model; a bug is logged and shown as one line", async () => {
  const model = new FakeModel([reply([call("a", "Free", { n: 1 }), call("b", "Free", { n: 2 })]), say("ok")]);
  const h = await harness(
    model,
    tools(async ({ n }) => {
      if (n === 1) throw new ToolError("no such file");
      throw new TypeError("x is undefined");
    }),
  );
  await play(h.engine, h.input());
  expect(resultsSeen(model)).toEqual(["no such file", "Error executing tool: x is undefined"]);
  expect(h.bugs.length).toBe(1);
});

test("a failure that may pass is asked again within one visible budget; the user's message is stored once", async () => {
  const model = new FakeModel([
    fail("provider", { retryable: true, retryAfterMs: 1, status: 529 }),
    fail("rate_limit", { retryable: true, retryAfterMs: 1, status: 429 }),
    say("made it"),
  ]);
  const h = await harness(model);
  const { events, result } = await play(h.engine, h.input());
  expect(events.filter((e) => e.type === "retry").map((e) => [e.attempt, e.code, e.delayMs])).toEqual([
    [1, "provider", 1],
    [2, "rate_limit", 1],
  ]);
  expect(result).toMatchObject({ status: "completed", text: "made it" });
  expect(model.requests.at(-1)!.messages.filter((m) => m.role === "user").length).toBe(1);
});

test("a final failure is named at once, with its hint", async () => {
  const h = await harness(new FakeModel([fail("auth", { status: 401, hint: "letta connect fake" })]));
  const { events, result } = await play(h.engine, h.input());
  expect(types(events)).not.toContain("retry");
  expect(result).toMatchObject({
    status: "failed",
    error: { code: "auth", status: 401, hint: "letta connect fake", retryable: false },
  });
});

test("after text a cut stream is continued, not repeated: nothing lost, nothing doubled", async () => {
  const cut = fail("stream_cut", { retryable: true, retryAfterMs: 1 });
  const partial = message([{ type: "text", text: "One, two," }], { stopReason: "error" });
  const first = [
    { type: "text" as const, index: 0, delta: "One, two," },
    { ...cut[0]!, partial },
  ];
  const model = new FakeModel([first as never, say(" three.")]);
  const h = await harness(model);
  const { result } = await play(h.engine, h.input());
  expect(result).toMatchObject({ status: "completed", text: "One, two, three." });
  const sent = JSON.stringify(model.requests.at(-1)!.messages);
  expect(sent).toContain("One, two,");
  expect(sent).toContain("Continue exactly where it stops");
});

test("an empty first reply is asked for again, the last time with a reason", async () => {
  const model = new FakeModel([reply([]), reply([]), say("here")]);
  const h = await harness(model);
  const { result } = await play(h.engine, h.input());
  expect(result.text).toBe("here");
  expect(JSON.stringify(model.requests.at(-1)!.messages)).toContain("Your reply was empty");
});

test("max turns stops a looping model before it runs what nobody will see", async () => {
  let runs = 0;
  const loop = () => reply([call(crypto.randomUUID(), "Free", {})]);
  const h = await harness(
    new FakeModel([loop(), loop(), loop()]),
    tools(async () => {
      runs += 1;
      return "again";
    }),
  );
  const { result } = await play(h.engine, h.input({ limits: { maxTurns: 2 } }));
  expect(result).toMatchObject({ status: "limit", stopReason: "max_steps", steps: 2, error: { code: "limit" } });
  expect(runs).toBe(1);
});

test("a turn that finishes in exactly the allowed steps is a success", async () => {
  const h = await harness(new FakeModel([say("one step")]));
  const { result } = await play(h.engine, h.input({ limits: { maxTurns: 1 } }));
  expect(result.status).toBe("completed");
});

test.each([
  ["cost", { maxCostUsd: 0.01 }, "Cost budget used up"],
  ["tokens", { maxTokens: 10 }, "Token budget used up"],
] as const)("a %s budget binds before the next model call", async (_, limits, text) => {
  const usage = { input: 10, output: 5, cacheRead: 0, cacheWrite: 0, totalTokens: 15, costUsd: 0.02 };
  const h = await harness(new FakeModel([reply([call("a", "Free", {})], { usage }), say("never sent")]));
  const { result } = await play(h.engine, h.input({ limits }));
  expect(result).toMatchObject({ status: "limit", error: { code: "limit" } });
  expect(result.error?.message).toContain(text);
});

test("time runs out in the middle of an answer: what was said is kept", async () => {
  const gate = new Gate();
  const [first, second, ...rest] = say("Once upon a time");
  const h = await harness(new FakeModel([[first!, gate, second!, ...rest]]));
  const { result } = await play(h.engine, h.input({ limits: { timeoutMs: 50 } }));
  expect(result).toMatchObject({ status: "limit", text: "Once upo", error: { code: "limit" } });
});

test("abort during a tool interrupts it; the finished neighbour's result is not lost", async () => {
  const started = Promise.withResolvers<void>();
  const run = async ({ n }: { n?: number }, { signal }: { signal: AbortSignal }) => {
    if (n === 1) return "finished";
    started.resolve();
    await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
    throw signal.reason;
  };
  const model = new FakeModel([reply([call("a", "Free", { n: 1 }), call("b", "Free", { n: 2 })]), say("I see")]);
  const h = await harness(model, tools(run));
  const turn = h.engine.submit(h.input());
  void started.promise.then(() => turn.abort());
  const events = await Array.fromAsync(turn.events);
  expect(events.at(-1)).toMatchObject({
    type: "turn_ended",
    result: { status: "interrupted", stopReason: "cancelled" },
  });

  const next = await play(h.engine, h.input({ content: "what happened?" }));
  expect(resultsSeen(model)).toEqual(["finished", "Interrupted by user"]);
  expect(next.result.text).toBe("I see");
  expect(JSON.stringify(model.requests.at(-1)!.messages)).toContain("The user interrupted the previous turn");
});

test("a person may deny and stop: the rest of the batch is not asked", async () => {
  const h = await harness(new FakeModel([reply([call("a", "Ask", {}), call("b", "Ask", {})])]));
  const { events, result } = await play(h.engine, h.input(), () => ({ behavior: "deny", interrupt: true }));
  expect(events.filter((e) => e.type === "approval_requested").length).toBe(1);
  expect(result.status).toBe("interrupted");
});

test("what is said meanwhile goes along with the next results", async () => {
  const model = new FakeModel([reply([call("a", "Free", {})]), say("both")]);
  const h = await harness(
    model,
    tools(async () => {
      turn.steer("and hurry");
      return "done";
    }),
  );
  const turn = h.engine.submit(h.input());
  await Array.fromAsync(turn.events);
  const roles = model.requests.at(-1)!.messages.map((m) => m.role);
  expect(roles).toEqual(["user", "assistant", "toolResult", "user"]);
  expect(JSON.stringify(model.requests.at(-1)!.messages.at(-1))).toContain("and hurry");
});

test("a second turn of one conversation is told at once who is busy", async () => {
  const gate = new Gate();
  const h = await harness(new FakeModel([[gate, ...say("first")], say("second")]));
  const first = h.engine.submit(h.input());
  const finished = Array.fromAsync(first.events);
  await gate.arrived;
  const { result } = await play(h.engine, h.input({ content: "me too" }));
  expect(result).toMatchObject({ status: "failed", error: { code: "busy" } });
  expect(result.error?.message).toContain(String(process.pid));
  gate.open();
  await finished;
  expect((await play(h.engine, h.input({ content: "now?" }))).result.text).toBe("second");
});

test("a front end that leaves stops the turn", async () => {
  const gate = new Gate();
  const model = new FakeModel([[...say("hello").slice(0, 1), gate]]);
  const h = await harness(model);
  for await (const event of h.engine.submit(h.input()).events) if (event.type === "text_delta") break;
  await gate.arrived;
  expect(model.signals[0]!.aborted).toBe(true);
});

const item = (toolCallId: string): ApprovalItem => ({
  type: "tool",
  tool_call_id: toolCallId,
  status: "success",
  tool_return: "from the journal",
});

/** A conversation whose reply asked for three tools, left as a killed process leaves it. */
async function killedTurn() {
  const model = new FakeModel([reply([call("a", "Free", {}), call("b", "Free", {}), call("c", "Free", {})])]);
  const h = await harness(model);
  const ref = { agentId: h.agentId, conversationId: h.conversationId };
  const body = { messages: [{ type: "message" as const, role: "user" as const, content: "do three things" }] };
  const chunks = await Array.fromAsync(h.backend.sendMessages(ref, body));
  const ids = chunks.flatMap((c) => (c.message_type === "approval_request_message" ? [c.tool_call.tool_call_id] : []));
  return { model, h, ids };
}

test("what a killed process left is answered truthfully and never run again", async () => {
  const { model, h, ids } = await killedTurn();
  const [a, b] = ids as [string, string, string];
  h.journal.record(
    ids.map((toolCallId) => ({
      conversationKey: h.conversationId,
      turnId: "old",
      toolCallId,
      tool: "Free",
      argumentsText: "{}",
    })),
  );
  h.journal.setState(h.conversationId, a, "done", item(a));
  h.journal.setState(h.conversationId, b, "running");
  createClientState(h.db).set(h.conversationId, LAST_TURN, "running");
  model.add(say("I know where we are"));
  const { events, result } = await play(h.engine, h.input({ content: "go on" }));
  expect(resultsSeen(model)[0]).toBe("from the journal");
  expect(resultsSeen(model)[1]).toContain("outcome is unknown");
  expect(resultsSeen(model)[2]).toContain("was not run");
  expect(events.filter((e) => e.type === "recovery").length).toBe(3);
  expect(types(events)).not.toContain("tool_started");
  expect(JSON.stringify(model.requests.at(-1)!.messages)).toContain("ended before the turn was finished");
  expect(result.text).toBe("I know where we are");
  expect(h.journal.openCalls(h.conversationId)).toEqual([]);
});

test("calls nobody journalled, and results the backend already has, are settled too", async () => {
  const { model, h, ids } = await killedTurn();
  h.journal.record([
    { conversationKey: h.conversationId, turnId: "old", toolCallId: "gone", tool: "Free", argumentsText: "{}" },
  ]);
  model.add(say("ok"));
  await play(h.engine, h.input({ content: null }));
  expect(resultsSeen(model).length).toBe(ids.length);
  expect(h.journal.openCalls(h.conversationId)).toEqual([]);
});

test("a turn that was stopped and lost its conversation runs nothing more and writes nothing", async () => {
  const ran: number[] = [];
  const model = new FakeModel([reply([call("a", "Free", { n: 1 }), call("b", "Free", { n: 2 })])]);
  const h = await harness(
    model,
    tools(async ({ n = 0 }) => {
      ran.push(n);
      // What another process does while this one is stopped for too long: it takes the lease.
      h.db.run("UPDATE leases SET fence = fence + 1");
      createClientState(h.db).set(h.conversationId, LAST_TURN, "theirs");
      return "done";
    }),
  );
  const { events, result } = await play(h.engine, h.input());
  expect(result).toMatchObject({ status: "failed", error: { code: "lease_lost" } });
  expect(ran).toEqual([1]);
  expect(types(events).filter((type) => type === "tool_started")).toEqual(["tool_started"]);
  expect(h.journal.openCalls(h.conversationId).map(({ state }) => state)).toEqual(["running", "approved"]);
  expect(createClientState(h.db).find(h.conversationId, LAST_TURN)).toBe("theirs");
});

test("the end of a turn is told once, when its conversation is free again; a turn that never began is none", async () => {
  const h = await harness(new FakeModel([say("Yes"), fail("auth")]));
  await play(h.engine, h.input());
  await play(h.engine, h.input());
  const attempt = createLeases(h.db).tryAcquire(h.conversationId, "other");
  if (attempt.status !== "acquired") throw new Error("the conversation is not free");
  await play(h.engine, h.input());
  attempt.lease.release();
  const { agentId, conversationId } = h;
  expect(h.ended).toEqual([
    { agentId, conversationId, isCompleted: true, compactions: [] },
    { agentId, conversationId, isCompleted: false, compactions: [] },
  ]);
});
