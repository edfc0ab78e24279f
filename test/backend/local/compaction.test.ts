import { expect, test } from "bun:test";
import type { ModelEvent, ModelMessage, ModelRequest } from "@/backend/model.ts";
import type { ApprovalItem, StreamChunk } from "@/backend/wire.ts";
import { call, FakeModel, fail, Gate, reply, say } from "../../support/fake-model.ts";
import { answers, brief, collect, user } from "../contract.ts";
import { type Setup, setup } from "./setup.ts";

const small = { usage: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, totalTokens: 0 } };
const words = (tokens: number): string => "word".repeat(tokens);
const textOf = (messages: ModelMessage[] | undefined): string => JSON.stringify(messages);

/** Window of 10,000 tokens: compaction above 8,000. */
async function tight(agent = {}, model = new FakeModel([], { max_context_window: 10_000 })): Promise<Setup> {
  return setup(agent, model);
}

async function toolTurn({ model, send }: Setup, id: string, output: string): Promise<void> {
  model.add(reply([{ type: "text", text: `using ${id}` }, call(id, "Read", { file_path: `/src/${id}.ts` })], small));
  model.add(say(`did ${id}`, small));
  await send(user(`please ${id}`));
  await send({
    type: "approval",
    approvals: [{ type: "tool", tool_call_id: id, tool_return: output, status: "success" }],
  });
}

/** Every call in a request is directly followed by its results. */
function expectWhole(messages: ModelMessage[]): void {
  messages.forEach((message, index) => {
    if (message.role === "assistant") {
      const calls = message.content.filter((part) => part.type === "toolCall").map((part) => part.id);
      const results = messages.slice(index + 1, index + 1 + calls.length);
      expect(results.map((result) => (result.role === "toolResult" ? result.toolCallId : result.role))).toEqual(calls);
    }
  });
  const results = messages.filter((message) => message.role === "toolResult").length;
  const calls = messages.flatMap((message) =>
    message.role === "assistant" ? message.content.filter((part) => part.type === "toolCall") : [],
  );
  expect(results).toBe(calls.length);
}

const kinds = (chunks: StreamChunk[]): string[] => chunks.map((chunk) => brief(chunk).slice(0, 40));

test("old tool outputs become stubs first, without a model, and can be had back", async () => {
  const s = await tight();
  for (const id of ["a", "b", "c", "d"]) await toolTurn(s, id, words(1_900));
  s.model.add(say("fine", small));
  const chunks = await s.send(user(`next ${words(500)}`));
  expect(kinds(chunks).slice(0, 2)).toEqual(["event_message", "summary: Long messages, older tool outpu"]);
  expect(chunks[1]).toMatchObject({
    compaction_stats: { trigger: "context_window_limit", context_window: 10_000, messages_count_before: 17 },
  });
  const request = s.model.requests.at(-1)?.messages ?? [];
  expectWhole(request);
  expect(request.length).toBe(17);
  const stub = textOf(request.slice(2, 3));
  expect(stub).toContain("Output of Read left out to save space (7600 characters)");
  const id = /message (msg-[\w-]+)/.exec(stub)?.[1] ?? "";
  expect((await s.backend.retrieveMessage(id)).map(brief)[0]).toStartWith("return a success: wordword");
  // The history rows are untouched, and the window comes back.
  expect((await s.history())[3]).toBe(`return a success: ${words(1_900)}`);
  expect(await s.backend.undoCompaction(s.ref)).toBe(true);
  const forked = await s.backend.forkConversation(s.ref);
  s.model.add(say("SUMMARY", small), say("x", small));
  await collect(s.backend.sendMessages({ ...s.ref, conversationId: forked.id }, { messages: [user("y")] }));
});

