import { expect, test } from "bun:test";
import { lazyAdapter } from "@/backend/lazy-adapter.ts";
import { createLocalBackend } from "@/backend/local/local-backend.ts";
import type { ModelEvent } from "@/backend/model.ts";
import { createLeases } from "@/store/leases.ts";
import { call, FakeModel, fail, Gate, reply, say } from "../../support/fake-model.ts";
import { answers, brief, collect, user } from "../contract.ts";
import { setup } from "./setup.ts";

test("the user's words are stored before the model hears of them", async () => {
  const { db, model, send } = await setup();
  let storedFirst: unknown;
  model.add((_request) => {
    storedFirst = db.query("SELECT count(*) AS n FROM messages WHERE role = 'user'").get();
    return say("hi");
  });
  await send(user("hello"));
  expect(storedFirst).toEqual({ n: 1 });
});

test("a reply is stored before anybody is told of its calls, in another process's view too", async () => {
  const { another, backend, model, ref } = await setup();
  model.add(reply([{ type: "text", text: "look" }, call("a")]));
  const other = another();
  const seen: string[][] = [];
  for await (const chunk of backend.sendMessages(ref, { messages: [user("go")] })) {
    if (chunk.message_type === "approval_request_message" || chunk.message_type === "stop_reason") {
      seen.push((await other.resumeTail(ref, 10)).pendingToolCallIds);
      expect((await other.listMessages(ref)).items.map(brief)[1]).toBe("assistant: look");
    }
  }
  expect(seen).toEqual([["a"], ["a"]]);
});

test("two requests in a row share their prefix byte for byte", async () => {
  const { backend, model, ref } = await setup();
  const body = {
    client_tools: [{ name: "Bash", description: "d", parameters: { type: "object", properties: {} } }],
    client_skills: [{ name: "web/scraper", description: "Scrapes\nmore", location: "/s/web/scraper/SKILL.md" }],
  };
  model.add(
    reply([{ type: "thinking", thinking: "t", thinkingSignature: "sig" }, { type: "text", text: "look" }, call("a")]),
    say("done"),
    [{ type: "text", index: 0, delta: "cut he" }, ...fail("provider", { retryable: true })],
    say("again"),
    say("last"),
  );
  for (const messages of [
    [user("one", "o1")],
    [answers(["a"])],
    [user("two", "o2")],
    [user("two", "o2")],
    [user("three")],
  ]) {
    await collect(backend.sendMessages(ref, { messages, ...body }));
  }
  for (let index = 1; index < model.requests.length; index++) {
    const [before, after] = [model.requests[index - 1]!, model.requests[index]!];
    expect(after.system).toBe(before.system);
    expect(JSON.stringify(after.tools)).toBe(JSON.stringify(before.tools));
    expect(JSON.stringify(after.messages.slice(0, before.messages.length))).toBe(JSON.stringify(before.messages));
    expect(after.sessionId).toBe(before.sessionId);
  }
  expect(model.requests[0]?.system).toBe(
    "You are Ada.\n\n<available_skills>\n/s\n- web/\n  - scraper (Scrapes)\n</available_skills>",
  );
  expect(model.requests.at(-1)?.messages.map((item) => item.role)).toEqual([
    "user",
    "assistant",
    "toolResult",
    "assistant",
    "user",
    "assistant",
    "user",
  ]);
});

test("signatures come back to the model verbatim", async () => {
  const { model, send } = await setup();
  const content = [
    { type: "thinking" as const, thinking: "t", thinkingSignature: "sig/+=\n\u0000", redacted: true },
    { type: "text" as const, text: "x", textSignature: '{"id":"1"}' },
    { ...call("a"), thoughtSignature: "AbC==" },
  ];
  model.add(reply(content), say("done"));
  await send(user("go"));
  await send(answers(["a"]));
  expect(model.requests[1]?.messages[1]?.content).toEqual(content);
});

test("without a model the words are kept and the way out is named", async () => {
  const { model, send, history, backend, ref } = await setup({ model: "" });
  model.default = null;
  const chunks = await send(user("hello"));
  expect(chunks.map(brief)).toEqual(["error: no_provider", "stop: llm_api_error", "usage_statistics"]);
  expect(chunks[0]).toMatchObject({ hint: expect.stringContaining("letta connect"), retryable: false });
  expect(await history()).toEqual(["user: hello"]);
  model.default = "fake/first";
  model.add(say("here"));
  await collect(backend.sendMessages(ref, { messages: [] }));
  expect(model.requests[0]).toMatchObject({ handle: "fake/first", messages: [{ role: "user", content: "hello" }] });
});

