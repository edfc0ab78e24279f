// What every backend does, whoever keeps the state: one suite, run on each implementation. `make` gives a backend whose
// model is the fake one; for a backend behind HTTP, the server it talks to runs on that model.

import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import type { Backend, ConversationRef, ListMessagesQuery } from "@/backend/backend.ts";
import type { ApprovalItem, InputMessage, Message, StreamChunk } from "@/backend/wire.ts";
import { call, FakeModel, fail, Gate, reply, say } from "../support/fake-model.ts";

export interface BackendUnderTest {
  backend: Backend;
  close(): Promise<void>;
}

export async function collect(chunks: AsyncIterable<StreamChunk>): Promise<StreamChunk[]> {
  const all: StreamChunk[] = [];
  for await (const chunk of chunks) all.push(chunk);
  return all;
}

export function user(content: string, otid?: string): InputMessage {
  return { type: "message", role: "user", content, ...(otid && { otid }) };
}

export function answers(ids: string[], patch: Partial<ApprovalItem> = {}): InputMessage {
  const approvals = ids.map(
    (id) => ({ type: "tool", tool_call_id: id, tool_return: `out ${id}`, status: "success", ...patch }) as ApprovalItem,
  );
  return { type: "approval", approvals };
}

/** The essence of a message for a table. */
export function brief(message: Message | StreamChunk): string {
  switch (message.message_type) {
    case "user_message":
      return `user: ${typeof message.content === "string" ? message.content : JSON.stringify(message.content)}`;
    case "assistant_message":
      return `assistant${message.interrupted ? " (interrupted)" : ""}: ${message.content}`;
    case "reasoning_message":
      return `reasoning: ${message.reasoning}`;
    case "approval_request_message":
      return `request ${message.tool_call.tool_call_id}: ${message.tool_call.name} ${message.tool_call.arguments}`;
    case "tool_return_message":
      return `return ${message.tool_call_id} ${message.status}: ${message.tool_return}`;
    case "summary_message":
      return `summary: ${message.summary}`;
    case "stop_reason":
      return `stop: ${message.stop_reason}`;
    case "error_message":
      return `error: ${message.error_type}`;
    default:
      return message.message_type;
  }
}