test("a summary takes the place of what no longer fits; the newest messages stay as they are", async () => {
  const s = await tight();
  for (let turn = 0; turn < 6; turn++) {
    s.model.add(say(`answer ${turn} ${words(700)}`, small));
    await s.send(user(`question ${turn} ${words(700)}`));
  }
  s.model.add(say("THE SUMMARY", small), say("fine", small));
  const chunks = await s.send(user("next"));
  expect(kinds(chunks).slice(0, 2)).toEqual(["event_message", "summary: THE SUMMARY"]);
  const [summarising, request] = s.model.requests.slice(-2);
  expect(textOf(summarising?.messages)).toContain("question 0");
  expect(summarising?.tools).toEqual([]);
  const first = request?.messages[0];
  if (first?.role !== "user" || typeof first.content !== "string") throw new Error("no summary first");
  expect(JSON.parse(first.content)).toMatchObject({
    type: "system_alert",
    message: expect.stringContaining("THE SUMMARY"),
    compaction_stats: { trigger: "context_window_limit" },
  });
  expect(textOf(request?.messages)).toContain("answer 5");
  expect(textOf(request?.messages)).not.toContain("question 0");
  expect(textOf(request?.messages.slice(-1))).toContain("next");
  // One more turn does not compact again.
  s.model.add(say("still fine", small));
  expect(kinds(await s.send(user("more")))).not.toContain("event_message");
  expect((await s.history()).length).toBe(12 + 1 + 2 + 2);
});

/** Asks for one tool after another; as summariser it forgets the task. */
class LongTurn extends FakeModel {
  override async *stream(request: ModelRequest): AsyncGenerator<ModelEvent> {
    this.requests.push(structuredClone(request));
    const isSummary = request.sessionId === "compaction";
    const id = `call-${this.requests.length}`;
    const step = [{ type: "text" as const, text: words(1_800) }, call(id, "Read", { file_path: "/a" })];
    for (const event of isSummary ? say("I went on.", small) : reply(step, small)) {
      if (!(event instanceof Gate)) yield event;
    }
  }
}

test("a long turn keeps the user's request word for word, also through the next summary", async () => {
  const model = new LongTurn([], { max_context_window: 10_000 });
  const s = await tight({}, model);
  const task = "rename frobnicate to grobnicate everywhere";
  let chunks = await s.send(user(task));
  for (let step = 0; step < 10; step++) {
    const approvals = chunks.flatMap((chunk): ApprovalItem[] =>
      chunk.message_type === "approval_request_message"
        ? [{ type: "tool", tool_call_id: chunk.tool_call.tool_call_id, tool_return: "ok", status: "success" }]
        : [],
    );
    chunks = await s.send({ type: "approval", approvals });
  }
  expect(model.requests.filter(({ sessionId }) => sessionId === "compaction").length).toBeGreaterThan(1);
  expect(textOf(model.requests.at(-1)?.messages)).toContain(task);
});

test("a giant tool result is clipped, not fatal", async () => {
  const s = await tight();
  s.model.add(reply([call("a")], small));
  await s.send(user("go"));
  s.model.add(say("fine", small));
  const chunks = await s.send({
    type: "approval",
    approvals: [{ type: "tool", tool_call_id: "a", tool_return: `HEAD ${words(60_000)} TAIL`, status: "success" }],
  });
  expect(kinds(chunks).slice(-2, -1)).toEqual(["stop: end_turn"]);
  const request = s.model.requests.at(-1)?.messages ?? [];
  expectWhole(request);
  expect(textOf(request).length).toBeLessThan(8_000 * 4);
  for (const piece of ["HEAD", "TAIL", "characters left out to fit"]) expect(textOf(request)).toContain(piece);
});

test("a giant user message is clipped, not fatal, also in the middle of a long conversation", async () => {
  const s = await tight();
  for (let turn = 0; turn < 4; turn++) {
    s.model.add(say(`answer ${turn} ${words(700)}`, small));
    await s.send(user(`question ${turn} ${words(700)}`));
  }
  s.model.add(say("SUMMARY", small), say("fine", small));
  const chunks = await s.send(user(`BEGIN ${words(40_000)} END`));
  expect(chunks.map(brief)).toContain("stop: end_turn");
  const request = textOf(s.model.requests.at(-1)?.messages);
  expect(request.length).toBeLessThan(8_000 * 4 + 2_000);
  for (const piece of ["BEGIN", "END"]) expect(request).toContain(piece);
});