test("providers that cannot be loaded are an error of the run, and are loaded again next time", async () => {
  const { db, ref } = await setup();
  const model = new FakeModel([say("hi")]);
  let attempts = 0;
  const backend = createLocalBackend({
    db,
    models: lazyAdapter(async () => {
      attempts++;
      if (attempts === 1) throw new Error("chunk missing");
      return model;
    }),
  });
  const first = await collect(backend.sendMessages(ref, { messages: [user("x")] }));
  expect(first.map(brief)).toEqual(["error: local_backend_error", "stop: error", "usage_statistics"]);
  const second = await collect(backend.sendMessages(ref, { messages: [] }));
  expect(second.map(brief)).toContain("stop: end_turn");
  expect(attempts).toBe(2);
});

test.each([
  ["a stream without an end", [{ type: "text", index: 0, delta: "half" } as ModelEvent], "llm_stream_cut"],
  ["a broken stream", [{ type: "text", index: 0, delta: "half" } as ModelEvent, ...fail("network")], "llm_network"],
] as const)("%s keeps what arrived", async (_name, steps, errorType) => {
  const { model, send, history } = await setup();
  model.add([...steps]);
  const chunks = await send(user("go"));
  expect(chunks.map(brief)).toEqual([
    "assistant: half",
    `error: ${errorType}`,
    "stop: llm_api_error",
    "usage_statistics",
  ]);
  expect(await history()).toEqual(["user: go", "assistant (interrupted): half"]);
});

test("a reader who leaves ends the run and the request", async () => {
  const { backend, model, ref, history } = await setup();
  model.add([{ type: "text", index: 0, delta: "one" }, { type: "text", index: 0, delta: "two" }, new Gate()]);
  for await (const chunk of backend.sendMessages(ref, { messages: [user("go")] })) {
    if (brief(chunk) === "assistant: one") break;
  }
  expect(model.signals[0]?.aborted).toBe(true);
  expect(await history()).toEqual(["user: go", "assistant (interrupted): one"]);
  expect(await backend.listRuns(ref)).toMatchObject([{ status: "cancelled" }]);
});

test("an adapter that ignores its signal does not hold the run", async () => {
  const { backend, model, ref } = await setup();
  const gate = new Gate();
  model.stream = async function* () {
    yield { type: "text", index: 0, delta: "stuck" } as ModelEvent;
    await gate.pass(new AbortController().signal);
  };
  const stream = collect(backend.sendMessages(ref, { messages: [user("go")] }));
  await gate.arrived;
  await backend.cancelConversation(ref);
  expect((await stream).map(brief)).toEqual(["assistant: stuck", "stop: cancelled", "usage_statistics"]);
});

test("a send with a lost fence is refused, before and during the run", async () => {
  const { db, send, sendWith, model, ref, history, another } = await setup();
  const leases = createLeases(db);
  const key = ref.conversationId;
  const first = leases.tryAcquire(key, "first");
  if (first.status !== "acquired") throw new Error("busy");
  const { fence } = first.lease;
  model.add(say("one"));
  await sendWith({ fence }, user("with the lease"));

  const gate = new Gate();
  model.add([{ type: "text", index: 0, delta: "old words" }, gate, ...say("never")]);
  const old = sendWith({ fence }, user("again"));
  await gate.arrived;
  // The holder is suspended; another process takes over and speaks.
  db.run("UPDATE leases SET heartbeat_at = '2000-01-01T00:00:00.000Z'");
  const second = leases.tryAcquire(key, "second");
  if (second.status !== "acquired") throw new Error("busy");
  const other = another({ models: new FakeModel([say("new words")]) });
  await collect(other.sendMessages(ref, { messages: [user("mine")] }, { fence: second.lease.fence }));
  gate.open();
  await expect(old).rejects.toMatchObject({ code: "lease_lost" });
  await expect(sendWith({ fence }, user("late"))).rejects.toMatchObject({ code: "lease_lost" });
  expect((await history()).filter((line) => line !== "assistant (interrupted): old words")).toEqual([
    "user: with the lease",
    "assistant: one",
    "user: again",
    "user: mine",
    "assistant: new words",
  ]);
  first.lease.release();
  second.lease.release();
  model.add(say("fine"));
  await send(user("end"));
});

test("a full disk during a run is a storage error, what was stored stays, and the run ends later", async () => {
  const { db, backend, model, ref, send, history } = await setup();
  const big = "x".repeat(300_000);
  model.add(() => {
    const { page_count: pages } = db.query("PRAGMA page_count").get() as { page_count: number };
    db.run(`PRAGMA max_page_count = ${pages + 3}`);
    return say(big);
  });
  await expect(send(user("go"))).rejects.toMatchObject({ code: "storage" });
  expect(await history()).toEqual(["user: go"]);
  db.run("PRAGMA max_page_count = 1000000");
  model.add(say("better"));
  await send(user("again"));
  expect((await history()).slice(-2)).toEqual(["user: again", "assistant: better"]);
  expect((await backend.listRuns(ref)).map((run) => run.status)).toEqual(["completed", "failed"]);
});