export function describeBackend(name: string, make: (model: FakeModel) => Promise<BackendUnderTest>): void {
  describe(name, () => {
    let model: FakeModel;
    let backend: Backend;
    let close: () => Promise<void>;
    beforeEach(async () => {
      model = new FakeModel();
      ({ backend, close } = await make(model));
    });
    afterEach(() => close());

    async function newRef(): Promise<ConversationRef> {
      const agent = await backend.createAgent({ name: "Ada", system: "You are Ada.", model: "fake/model" });
      const conversation = await backend.createConversation({ agent_id: agent.id });
      return { agentId: agent.id, conversationId: conversation.id };
    }
    const send = (ref: ConversationRef, ...messages: InputMessage[]): Promise<StreamChunk[]> =>
      collect(backend.sendMessages(ref, { messages }));
    async function history(ref: ConversationRef, query: ListMessagesQuery = {}): Promise<string[]> {
      return (await backend.listMessages(ref, { order: "asc", limit: 1000, ...query })).items.map(brief);
    }

    describe("agents", () => {
      test("are created, patched and read back", async () => {
        const agent = await backend.createAgent({
          name: "Ada",
          system: "s",
          tags: ["b", "a"],
          metadata: { deep: { n: 1 } },
          model_settings: { effort: "high", unknown_key: 1 },
        });
        expect(await backend.retrieveAgent(agent.id)).toEqual(agent);
        expect(agent).toMatchObject({ name: "Ada", tags: ["b", "a"], hidden: false, model: "", description: null });
        const patched = await backend.updateAgent(agent.id, {
          name: "Grace",
          context_window_limit: 50_000,
          description: undefined,
        });
        expect(patched).toMatchObject({ name: "Grace", system: "s", context_window_limit: 50_000 });
        expect(patched.model_settings).toEqual({ effort: "high", unknown_key: 1 });
        expect(await backend.retrieveAgent(agent.id)).toEqual(patched);
      });

      test("are listed by tag, name and text, without the hidden ones, page by page", async () => {
        const ids: string[] = [];
        for (const [name, tags] of [
          ["one", ["x"]],
          ["two_%", ["x", "y"]],
          ["three", ["y"]],
          ["sub", ["role:subagent"]],
        ] as const) {
          ids.push((await backend.createAgent({ name, tags: [...tags] })).id);
        }
        const names = async (query: Parameters<Backend["listAgents"]>[0]): Promise<string[]> =>
          (await backend.listAgents(query)).items.map((agent) => agent.name).toSorted();
        expect(await names({})).toEqual(["one", "three", "two_%"]);
        expect(await names({ includeHidden: true })).toEqual(["one", "sub", "three", "two_%"]);
        expect(await names({ tags: ["x", "y"] })).toEqual(["one", "three", "two_%"]);
        expect(await names({ tags: ["x", "y"], matchAllTags: true })).toEqual(["two_%"]);
        expect(await names({ name: "one" })).toEqual(["one"]);
        expect(await names({ query: "_%" })).toEqual(["two_%"]);
        expect(await names({ query: ids[2] ?? "" })).toEqual(["three"]);
        const first = await backend.listAgents({ limit: 2 });
        expect(first.nextCursor).not.toBeNull();
        const second = await backend.listAgents({ limit: 2, after: first.nextCursor ?? "" });
        expect(second.nextCursor).toBeNull();
        expect([...first.items, ...second.items].map((agent) => agent.name).toSorted()).toEqual([
          "one",
          "three",
          "two_%",
        ]);
      });

      test("leave with their conversations", async () => {
        const ref = await newRef();
        model.add(say("hello"));
        await send(ref, user("hi"));
        await backend.deleteAgent(ref.agentId);
        await expect(backend.retrieveAgent(ref.agentId)).rejects.toMatchObject({ code: "not_found" });
        await expect(backend.retrieveConversation(ref.conversationId)).rejects.toMatchObject({ code: "not_found" });
        await expect(backend.deleteAgent(ref.agentId)).rejects.toMatchObject({ code: "not_found" });
        expect(await backend.searchMessages({ query: "hello" })).toEqual([]);
      });
    });

    describe("conversations", () => {
      test("are created, patched, listed by activity and deleted", async () => {
        const ref = await newRef();
        const other = await backend.createConversation({ agent_id: ref.agentId, summary: "Other title" });
        const hidden = await backend.createConversation({ agent_id: ref.agentId, hidden: true });
        model.add(say("hello"));
        await send(ref, user("hi"));
        const list = async (query: object): Promise<string[]> =>
          (await backend.listConversations({ agentId: ref.agentId, ...query })).items.map((item) => item.id);
        expect(await list({})).toEqual([ref.conversationId, other.id]);
        expect((await list({ includeHidden: true })).length).toBe(3);
        expect(await list({ search: "other t" })).toEqual([other.id]);
        const patched = await backend.updateConversation(
          { agentId: ref.agentId, conversationId: other.id },
          { archived: true, model: "fake/other", tags: ["t"] },
        );
        expect(patched).toMatchObject({ archived: true, model: "fake/other", tags: ["t"], summary: "Other title" });
        expect(patched.archived_at).not.toBeNull();
        expect(await list({})).toEqual([ref.conversationId]);
        expect(await list({ archived: "archived" })).toEqual([other.id]);
        await backend.deleteConversation({ agentId: ref.agentId, conversationId: hidden.id });
        await expect(backend.retrieveConversation(hidden.id)).rejects.toMatchObject({ code: "not_found" });
      });

      test("`default` exists per agent and is listed once it has messages", async () => {
        const ada = await backend.createAgent({ name: "Ada" });
        const bob = await backend.createAgent({ name: "Bob" });
        const ref = (agentId: string): ConversationRef => ({ agentId, conversationId: "default" });
        expect(await backend.retrieveConversation("default", ada.id)).toMatchObject({
          id: "default",
          agent_id: ada.id,
          in_context_message_ids: [],
        });
        expect((await backend.listConversations({ agentId: ada.id })).items).toEqual([]);
        model.add(say("to Ada"));
        await send(ref(ada.id), user("hi"));
        expect(await history(ref(ada.id))).toEqual(["user: hi", "assistant: to Ada"]);
        expect(await history(ref(bob.id))).toEqual([]);
        expect((await backend.listConversations({ agentId: ada.id })).items.map((item) => item.id)).toEqual([
          "default",
        ]);
        await expect(backend.retrieveConversation("default", "agent-local-none")).rejects.toMatchObject({
          code: "not_found",
        });
      });

      test("are listed page by page, also when several are called `default`", async () => {
        const keys: string[] = [];
        for (const name of ["Ada", "Bob", "Eve"]) {
          const agent = await backend.createAgent({ name });
          model.add(say(name));
          await send({ agentId: agent.id, conversationId: "default" }, user("hi"));
          keys.push(agent.id);
        }
        const found: (string | null)[] = [];
        let after: string | null = null;
        do {
          const page = await backend.listConversations({ limit: 1, ...(after !== null && { after }) });
          found.push(...page.items.map((item) => item.agent_id));
          after = page.nextCursor;
        } while (after !== null);
        expect(found.toSorted()).toEqual(keys.toSorted());
      });

      test("a fork copies what the model sees, under new ids", async () => {
        const ref = await newRef();
        await backend.updateConversation(ref, { summary: "Title", tags: ["t"], context_window_limit: 90_000 });
        model.add(reply([{ type: "text", text: "looking" }, call("a")]), say("done"), say("in the fork"));
        await send(ref, user("go"));
        await send(ref, answers(["a"]));
        const fork = await backend.forkConversation(ref);
        expect(fork).toMatchObject({ summary: "Title", tags: ["t"], context_window_limit: 90_000, hidden: false });
        const forkRef = { agentId: ref.agentId, conversationId: fork.id };
        expect(await history(forkRef)).toEqual(await history(ref));
        const ids = new Set((await backend.listMessages(ref)).items.map((item) => item.id));
        expect((await backend.listMessages(forkRef)).items.some((item) => ids.has(item.id))).toBe(false);
        await send(forkRef, user("more"));
        expect((await history(ref)).length + 2).toBe((await history(forkRef)).length);
      });

      test("a fork ends at the named message", async () => {
        const ref = await newRef();
        model.add(say("one"), say("two"));
        await send(ref, user("first"));
        await send(ref, user("second"));
        const { items } = await backend.listMessages(ref, { order: "asc" });
        const fork = await backend.forkConversation(ref, { messageId: items[1]?.id ?? "", hidden: true });
        expect(fork.hidden).toBe(true);
        expect(await history({ agentId: ref.agentId, conversationId: fork.id })).toEqual([
          "user: first",
          "assistant: one",
        ]);
      });
    });

    describe("a run", () => {
      test("streams deltas with rising seq_ids, then the stop reason and the usage", async () => {
        const ref = await newRef();
        model.add(
          reply([
            { type: "thinking", thinking: "hmmm", thinkingSignature: "sig" },
            { type: "text", text: "Hello!" },
          ]),
        );
        const chunks = await send(ref, user("hi", "otid-1"));
        expect(chunks.map(brief)).toEqual([
          "reasoning: hm",
          "reasoning: mm",
          "assistant: Hel",
          "assistant: lo!",
          "stop: end_turn",
          "usage_statistics",
        ]);
        expect(chunks.map((chunk) => "seq_id" in chunk && chunk.seq_id)).toEqual([1, 2, 3, 4, 5, 6]);
        expect(chunks.at(-1)).toMatchObject({ prompt_tokens: 13, completion_tokens: 5, step_count: 1 });
        const stored = (await backend.listMessages(ref, { order: "asc" })).items;
        expect(stored.map(brief)).toEqual(["user: hi", "reasoning: hmmm", "assistant: Hello!"]);
        expect(stored[0]).toMatchObject({ otid: "otid-1" });
        expect(stored[1]).toMatchObject({ signature: "sig" });
        // What was streamed and what is listed is recognisably the same message.
        for (const item of stored.slice(1)) {
          const streamed = chunks.filter((chunk) => "id" in chunk && chunk.id === item.id);
          expect(streamed.length).toBe(2);
          expect(new Set(streamed.map((chunk) => "otid" in chunk && chunk.otid))).toEqual(new Set([item.otid ?? ""]));
        }
      });

      test("sends system prompt, tools and all that was said to the model", async () => {
        const ref = await newRef();
        model.add(say("one"), say("two"));
        const tool = { name: "Bash", description: "d", parameters: { type: "object", properties: {} } };
        await collect(backend.sendMessages(ref, { messages: [user("first")], client_tools: [tool] }));
        await collect(
          backend.sendMessages(ref, {
            messages: [
              { type: "message", role: "system", content: "note" },
              {
                type: "message",
                role: "user",
                content: [
                  { type: "text", text: "a" },
                  { type: "text", text: "b" },
                ],
              },
            ],
            override_system: "Other.",
            override_model: "fake/other",
          }),
        );
        expect(model.requests[0]).toMatchObject({ handle: "fake/model", system: "You are Ada.", tools: [tool] });
        expect(model.requests[1]).toMatchObject({ handle: "fake/other", system: "Other." });
        expect(model.requests[1]?.messages.map(({ role, content }) => ({ role, content }))).toEqual([
          { role: "user", content: "first" },
          { role: "assistant", content: [{ type: "text", text: "one" }] },
          { role: "user", content: "<system-reminder>\nnote\n</system-reminder>" },
          {
            role: "user",
            content: [
              { type: "text", text: "a" },
              { type: "text", text: "b" },
            ],
          },
        ]);
      });

      test("an input sent again is stored once", async () => {
        const ref = await newRef();
        model.add(fail("provider", { retryable: true }), say("answer"));
        await send(ref, user("hi", "same"));
        await send(ref, user("hi", "same"));
        expect(await history(ref)).toEqual(["user: hi", "assistant: answer"]);
      });

      test("a failed model is an error chunk with all that is known, and the words are kept", async () => {
        const ref = await newRef();
        model.add(fail("rate_limit", { retryable: true, status: 429, retryAfterMs: 1500, hint: "wait" }));
        const chunks = await send(ref, user("hi"));
        expect(chunks.map(brief)).toEqual(["error: llm_rate_limit", "stop: llm_api_error", "usage_statistics"]);
        expect(chunks[0]).toMatchObject({ retryable: true, status: 429, retry_after_ms: 1500, hint: "wait" });
        expect(await history(ref)).toEqual(["user: hi"]);
        const runId = ("run_id" in chunks[0]! && chunks[0].run_id) || "";
        expect(await backend.retrieveRun(runId)).toMatchObject({
          status: "failed",
          stop_reason: "llm_api_error",
          metadata: { error: { error_type: "llm_rate_limit", retryable: true } },
        });
      });

      test("a second one in the same conversation is refused while the first streams", async () => {
        const ref = await newRef();
        const gate = new Gate();
        model.add([gate, ...say("one")]);
        const first = send(ref, user("first"));
        await gate.arrived;
        await expect(send(ref, user("second"))).rejects.toMatchObject({ code: "busy" });
        gate.open();
        await first;
        expect(await history(ref)).toEqual(["user: first", "assistant: one"]);
      });

      test("an unknown conversation is not found, and nothing is asked", async () => {
        const { agentId } = await newRef();
        await expect(send({ agentId, conversationId: "local-conv-none" }, user("x"))).rejects.toMatchObject({
          code: "not_found",
        });
        expect(model.requests).toEqual([]);
      });
    });

    describe("tool calls", () => {
      test("stop the run, are pending, and are answered in call order", async () => {
        const ref = await newRef();
        model.add(reply([{ type: "text", text: "ok" }, call("a"), call("b", "Read", { path: "x" })]), say("done"));
        const chunks = await send(ref, user("go"));
        expect(chunks.map(brief).slice(-4)).toEqual([
          'request a: Bash {"command":"a"}',
          'request b: Read {"path":"x"}',
          "stop: requires_approval",
          "usage_statistics",
        ]);
        expect((await backend.resumeTail(ref, 10)).pendingToolCallIds).toEqual(["a", "b"]);
        const approvals: ApprovalItem[] = [
          { type: "approval", tool_call_id: "b", approve: false, reason: "not now" },
          {
            type: "tool",
            tool_call_id: "a",
            tool_return: "boom",
            status: "error",
            stdout: ["out"],
            stderr: ["err"],
          },
        ];
        await send(ref, { type: "approval", approvals });
        expect((await backend.resumeTail(ref, 10)).pendingToolCallIds).toEqual([]);
        expect((await history(ref)).slice(-3)).toEqual([
          "return a error: boom",
          "return b error: not now",
          "assistant: done",
        ]);
        const { items } = await backend.listMessages(ref, { types: ["tool_return_message"], order: "asc" });
        expect(items[0]).toMatchObject({ stdout: ["out"], stderr: ["err"], name: "Bash" });
        expect(model.requests[1]?.messages.slice(-2)).toMatchObject([
          { role: "toolResult", toolCallId: "a", isError: true },
          { role: "toolResult", toolCallId: "b", isError: true },
        ]);
      });

      test.each([
        ["a part of them", ["a"]],
        ["one twice", ["a", "a"]],
        ["an unknown one", ["a", "b", "c"]],
        ["none", []],
      ] as const)("answering %s is refused and changes nothing", async (_name, ids) => {
        const ref = await newRef();
        model.add(reply([call("a"), call("b")]), say("done"));
        await send(ref, user("go"));
        await expect(send(ref, answers([...ids]), user("more"))).rejects.toMatchObject({
          code: "invalid_data",
          message: expect.stringContaining("invalid tool call ids"),
        });
        expect((await backend.resumeTail(ref, 10)).pendingToolCallIds).toEqual(["a", "b"]);
        await send(ref, answers(["a", "b"]));
        expect((await history(ref)).at(-1)).toBe("assistant: done");
      });

      test.each([
        ["a new message", [user("never mind")]],
        ["nothing", []],
      ] as const)("left open by %s, they get an error result", async (_name, messages) => {
        const ref = await newRef();
        model.add(reply([call("a"), call("b")]), say("done"));
        await send(ref, user("go"));
        await send(ref, ...messages);
        expect((await history(ref)).slice(3, 5)).toEqual([
          "return a error: Turn did not complete",
          "return b error: Turn did not complete",
        ]);
      });

      test("with doubled, empty or reused ids can each be answered", async () => {
        const ref = await newRef();
        model.add(reply([call("x"), call("x"), call("")]), reply([call("x")]), say("done"));
        const idsOf = (chunks: StreamChunk[]): string[] =>
          chunks.flatMap((chunk) =>
            chunk.message_type === "approval_request_message" ? [chunk.tool_call.tool_call_id] : [],
          );
        const first = idsOf(await send(ref, user("go")));
        expect(new Set(first).size).toBe(3);
        const second = idsOf(await send(ref, answers(first)));
        expect(first).not.toContain(second[0]);
        await send(ref, answers(second));
        expect((await history(ref)).at(-1)).toBe("assistant: done");
        expect(model.requests[2]?.messages.filter((item) => item.role === "toolResult").length).toBe(4);
      });

      test("may return text and images", async () => {
        const ref = await newRef();
        model.add(reply([call("a")]), say("seen"));
        await send(ref, user("go"));
        const tool_return = [
          { type: "text" as const, text: "a picture" },
          { type: "image" as const, source: { type: "base64" as const, media_type: "image/png", data: "AAAA" } },
        ];
        await send(ref, answers(["a"], { tool_return }));
        const { items } = await backend.listMessages(ref, { types: ["tool_return_message"] });
        expect(items[0]).toMatchObject({ tool_return, status: "success" });
        expect(model.requests[1]?.messages.at(-1)?.content).toEqual([
          { type: "text", text: "a picture" },
          { type: "image", data: "AAAA", mimeType: "image/png" },
        ]);
      });

      test("with broken arguments show them as they arrived", async () => {
        const ref = await newRef();
        model.add(reply([{ ...call("a"), arguments: {}, argumentsError: '{"command":"rm -r' }]));
        const chunks = await send(ref, user("go"));
        expect(chunks.map(brief)[0]).toBe('request a: Bash {"command":"rm -r');
      });
    });

    describe("cancel", () => {
      test("ends the request at once, keeps what was said and marks it", async () => {
        const ref = await newRef();
        const gate = new Gate();
        model.add([{ type: "text", index: 0, delta: "I was say" }, gate]);
        const stream = send(ref, user("go"));
        await gate.arrived;
        const startedAt = performance.now();
        await backend.cancelConversation(ref);
        expect(model.signals[0]?.aborted).toBe(true);
        expect(performance.now() - startedAt).toBeLessThan(100);
        const chunks = await stream;
        expect(chunks.map(brief).slice(-2)).toEqual(["stop: cancelled", "usage_statistics"]);
        expect(await history(ref)).toEqual(["user: go", "assistant (interrupted): I was say"]);
        expect(await backend.listRuns(ref, { activeOnly: true })).toEqual([]);
        expect(await backend.listRuns(ref)).toMatchObject([{ status: "cancelled", stop_reason: "cancelled" }]);
        model.add(say("yes"));
        await send(ref, user("go on"));
        expect(model.requests[1]?.messages.map((item) => item.role)).toEqual(["user", "assistant", "user"]);
      });

      test("the signal of the send does the same", async () => {
        const ref = await newRef();
        const gate = new Gate();
        model.add([{ type: "text", index: 0, delta: "half" }, gate]);
        const controller = new AbortController();
        const stream = collect(backend.sendMessages(ref, { messages: [user("go")] }, { signal: controller.signal }));
        await gate.arrived;
        controller.abort();
        expect((await stream).map(brief).at(-2)).toBe("stop: cancelled");
        expect(await history(ref)).toEqual(["user: go", "assistant (interrupted): half"]);
      });

      test("answers calls that wait", async () => {
        const ref = await newRef();
        model.add(reply([call("a")]));
        await send(ref, user("go"));
        await backend.cancelConversation(ref);
        await backend.cancelConversation(ref);
        expect((await history(ref)).slice(2)).toEqual(["return a error: Interrupted by user"]);
        expect((await backend.resumeTail(ref, 10)).pendingToolCallIds).toEqual([]);
      });
    });

    describe("runs", () => {
      test("are replayed exactly, from any point", async () => {
        const ref = await newRef();
        model.add(reply([{ type: "thinking", thinking: "think" }, { type: "text", text: "some text" }, call("a")]));
        const chunks = await send(ref, user("go"));
        const runId = (await backend.listRuns(ref))[0]?.id ?? "";
        for (let after = 0; after <= chunks.length; after++) {
          expect(await collect(backend.streamRun(runId, { startingAfter: after }))).toEqual(chunks.slice(after));
        }
        expect(await backend.retrieveRun(runId)).toMatchObject({
          status: "completed",
          stop_reason: "requires_approval",
          conversation_id: ref.conversationId,
        });
        await expect(backend.retrieveRun("local-run-none")).rejects.toMatchObject({ code: "not_found" });
      });

      test("are followed while they stream", async () => {
        const ref = await newRef();
        const gate = new Gate();
        model.add([{ type: "text", index: 0, delta: "one " }, gate, ...say("two")]);
        const stream = send(ref, user("go"));
        await gate.arrived;
        const runId = (await backend.listRuns(ref, { activeOnly: true }))[0]?.id ?? "";
        const followed: StreamChunk[] = [];
        for await (const chunk of backend.streamRun(runId)) {
          followed.push(chunk);
          gate.open();
        }
        expect(followed).toEqual(await stream);
      });
    });

    describe("history", () => {
      async function filled(): Promise<{ ref: ConversationRef; all: Message[] }> {
        const ref = await newRef();
        for (let turn = 0; turn < 4; turn++) {
          model.add(
            reply([
              { type: "thinking", thinking: `think ${turn}` },
              { type: "text", text: `look ${turn}` },
              call(`c${turn}`),
            ]),
            say(`done ${turn}`),
          );
          await send(ref, user(`ask ${turn}`));
          await send(ref, answers([`c${turn}`]));
        }
        return { ref, all: (await backend.listMessages(ref, { order: "asc", limit: 1000 })).items };
      }

      test.each([1, 2, 3, 5, 7, 100])("pages both ways by %d without loss or repetition", async (limit) => {
        const { ref, all } = await filled();
        expect(all.length).toBe(24);
        for (const order of ["asc", "desc"] as const) {
          const found: Message[] = [];
          let cursor: string | null = null;
          do {
            const query: ListMessagesQuery = { order, limit };
            if (cursor !== null) query[order === "asc" ? "after" : "before"] = cursor;
            const page = await backend.listMessages(ref, query);
            found.push(...page.items);
            cursor = page.nextCursor;
          } while (cursor !== null);
          expect(found).toEqual(order === "asc" ? all : all.toReversed());
        }
      });

      test("a cursor takes the nearest, whatever the order", async () => {
        const { ref, all } = await filled();
        const at = (index: number): string => all[index]?.id ?? "";
        const ids = async (query: ListMessagesQuery): Promise<string[]> =>
          (await backend.listMessages(ref, query)).items.map((item) => item.id);
        expect(await ids({ before: at(10), limit: 2, order: "desc" })).toEqual([at(9), at(8)]);
        expect(await ids({ before: at(10), limit: 2, order: "asc" })).toEqual([at(8), at(9)]);
        expect(await ids({ after: at(10), limit: 2, order: "asc" })).toEqual([at(11), at(12)]);
        expect(await ids({ after: at(10), limit: 2, order: "desc" })).toEqual([at(12), at(11)]);
        expect(await ids({ after: at(10), before: at(13), order: "asc" })).toEqual([at(11), at(12)]);
        await expect(backend.listMessages(ref, { before: "msg-none" })).rejects.toMatchObject({ code: "not_found" });
      });

      test("is filtered by type before it is counted", async () => {
        const { ref } = await filled();
        const page = await backend.listMessages(ref, { types: ["user_message"], limit: 3 });
        expect(page.items.map(brief)).toEqual(["user: ask 3", "user: ask 2", "user: ask 1"]);
        const rest = await backend.listMessages(ref, {
          types: ["user_message"],
          limit: 3,
          before: page.nextCursor ?? "",
        });
        expect(rest).toMatchObject({ items: [{ content: "ask 0" }], nextCursor: null });
      });

      test("a message is found with all its variants", async () => {
        const { ref, all } = await filled();
        const look = all.find((item) => brief(item) === "assistant: look 0");
        const variants = await backend.retrieveMessage(look?.id ?? "");
        expect(variants.map(brief)).toEqual([
          "reasoning: think 0",
          "assistant: look 0",
          'request c0: Bash {"command":"c0"}',
        ]);
        expect(await backend.retrieveMessage(variants[2]?.id ?? "")).toEqual(variants);
        await expect(backend.retrieveMessage("msg-none")).rejects.toMatchObject({ code: "not_found" });
        expect((await backend.retrieveConversation(ref.conversationId)).in_context_message_ids.length).toBe(16);
      });

      test("resumes with the newest messages, oldest first", async () => {
        const { ref, all } = await filled();
        const tail = await backend.resumeTail(ref, 5);
        expect(tail.messages).toEqual(all.slice(-5));
        expect(tail.conversation.id).toBe(ref.conversationId);
        expect(tail.pendingToolCallIds).toEqual([]);
      });
    });

    describe("search", () => {
      async function said(...texts: string[]): Promise<ConversationRef> {
        const ref = await newRef();
        for (const text of texts) {
          model.add(say("noted"));
          await send(ref, user(text));
        }
        return ref;
      }

      test.each([
        ["数据", "请检查数据库的迁移"],
        ["库", "请检查数据库的迁移"],
        ["foo_bar", "rename foo_bar please"],
        ["Foo::bar", "where is Foo::bar defined"],
        ["useState(", "const [a] = useState(0)"],
        ["--no-verify", "git commit --no-verify"],
        ["seMem", "call useMemo here"],
        ['"exact phrase"', "an exact phrase here"],
        ["100%", "it is 100% done"],
        ["AND", "this AND that"],
        ["x".repeat(300), `before ${"x".repeat(300)} after`],
      ])("%s is found", async (query, text) => {
        await said("something else entirely", text);
        const hits = await backend.searchMessages({ query });
        expect(hits.map((hit) => hit.content)).toEqual([text]);
        expect(hits[0]).toMatchObject({ role: "user", snippet: expect.stringContaining(text.slice(0, 20)) });
      });

      test.each(['"', "(", "NEAR(", "a* OR b:", "'; DROP TABLE messages", "-", "^", "{}"])(
        "%s is only text",
        async (query) => {
          await said("plain words");
          expect(await backend.searchMessages({ query })).toEqual([]);
        },
      );

      test("stays in its scope and away from hidden conversations and reminders", async () => {
        const ref = await said("needle one");
        const other = await said("needle two");
        const hidden = await backend.createConversation({ agent_id: ref.agentId, hidden: true });
        const hiddenRef = { agentId: ref.agentId, conversationId: hidden.id };
        model.add(say("x"), say("y"));
        await send(hiddenRef, user("needle six"));
        await collect(
          backend.sendMessages(ref, {
            messages: [
              { type: "message", role: "system", content: "needle nudge" },
              {
                type: "message",
                role: "user",
                content: [
                  { type: "text", text: "<system-reminder>\nneedle reminder\n</system-reminder>" },
                  { type: "text", text: "thread" },
                ],
              },
            ],
          }),
        );
        const found = async (query: object): Promise<string[]> =>
          (await backend.searchMessages({ query: "needle", ...query })).map((hit) => hit.content);
        expect(await found({})).toEqual(["needle two", "needle one"]);
        expect(await found({ includeHidden: true })).toEqual(["needle six", "needle two", "needle one"]);
        expect(await found({ agentId: ref.agentId })).toEqual(["needle one"]);
        expect(await found({ conversationId: other.conversationId })).toEqual(["needle two"]);
        expect(await found({ endDate: "2000-01-01" })).toEqual([]);
        expect(await found({ limit: 1 })).toEqual(["needle two"]);
      });
    });

    test("models are those of the adapter", async () => {
      expect(await backend.listModels()).toEqual([model.record]);
    });

    test("the system prompt is compiled without saving, and with", async () => {
      const ref = await newRef();
      expect(await backend.recompileConversation(ref, { dryRun: true })).toBe("You are Ada.");
      await backend.updateAgent(ref.agentId, { system: "You are {CORE_MEMORY}changed." });
      expect(await backend.recompileConversation(ref)).toBe("You are changed.");
      model.add(say("x"));
      await send(ref, user("hi"));
      expect(model.requests[0]?.system).toBe("You are changed.");
    });

    test("a conversation is compacted to a summary and back", async () => {
      const ref = await newRef();
      model.add(say("one"), say("two"), say("SUMMARY"), say("three"));
      await send(ref, user("first"));
      await send(ref, user("second"));
      const before = (await backend.retrieveConversation(ref.conversationId)).in_context_message_ids;
      const result = await backend.compactConversation(ref);
      expect(result).toMatchObject({ num_messages_before: 4, summary: "SUMMARY" });
      expect(await history(ref)).toEqual([
        "user: first",
        "assistant: one",
        "user: second",
        "assistant: two",
        "summary: SUMMARY",
      ]);
      expect((await history(ref, { inContextOnly: true }))[0]).toBe("summary: SUMMARY");
      await send(ref, user("third"));
      expect(JSON.stringify(model.requests.at(-1)?.messages[0])).toContain("SUMMARY");
      expect(await backend.undoCompaction(ref)).toBe(true);
      const after = (await backend.retrieveConversation(ref.conversationId)).in_context_message_ids;
      expect(after.slice(0, 4)).toEqual(before);
      expect(after.length).toBe(6);
      expect(await backend.undoCompaction(ref)).toBe(false);
    });
  });
}