test("an overflow reported by the provider compacts and asks again, up to three times", async () => {
  const s = await tight();
  for (let turn = 0; turn < 3; turn++) {
    s.model.add(say(`answer ${turn} ${words(500)}`, small));
    await s.send(user(`question ${turn} ${words(500)}`));
  }
  s.model.add(fail("context_overflow"), say("SUMMARY", small), say("fine", small));
  const chunks = await s.send(user("next"));
  expect(chunks.map(brief)).toContain("stop: end_turn");
  expect(chunks.find((chunk) => chunk.message_type === "summary_message")).toMatchObject({
    summary: "SUMMARY",
    compaction_stats: { trigger: "context_window_overflow" },
  });

  const hopeless = await tight();
  hopeless.model.add(fail("context_overflow"));
  const ended = await hopeless.send(user("hi"));
  expect(ended.map(brief)).toEqual([
    "event_message",
    "error: llm_context_window",
    "stop: llm_api_error",
    "usage_statistics",
  ]);
});

test("when the model is down the summary is extracted; a failing summariser is retried once", async () => {
  const s = await tight();
  await toolTurn(s, "a", "short");
  s.model.add(fail("network", { retryable: true }), fail("network", { retryable: true }));
  const down = await s.backend.compactConversation(s.ref);
  for (const piece of ["Extracted without a model", "please a", "/src/a.ts (Read)", "did a"]) {
    expect(down.summary).toContain(piece);
  }
  await toolTurn(s, "b", "short");
  s.model.add(fail("auth"));
  expect((await s.backend.compactConversation(s.ref)).summary).toContain("please a");
  await toolTurn(s, "c", "short");
  s.model.add(fail("provider", { retryable: true }), say("SECOND TRY"));
  expect((await s.backend.compactConversation(s.ref)).summary).toBe("SECOND TRY");
  s.model.add(say(words(2_500), small));
  await s.send(user(words(2_500)));
  s.model.add(fail("context_overflow"), fail("context_overflow"), say("SHORTER"));
  expect((await s.backend.compactConversation(s.ref)).summary).toBe("SHORTER");
});

test("settings choose model, prompt, mode and length", async () => {
  const s = await tight({ compaction_settings: { model: "fake/cheap", prompt: "Mine.", clip_chars: 5 } });
  s.model.add(say("one"), say("two"), say("LONG SUMMARY"));
  await s.send(user("first"));
  await s.send(user("second"));
  const result = await s.backend.compactConversation(s.ref, { mode: "all", prompt: "Yours." });
  expect(result).toMatchObject({ summary: "LONG ", num_messages_before: 4, num_messages_after: 1 });
  expect(s.model.requests.at(-1)).toMatchObject({ handle: "fake/cheap", system: "Yours." });
});

test("a pending call is never summarised away", async () => {
  const s = await tight();
  await toolTurn(s, "a", "short");
  s.model.add(reply([call("b")], small));
  await s.send(user("go"));
  s.model.add(say("SUMMARY", small));
  await s.backend.compactConversation(s.ref, { mode: "all" });
  expect((await s.backend.resumeTail(s.ref, 1)).pendingToolCallIds).toEqual(["b"]);
  s.model.add(say("done", small));
  await s.send(answers(["b"]));
  expectWhole(s.model.requests.at(-1)?.messages ?? []);
  expect(s.model.requests.at(-1)?.messages.map((message) => message.role)).toEqual(["user", "assistant", "toolResult"]);
});

test("a full window after the answer is compacted before the run ends, and a failure there costs nothing", async () => {
  const s = await tight();
  const full = { usage: { input: 8_990, output: 10, cacheRead: 0, cacheWrite: 0, totalTokens: 9_000 } };
  s.model.add(say("one", small), say("two", full), say("SUMMARY", small));
  await s.send(user(`first ${words(1_000)}`));
  const chunks = await s.send(user("second"));
  expect(chunks.map(brief).slice(2)).toEqual([
    "event_message",
    "summary: SUMMARY",
    "stop: end_turn",
    "usage_statistics",
  ]);
  expect((await s.history()).slice(1, 4)).toEqual(["assistant: one", "user: second", "assistant: two"]);
});

test("a system prompt that leaves no room is an error with numbers", async () => {
  const s = await tight({ system: words(12_000) });
  const chunks = await s.send(user("hi"));
  expect(chunks.map(brief)).toEqual(["error: llm_context_window", "stop: llm_api_error", "usage_statistics"]);
  expect(chunks[0]).toMatchObject({
    message: expect.stringMatching(/about 12000 tokens.*10000 tokens/),
    hint: expect.stringContaining("OLLAMA_CONTEXT_LENGTH"),
  });
  expect(s.model.requests).toEqual([]);
});

