// What every protocol must do, whatever happens on the wire. One suite, called once per protocol.

import { describe, expect, test } from "bun:test";
import type { ModelEvent, ProviderError } from "@/backend/model.ts";
import { type Fault, type ModelServer, type ScriptedReply, startModelServer } from "../support/model-server.ts";
import {
  type Collected,
  call,
  collect,
  PROTOCOLS,
  type ProtocolName,
  request,
  serverEnv,
  testAdapter,
  user,
} from "./support.ts";

export function describeProvider(protocol: ProtocolName): void {
  const handle = PROTOCOLS[protocol];

  async function run(
    reply: ScriptedReply,
    vars: Record<string, string> = {},
  ): Promise<Collected & { server: ModelServer }> {
    await using server = await startModelServer([reply]);
    const adapter = testAdapter(serverEnv(server.url, vars));
    return { ...(await call(adapter, request(handle))), server };
  }

  describe(protocol, () => {
    test("streams thinking, text and a tool call", async () => {
      const { events, text, thinking, last } = await run({
        thinking: "hm",
        text: "héllo wörld",
        toolCalls: [{ id: "call_1", name: "Bash", args: { command: "ls" } }],
      });
      expect([text, thinking]).toEqual(["héllo wörld", "hm"]);
      const kinds = events.map(({ type }) => type).filter((type, at, all) => type !== all[at - 1]);
      expect(kinds).toEqual(["thinking", "text", "tool_start", "tool_args", "tool_end", "done"]);
      expect(last).toMatchObject({
        message: {
          stopReason: "toolUse",
          content: [
            { type: "thinking", thinking: "hm" },
            { type: "text", text: "héllo wörld" },
            { type: "toolCall", id: "call_1", name: "Bash", arguments: { command: "ls" } },
          ],
        },
      });
    });

    test("counts tokens and, for models with a price, dollars", async () => {
      const { last } = await run({ text: "ok", usage: { input: 100, output: 20, cacheRead: 50 } });
      if (last.type !== "done") throw new Error(last.type);
      const { costUsd, ...usage } = last.message.usage;
      expect(usage).toMatchObject({ input: 100, output: 20, cacheRead: 50, cacheWrite: 0, totalTokens: 170 });
      if (protocol === "chat") expect(costUsd).toBeUndefined();
      else expect(costUsd).toBeGreaterThan(0);
    });

    test.each(["split_utf8", "crlf", "comments"] as Fault[])("%s: the right text", async (fault) => {
      const spoken = "né 日本 🙂 — end\nsecond line";
      const { text, last } = await run({
        text: [spoken, spoken],
        toolCalls: [{ id: "c", name: "Bash", args: { command: "echo 日本" } }],
        fault,
      });
      expect(text).toBe(spoken + spoken);
      expect(last).toMatchObject({ type: "done", message: { content: [{}, { arguments: { command: "echo 日本" } }] } });
    });

    test.each(["cut", "cut_before_text", "missing_finish"] as Fault[])(
      "%s: stream_cut, and what had arrived",
      async (fault) => {
        const { last, text } = await run({ text: ["first ", "second"], fault });
        const error = failure(last);
        expect([error.code, error.retryable]).toEqual(["stream_cut", true]);
        expect(last.type === "error" && (last.partial?.content[0] ?? null)).toEqual(
          text === "" ? null : expect.objectContaining({ type: "text", text }),
        );
      },
    );

    test("without its terminator a reply is cut, unless the reason to stop had arrived", async () => {
      const { last } = await run({ text: "all of it", fault: "missing_terminator" });
      if (protocol === "chat") expect(last).toMatchObject({ type: "done", message: { stopReason: "stop" } });
      else expect(failure(last).code).toBe("stream_cut");
    });

    test("an overload inside the stream is retryable and named", async () => {
      const { last, text } = await run({ text: ["first ", "second"], fault: "overload_mid_stream" });
      expect(failure(last)).toMatchObject({ code: "provider", retryable: true });
      expect(failure(last).message).toMatch(/overloaded/i);
      expect(text).toBe("first ");
    });

    test("a line that is not JSON ends the call with a named error", async () => {
      const { last, text } = await run({ text: ["first ", "second"], fault: "garbage" });
      expect(failure(last).code).toBe("provider");
      expect(failure(last).message).toContain("not JSON");
      expect(text).toBe("first ");
    });

    test("silence longer than the limit is a retryable network error", async () => {
      const { last, text } = await run(
        { text: ["first ", "second"], fault: "stall" },
        { LETTA_CODE_LOCAL_PROVIDER_TIMEOUT_MS: "150" },
      );
      expect(failure(last)).toMatchObject({ code: "network", retryable: true });
      expect(failure(last).message).toContain("no data for 150 ms");
      expect(text).toBe("first ");
    });

    test("truncated tool arguments are never guessed", async () => {
      const { events, last } = await run({
        toolCalls: [{ id: "c", name: "Bash", args: { command: "rm -rf /tmp/x" } }],
        fault: "truncated_tool_json",
      });
      if (protocol === "gemini") {
        expect(failure(last).code).toBe("provider");
        expect(events.filter(({ type }) => type === "tool_end")).toEqual([]);
      } else {
        expect(last).toMatchObject({ type: "done" });
        if (last.type !== "done") return;
        expect(last.message.content).toEqual([
          { type: "toolCall", id: "c", name: "Bash", arguments: {}, argumentsError: expect.stringContaining('{"comm') },
        ]);
      }
    });

    test("a call that was cut is not in the partial message", async () => {
      const { events, last } = await run({
        toolCalls: [{ id: "c", name: "Bash", args: { command: "ls" } }],
        fault: "cut",
      });
      expect(failure(last).code).toBe("stream_cut");
      // Gemini sends a call in one piece: it had arrived whole.
      const whole = protocol === "gemini" ? 1 : 0;
      expect(events.filter(({ type }) => type === "tool_end")).toHaveLength(whole);
      expect(last.type === "error" && (last.partial?.content.length ?? 0)).toBe(whole);
    });

    test("empty arguments: {} for a tool that needs nothing, an error for one that does", async () => {
      const { last } = await run({
        toolCalls: [
          { id: "a", name: "List", args: {} },
          { id: "b", name: "Bash", args: {} },
        ],
        fault: "empty_args",
      });
      if (last.type !== "done") throw new Error(last.type);
      expect(last.message.content).toMatchObject([
        { name: "List", arguments: {} },
        { name: "Bash", arguments: {}, ...(protocol === "gemini" ? {} : { argumentsError: expect.any(String) }) },
      ]);
      expect(last.message.content[0]).not.toHaveProperty("argumentsError");
    });

    test("two calls with one id both arrive whole", async () => {
      const { last } = await run({
        toolCalls: [
          { name: "Bash", args: { command: "one" } },
          { name: "Bash", args: { command: "two" } },
        ],
        fault: "duplicate_ids",
      });
      if (last.type !== "done") throw new Error(last.type);
      expect(last.message.content).toMatchObject([
        { arguments: { command: "one" } },
        { arguments: { command: "two" } },
      ]);
    });

    test("an output limit reached is reported as such", async () => {
      const { last } = await run({ text: "and then", truncated: true });
      expect(last).toMatchObject({ type: "done", message: { stopReason: "length" } });
    });

    test.each([
      [401, "auth", false],
      [403, "auth", false],
      [404, "not_found", false],
      [429, "rate_limit", true],
      [500, "provider", true],
      [503, "provider", true],
      [529, "provider", true],
    ] as const)("status %d is %s", async (status, code, retryable) => {
      const { last } = await run({ status, headers: { "retry-after": "7" } });
      expect(failure(last)).toMatchObject({ code, retryable, status, retryAfterMs: 7000 });
      expect(last.type === "error" && last.partial).toBeNull();
    });

    test("the provider is asked once: retries belong to the engine", async () => {
      const { server } = await run({ status: 529 });
      expect(server.requests).toHaveLength(1);
    });

    test("abort closes the socket and ends with cancelled", async () => {
      await using server = await startModelServer([{ text: ["first ", "second"], fault: "stall" }]);
      const adapter = testAdapter(serverEnv(server.url));
      const abort = new AbortController();
      const stream = adapter.stream(request(handle), abort.signal);
      let abortedAt = 0;
      const seen: ModelEvent[] = [];
      for await (const event of stream) {
        seen.push(event);
        if (event.type !== "text") continue;
        abortedAt = Date.now();
        abort.abort();
      }
      const last = seen.at(-1)!;
      expect(failure(last)).toMatchObject({ code: "cancelled", retryable: false });
      expect(last.type === "error" && last.partial).toMatchObject({
        stopReason: "aborted",
        content: [{ text: "first " }],
      });
      while (server.closedAt === undefined) await new Promise((resolve) => setImmediate(resolve));
      expect(server.closedAt - abortedAt).toBeLessThanOrEqual(100);
    });

    test("an aborted signal sends nothing", async () => {
      await using server = await startModelServer([{ text: "never" }]);
      const adapter = testAdapter(serverEnv(server.url));
      const { events } = await collect(adapter.stream(request(handle), AbortSignal.abort())).then((all) => all);
      expect(events.map((event) => event.type === "error" && event.error.code)).toEqual(["cancelled"]);
      expect(server.requests).toHaveLength(0);
    });

    test("a refused connection names the address", async () => {
      await using server = await startModelServer([]);
      const env = serverEnv(server.url);
      await server.close();
      const { last } = await call(testAdapter(env), request(handle));
      expect(failure(last)).toMatchObject({ code: "network" });
      expect(failure(last).hint).toContain(new URL(server.url).host);
    });

    test("images go along where the model sees, and a note where it does not", async () => {
      await using server = await startModelServer([{ text: "a dot" }]);
      const adapter = testAdapter(serverEnv(server.url));
      const image = { type: "image", data: PIXEL, mimeType: "image/png" } as const;
      const content = [{ type: "text", text: "what is this?" } as const, image];
      await call(adapter, request(handle, { messages: [{ role: "user", content, timestamp: 1 }] }));
      const [seen] = server.requests[0]!.messages;
      expect(seen?.images).toBe(protocol === "chat" ? 0 : 1);
      if (protocol === "chat") expect(seen?.text).toContain("image omitted");
    });

    test("what it said and what the tools answered comes back in order", async () => {
      await using server = await startModelServer([
        { thinking: "hm", text: "let me look", toolCalls: [{ id: "c1", name: "Bash", args: { command: "ls" } }] },
        { text: "done" },
      ]);
      const adapter = testAdapter(serverEnv(server.url));
      const { last } = await call(adapter, request(handle));
      if (last.type !== "done") throw new Error(last.type);
      const answer = { type: "text", text: "a.txt" } as const;
      const result = {
        role: "toolResult",
        toolCallId: "c1",
        toolName: "Bash",
        content: [answer],
        isError: false,
        timestamp: 2,
      } as const;
      await call(
        adapter,
        request(handle, { messages: [user("hello"), last.message, { ...result, content: [answer] }] }),
      );
      const second = server.requests[1]!;
      expect(second.toolResults).toEqual([{ id: expect.any(String), text: "a.txt" }]);
      expect(second.messages.map(({ text }) => text).filter(Boolean)).toEqual(["hello", "let me look"]);
      expect(second.messages.flatMap(({ toolCalls }) => toolCalls)).toMatchObject([
        { name: "Bash", args: { command: "ls" } },
      ]);
    });
  });
}

const PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

function failure(event: ModelEvent): ProviderError {
  if (event.type !== "error") throw new Error(`expected an error, got ${event.type}`);
  return event.error;
}