test("memory stays flat on a long answer", async () => {
  const { backend, model, ref } = await setup();
  const piece = "All work and no play. ".repeat(5); // 110 bytes
  const count = 50_000;
  model.stream = async function* () {
    for (let index = 0; index < count; index++) yield { type: "text", index: 0, delta: piece } as ModelEvent;
    yield {
      type: "done",
      message: {
        role: "assistant",
        content: [{ type: "text", text: piece.repeat(count) }],
        api: "",
        provider: "",
        model: "",
        usage: { input: 1, output: 1, cacheRead: 0, cacheWrite: 0, totalTokens: 2 },
        stopReason: "stop",
        timestamp: 0,
      },
    } as ModelEvent;
  };
  let length = 0;
  for await (const chunk of backend.sendMessages(ref, { messages: [user("go")] })) {
    if (chunk.message_type === "assistant_message") length += chunk.content.length;
  }
  expect(length).toBe(piece.length * count);
  const runId = (await backend.listRuns(ref))[0]?.id ?? "";
  let replayed = 0;
  for await (const chunk of backend.streamRun(runId)) {
    if (chunk.message_type === "assistant_message") replayed += chunk.content.length;
  }
  expect(replayed).toBe(length);
}, 30_000);

test("warns once when nobody knows the window", async () => {
  const model = new FakeModel([say("a"), say("b")], { max_context_window: null });
  const { send, warnings } = await setup({}, model);
  await send(user("x"));
  await send(user("y"));
  expect(warnings).toEqual([expect.stringContaining("The context window of fake/model is unknown")]);
});

test("a refused input does not bring an unfinished run back to life", async () => {
  const { db, backend, model, ref, send } = await setup();
  model.add(() => {
    const { page_count: pages } = db.query("PRAGMA page_count").get() as { page_count: number };
    db.run(`PRAGMA max_page_count = ${pages + 3}`);
    return say("x".repeat(300_000));
  });
  await expect(send(user("go"))).rejects.toMatchObject({ code: "storage" });
  db.run("PRAGMA max_page_count = 1000000");
  await expect(send(answers(["none"]))).rejects.toMatchObject({ code: "invalid_data" });
  model.add(say("fine"));
  await send(user("again"));
  expect((await backend.listRuns(ref)).map((run) => run.status)).toEqual(["completed", "failed"]);
});

test("odd text comes back as it was, and is found", async () => {
  const { model, send, backend, history } = await setup();
  const odd = "nul\0 then \u2028 \ud83d\ude00 \r\n tail";
  const half = "\ud83d";
  model.add([
    { type: "text", index: 0, delta: half },
    { type: "text", index: 0, delta: "\ude00" },
    ...say("\ud83d\ude00").slice(-1),
  ]);
  await send(user(odd));
  expect(await history()).toEqual([`user: ${odd}`, "assistant: \ud83d\ude00"]);
  expect((await backend.searchMessages({ query: "tail" })).length).toBe(1);
});

test("streams of old runs are dropped in time, messages stay", async () => {
  const { db, ref, history } = await setup();
  let nowMs = Date.parse("2030-01-01");
  const model = new FakeModel([say("one"), say("two")]);
  const backend = createLocalBackend({ db, models: model, now: () => nowMs });
  await collect(backend.sendMessages(ref, { messages: [user("a")] }));
  nowMs += 4 * 24 * 3_600_000;
  await collect(backend.sendMessages(ref, { messages: [user("b")] }));
  const [second, first] = await backend.listRuns(ref);
  expect(await collect(backend.streamRun(first?.id ?? ""))).toEqual([]);
  expect((await collect(backend.streamRun(second?.id ?? ""))).length).toBe(4);
  expect(await history()).toEqual(["user: a", "assistant: one", "user: b", "assistant: two"]);
});

test("a model of this request only is not trusted with the agent's window", async () => {
  const { model, backend, ref, warnings } = await setup({ context_window_limit: 500_000 });
  model.record.max_context_window = 1_000;
  const chunks = await collect(
    backend.sendMessages(ref, {
      messages: [user("x")],
      override_model: "fake/small",
      override_system: "word ".repeat(1_000),
    }),
  );
  expect(chunks[0]).toMatchObject({ message: expect.stringContaining("context window of fake/small is 1000 tokens") });
  expect(warnings).toEqual([]);
});