test("images of old messages go before words do", async () => {
  const s = await tight({ context_window_limit: 4_000 });
  const image = { type: "image" as const, source: { type: "base64" as const, media_type: "image/png", data: "AAAA" } };
  for (const name of ["a", "b", "c"]) {
    s.model.add(say(`saw ${name}`, small));
    await s.send({ type: "message", role: "user", content: [{ type: "text", text: `look ${name}` }, image] });
  }
  s.model.add(say("fine", small));
  await s.send(user("next"));
  const request = s.model.requests.at(-1)?.messages ?? [];
  expect(request.length).toBe(7);
  expect(textOf(request.slice(0, 1))).toContain("Image left out to save space");
  expect(textOf(request)).toContain("look a");
});

test("a system prompt above the threshold does not summarise a short conversation again and again", async () => {
  const s = await tight({ system: words(9_000) });
  for (let turn = 0; turn < 3; turn++) {
    s.model.add(say("fine", { usage: { input: 9_100, output: 10, cacheRead: 0, cacheWrite: 0, totalTokens: 9_110 } }));
    expect((await s.send(user(`hi ${turn}`))).map(brief)).toContain("stop: end_turn");
  }
  expect(s.model.requests.length).toBe(3);
});

test.each([1, 2, 3, 50])("the window pages both ways through its summary, by %d", async (limit) => {
  const s = await tight();
  for (const name of ["a", "b", "c"]) {
    s.model.add(say(`answer ${name}`, small));
    await s.send(user(`ask ${name}`));
  }
  s.model.add(say("SUMMARY", small), say("answer d", small));
  await s.backend.compactConversation(s.ref);
  await s.send(user("ask d"));
  const ids = (await s.backend.retrieveConversation(s.ref.conversationId)).in_context_message_ids;
  for (const order of ["asc", "desc"] as const) {
    const found: string[] = [];
    let cursor: string | null = null;
    do {
      const page = await s.backend.listMessages(s.ref, {
        inContextOnly: true,
        order,
        limit,
        ...(cursor !== null && { [order === "asc" ? "after" : "before"]: cursor }),
      });
      found.push(...page.items.map((item) => item.id));
      cursor = page.nextCursor;
    } while (cursor !== null);
    expect(found).toEqual(order === "asc" ? ids : ids.toReversed());
  }
});

test("shortened messages stay short in a fork and after the next compaction", async () => {
  const s = await tight();
  for (const id of ["a", "b", "c", "d"]) await toolTurn(s, id, words(1_900));
  s.model.add(say("fine", small));
  await s.send(user(`next ${words(500)}`));
  const forked = { ...s.ref, conversationId: (await s.backend.forkConversation(s.ref)).id };
  s.model.add(say("in the fork", small));
  await collect(s.backend.sendMessages(forked, { messages: [user("hi")] }));
  const [request] = s.model.requests.slice(-1);
  expect(textOf(request?.messages)).toContain("left out to save space (7600 characters)");
  expect(textOf(request?.messages).length).toBeLessThan(8_000 * 4);
  for (const id of ["e", "f", "g"]) await toolTurn(s, id, words(1_900));
  expectWhole(s.model.requests.at(-1)?.messages ?? []);
  expect(textOf(s.model.requests.at(-1)?.messages).length).toBeLessThan(8_000 * 4);
});

test("a compaction is cancelled like any other part of a run", async () => {
  const s = await tight();
  for (let turn = 0; turn < 6; turn++) {
    s.model.add(say(`answer ${turn} ${words(700)}`, small));
    await s.send(user(`question ${turn} ${words(700)}`));
  }
  const gate = new Gate();
  s.model.add([gate, ...say("late")]);
  const stream = s.send(user("next"));
  await gate.arrived;
  await s.backend.cancelConversation(s.ref);
  expect((await stream).map(brief)).toEqual(["event_message", "stop: cancelled", "usage_statistics"]);
  expect((await s.history()).at(-1)).toBe("user: next");
});
