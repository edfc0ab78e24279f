import { afterAll, describe, expect, test } from "bun:test";
import type { ModelAssistantMessage, ModelMessage } from "@/backend/model.ts";
import { probeLocalServers } from "@/providers/local-servers.ts";
import { type ReasoningLevel, reasoningLevel } from "@/providers/reasoning.ts";
import { type ModelServerOptions, startModelServer } from "../support/model-server.ts";
import {
  call,
  PROTOCOLS,
  removeHomes,
  request,
  serverEnv,
  testAdapter,
  testEnv,
  testSecrets,
  user,
} from "./support.ts";

afterAll(removeHomes);

const answer = (options: ModelServerOptions = {}) => startModelServer(() => ({ text: "ok" }), options);

describe("the context window", () => {
  test.each([
    ["LMSTUDIO_BASE_URL", "lmstudio/m", { models: [{ id: "m", contextWindow: 8192 }] }, 8192],
    ["LLAMA_CPP_BASE_URL", "llama-cpp/m", { models: [{ id: "m", contextWindow: 16384 }] }, 16384],
    ["OLLAMA_BASE_URL", "ollama/m", { models: [{ id: "m", contextWindow: 4096 }] }, 4096],
    ["VLLM_BASE_URL", "vllm/m", { models: [{ id: "m", contextWindow: 65536 }] }, 65536],
    ["LMSTUDIO_BASE_URL", "lmstudio/m", { models: [{ id: "m", contextWindow: 8192 }], engines: [] }, 8192],
    ["VLLM_BASE_URL", "vllm/m", { models: [{ id: "m", contextWindow: null }] }, null],
    ["VLLM_BASE_URL", "vllm/unlisted", { models: [{ id: "m", contextWindow: 65536 }] }, null],
  ] as [string, string, ModelServerOptions, number | null][])(
    "%s %s %j",
    async (variable, handle, options, expected) => {
      await using server = await answer(options);
      const record = await testAdapter(testEnv({ [variable]: server.url })).resolveModel(handle);
      expect(record).toMatchObject({ handle, max_context_window: expected, provider_category: "byok" });
    },
  );

  test("of a known model comes from the catalogue, without asking anybody", async () => {
    await using server = await answer();
    const record = await testAdapter(serverEnv(server.url)).resolveModel("anthropic/claude-sonnet-4-6");
    expect(record).toMatchObject({ max_context_window: 1_000_000, reasoning: true, vision: true });
    expect(server.listings).toEqual([]);
  });

  test("that only the user knows comes from the record", async () => {
    await using server = await answer({ models: [{ id: "m", contextWindow: null }] });
    const env = testEnv();
    const secrets = testSecrets(env);
    const record = {
      name: "mine",
      providerType: "openai-compatible",
      baseUrl: server.url,
      createdAt: "",
      updatedAt: "",
    };
    await secrets.saveProvider({ ...record, contextWindows: { m: 24_000 } }, null);
    expect(await testAdapter(env, { secrets }).resolveModel("mine/m")).toMatchObject({ max_context_window: 24_000 });
  });
});

test("a model newer than the catalogue works", async () => {
  await using server = await answer();
  const { last } = await call(testAdapter(serverEnv(server.url)), request("anthropic/claude-of-tomorrow"));
  expect(last).toMatchObject({ type: "done" });
  expect(server.requests[0]?.body).toMatchObject({ model: "claude-of-tomorrow", max_tokens: 32_000 });
});

test("a proxy in front of Anthropic gets only fields of the plain protocol", async () => {
  await using server = await answer();
  const adapter = testAdapter(serverEnv(server.url));
  await call(adapter, request("anthropic/claude-opus-5"));
  await call(adapter, request("anthropic/claude-of-tomorrow"));
  for (const { body } of server.requests) {
    expect(Object.keys(body).sort()).toEqual(
      expect.arrayContaining(["max_tokens", "messages", "model", "stream", "system", "tools"]),
    );
    expect(body).not.toHaveProperty("thread");
    expect(body).not.toHaveProperty("fallbacks");
    const fields = new Set(body.tools.flatMap((tool: object) => Object.keys(tool)));
    expect([...fields].sort() as string[]).toEqual(["cache_control", "description", "input_schema", "name"]);
  }
});

test("a limit nobody knows is not sent", async () => {
  await using server = await answer();
  const adapter = testAdapter(serverEnv(server.url));
  await call(adapter, request("vllm/m"));
  await call(adapter, request("vllm/m", { settings: { max_output_tokens: 500 } }));
  await call(adapter, request("openai/gpt-of-tomorrow"));
  await call(adapter, request("gemini/gemini-of-tomorrow"));
  await call(adapter, request("gemini/gemini-of-tomorrow", { settings: { max_output_tokens: 500 } }));
  const limits = server.requests.map(
    ({ body }) =>
      body.max_tokens ?? body.max_completion_tokens ?? body.max_output_tokens ?? body.generationConfig?.maxOutputTokens,
  );
  expect(limits).toEqual([undefined, 500, undefined, undefined, 500]);
});

test("an endpoint without a key gets no Authorization header", async () => {
  await using server = await answer();
  await call(testAdapter(serverEnv(server.url)), request("vllm/m"));
  expect(server.requests[0]?.headers).not.toHaveProperty("authorization");
  expect(server.listings[0]?.headers).not.toHaveProperty("authorization");
});

test.each(Object.values(PROTOCOLS))("%s: who we are, and nothing about the machine", async (handle) => {
  await using server = await answer();
  await call(testAdapter(serverEnv(server.url)), request(handle));
  const headers = server.requests[0]!.headers;
  expect(headers["user-agent"]).toMatch(/^letta\/\d/);
  expect(Object.keys(headers).filter((name) => name.startsWith("x-stainless"))).toEqual([]);
});

test("ANTHROPIC_AUTH_TOKEN travels as a bearer token", async () => {
  await using server = await answer();
  const env = testEnv({ ANTHROPIC_AUTH_TOKEN: "tok", ANTHROPIC_BASE_URL: server.url });
  await call(testAdapter(env), request("anthropic/claude-sonnet-4-6"));
  expect(server.requests[0]?.headers.authorization).toBe("Bearer tok");
  expect(server.requests[0]?.headers).not.toHaveProperty("x-api-key");
});

describe("an endpoint that only knows Chat Completions", () => {
  test("is asked once for Responses, then never again", async () => {
    await using server = await startModelServer(({ protocol }) => {
      return protocol === "responses" ? { status: 404, errorBody: { detail: "Not Found" } } : { text: "hi" };
    });
    const adapter = testAdapter(serverEnv(server.url));
    for (const _ of [1, 2]) expect((await call(adapter, request("openai/gpt-5.4"))).text).toBe("hi");
    expect(server.requests.map(({ protocol }) => protocol)).toEqual(["responses", "chat", "chat"]);
  });

  test("is not suspected when only the model is missing", async () => {
    await using server = await startModelServer([{ status: 404 }]);
    const { last } = await call(testAdapter(serverEnv(server.url)), request("openai/gpt-nope"));
    expect(last).toMatchObject({ error: { code: "not_found" } });
    expect(server.requests).toHaveLength(1);
  });
});

describe("replay", () => {
  const result = (id: string): ModelMessage => ({
    role: "toolResult",
    toolCallId: id,
    toolName: "Bash",
    content: [{ type: "text", text: "a.txt" }],
    isError: false,
    timestamp: 2,
  });

  async function firstTurn(handle: string, url: string): Promise<ModelAssistantMessage> {
    const { last } = await call(testAdapter(serverEnv(url)), request(handle));
    if (last.type !== "done") throw new Error(JSON.stringify(last));
    // Through our own storage.
    return JSON.parse(JSON.stringify(last.message));
  }

  const turn = {
    thinking: "hm",
    text: "let me look",
    toolCalls: [{ id: "c1", name: "Bash", args: { command: "ls" } }],
  };

  test("signatures come back to the model that made them", async () => {
    const raw: Record<string, unknown> = {};
    for (const handle of [PROTOCOLS.anthropic, PROTOCOLS.responses, PROTOCOLS.gemini]) {
      await using server = await startModelServer([turn, { text: "done" }]);
      const said = await firstTurn(handle, server.url);
      await call(
        testAdapter(serverEnv(server.url)),
        request(handle, { messages: [user("hello"), said, result("c1")] }),
      );
      raw[handle] = server.requests[1]?.body;
    }
    expect(raw[PROTOCOLS.anthropic]).toMatchObject({
      messages: [
        {},
        {
          content: [
            { type: "thinking", thinking: "hm", signature: "c2lnbmF0dXJl" },
            {},
            { type: "tool_use", id: "c1" },
          ],
        },
        {},
      ],
    });
    const { input } = raw[PROTOCOLS.responses] as { input: Record<string, unknown>[] };
    expect(input.find(({ type }) => type === "reasoning")).toMatchObject({ encrypted_content: "ZW5jcnlwdGVk" });
    expect(input.filter((item) => "id" in item)).toEqual([]);
    expect(input.filter(({ call_id }) => call_id === "c1")).toHaveLength(2);
    expect(JSON.stringify(raw[PROTOCOLS.gemini])).toContain('"thoughtSignature":"dGhvdWdodA=="');
  });

  test.each([
    [PROTOCOLS.anthropic, PROTOCOLS.responses],
    [PROTOCOLS.responses, PROTOCOLS.anthropic],
    [PROTOCOLS.gemini, PROTOCOLS.chat],
    [PROTOCOLS.chat, PROTOCOLS.gemini],
  ])("what began on %s goes on with %s", async (first, second) => {
    await using server = await startModelServer([turn, { text: "done" }]);
    const said = await firstTurn(first, server.url);
    const call1 = said.content.find((block) => block.type === "toolCall");
    const messages = [user("hello"), said, result(call1?.type === "toolCall" ? call1.id : "")];
    const { text } = await call(testAdapter(serverEnv(server.url)), request(second, { messages }));
    expect(text).toBe("done");
    const seen = server.requests[1]!;
    expect(seen.messages.map((message) => message.text).filter(Boolean)).toEqual(["hello", "let me look"]);
    expect(seen.toolResults.map((one) => one.text)).toEqual(["a.txt"]);
    // Thinking belongs to the model that thought it.
    expect(seen.messages.map(({ thinking }) => thinking).join("")).toBe("");
  });

  const partial: ModelAssistantMessage = {
    role: "assistant",
    content: [
      { type: "thinking", thinking: "unsigned" },
      { type: "text", text: "I was saying" },
      { type: "toolCall", id: "never", name: "Bash", arguments: {} },
    ],
    api: "anthropic-messages",
    provider: "anthropic",
    model: "claude-sonnet-4-6",
    usage: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, totalTokens: 0 },
    stopReason: "aborted",
    timestamp: 1,
  };

  test("the text of an interrupted reply stays, what was half done goes", async () => {
    await using server = await answer();
    const messages = [user("hello"), partial, user("go on")];
    await call(testAdapter(serverEnv(server.url)), request(PROTOCOLS.anthropic, { messages }));
    expect(server.requests[0]?.body.messages.slice(1, 2)).toEqual([
      { role: "assistant", content: [{ type: "text", text: "I was saying" }] },
    ]);
  });

  test("what providers refuse is left out: empty texts, orphans, a trailing reply", async () => {
    await using server = await answer();
    const spoken: ModelAssistantMessage = { ...partial, stopReason: "stop", content: [{ type: "text", text: "hi" }] };
    const messages = [user("  "), user("hello"), result("orphan"), spoken];
    await call(testAdapter(serverEnv(server.url)), request(PROTOCOLS.anthropic, { messages }));
    expect(server.requests[0]?.messages.map(({ role, text }) => [role, text])).toEqual([["user", "hello"]]);
  });
});

test.each([
  [{ reasoning: { reasoning_effort: "high" }, effort: "low" }, "high"],
  [{ effort: "xhigh", reasoning_effort: "low" }, "xhigh"],
  [{ reasoning_effort: "minimal" }, "minimal"],
  [{ reasoning_effort: "off" }, "none"],
  [{ effort: "high", thinking: { type: "disabled" } }, "none"],
  [{ effort: "enormous" }, undefined],
  [{}, undefined],
] as [Record<string, unknown>, ReasoningLevel | undefined][])("reasoning %j", (settings, expected) => {
  expect(reasoningLevel(settings)).toBe(expected);
});

test("the level reaches each protocol in its own words", async () => {
  await using server = await answer();
  const adapter = testAdapter(serverEnv(server.url));
  await call(adapter, request(PROTOCOLS.responses, { settings: { effort: "high" } }));
  await call(adapter, request(PROTOCOLS.responses, { settings: { effort: "none" } }));
  await call(adapter, request("anthropic/claude-sonnet-4-5", { settings: { effort: "low" } }));
  await call(adapter, request("anthropic/claude-sonnet-4-5", { settings: { thinking: { type: "disabled" } } }));
  await call(adapter, request(PROTOCOLS.gemini, { settings: { effort: "low" } }));
  expect(
    server.requests.map(({ body }) => body.reasoning ?? body.thinking ?? body.generationConfig?.thinkingConfig),
  ).toMatchObject([
    { effort: "high" },
    { effort: "none" },
    { type: "enabled", budget_tokens: 2048 },
    { type: "disabled" },
    { includeThoughts: true, thinkingBudget: 2048 },
  ]);
});

describe("the model when nobody chose", () => {
  test.each([
    [{ AWS_PROFILE: "work", ANTHROPIC_API_KEY: "k", OPENAI_API_KEY: "k" }, {}, "anthropic/claude-sonnet-5-5"],
    [{ OPENAI_API_KEY: "k", GEMINI_API_KEY: "k" }, {}, "openai/gpt-6.1-sol"],
    [{ AWS_PROFILE: "work", GROQ_API_KEY: "k" }, {}, "groq/openai/gpt-oss-120b"],
    [{ ANTHROPIC_API_KEY: "k" }, { defaultModel: "mine/m" }, "mine/m"],
  ])("%j %j", async (vars, settings, expected) => {
    expect(await testAdapter(testEnv(vars), { user: settings }).defaultModel()).toBe(expected);
  });

  test("is a local server's, when one runs, and none otherwise", async () => {
    await using server = await answer({ models: [{ id: "qwen" }] });
    expect(await testAdapter(testEnv({ LMSTUDIO_BASE_URL: server.url })).defaultModel()).toBe("lmstudio/qwen");
    expect(await testAdapter(testEnv()).defaultModel()).toBeNull();
  });
});

test("listing leaves out servers that do not answer and keeps what the catalogue knows", async () => {
  await using server = await answer({ models: [{ id: "qwen", contextWindow: 8192, vision: true }] });
  const env = testEnv({ LMSTUDIO_BASE_URL: server.url, AWS_PROFILE: "work" });
  const models = await testAdapter(env).listModels();
  const byProvider = Map.groupBy(models, (model) => model.provider_name);
  expect([...byProvider.keys()].sort()).toEqual(["amazon-bedrock", "lmstudio"]);
  expect(byProvider.get("lmstudio")).toMatchObject([
    { handle: "lmstudio/qwen", max_context_window: 8192, vision: true },
  ]);
});

test("an unusable handle is an error event, not an exception", async () => {
  const { events } = await call(testAdapter(testEnv()), request("nobody/m"));
  expect(events).toMatchObject([{ type: "error", error: { code: "not_found", retryable: false }, partial: null }]);
});

describe("Ollama", () => {
  test("a request that does not fit the served window is refused, with the setting that helps", async () => {
    await using server = await answer({ models: [{ id: "m", contextWindow: 2048 }] });
    const adapter = testAdapter(testEnv({ OLLAMA_BASE_URL: server.url }));
    const { last } = await call(adapter, request("ollama/m", { system: "x".repeat(12_000) }));
    expect(last).toMatchObject({
      error: { code: "context_overflow", hint: expect.stringContaining("OLLAMA_CONTEXT_LENGTH=16384") },
    });
    expect(server.requests).toHaveLength(0);
    expect((await call(adapter, request("ollama/m"))).text).toBe("ok");
    expect(await adapter.resolveModel("ollama/m")).toMatchObject({ max_context_window: 2048 });
  });

  test("behind a proxy that passes on /v1 only, the call is made all the same", async () => {
    await using server = await answer({ engines: [] });
    const adapter = testAdapter(testEnv({ OLLAMA_BASE_URL: server.url }));
    expect((await call(adapter, request("ollama/m"))).text).toBe("ok");
  });
});

test("local servers are found at their addresses, quickly", async () => {
  await using server = await answer({ models: [{ id: "m", contextWindow: 4096 }] });
  const env = testEnv({ LMSTUDIO_BASE_URL: server.url });
  const found = await probeLocalServers(env);
  expect(found).toMatchObject([{ connection: { name: "lmstudio" }, models: [{ id: "m", contextWindow: 4096 }] }]);
});

describe("servers that bend the rules", () => {
  test("events labelled as JSON are still events", async () => {
    await using server = await startModelServer([{ text: "ok", headers: { "content-type": "application/json" } }]);
    expect((await call(testAdapter(serverEnv(server.url)), request("vllm/m"))).text).toBe("ok");
  });

  test("a web page in place of a stream points at the base URL", async () => {
    await using server = await startModelServer([{ text: "x", headers: { "content-type": "text/html" } }]);
    const { last } = await call(testAdapter(serverEnv(server.url)), request("vllm/m"));
    expect(last).toMatchObject({ error: { code: "provider", hint: expect.stringContaining(server.url) } });
  });

  test.each(Object.values(PROTOCOLS))("%s: an error with status 200 is an error", async (handle) => {
    const errorBody = { error: { message: "Rate limit reached", code: "rate_limit_exceeded" } };
    await using server = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: () => Response.json(errorBody) });
    const { last } = await call(testAdapter(serverEnv(server.url.origin)), request(handle));
    expect(last).toMatchObject({ error: { code: "rate_limit", retryable: true } });
  });

  test.each(Object.values(PROTOCOLS))("%s: a redirect does not take the key elsewhere", async (handle) => {
    const elsewhere: string[] = [];
    await using other = Bun.serve({
      port: 0,
      hostname: "127.0.0.1",
      fetch: (request) => {
        elsewhere.push(request.url);
        return new Response("");
      },
    });
    const headers = { location: `http://localhost:${other.port}/take` };
    await using server = Bun.serve({
      port: 0,
      hostname: "127.0.0.1",
      fetch: () => new Response("", { status: 307, headers }),
    });
    const { last } = await call(testAdapter(serverEnv(server.url.origin)), request(handle));
    expect(last).toMatchObject({
      error: {
        code: "provider",
        retryable: false,
        message: expect.stringMatching(/answered with a redirect to http:.*take$/),
        hint: expect.stringContaining(server.url.origin),
      },
    });
    expect(elsewhere).toEqual([]);
  });

  test("a line without end is given up before memory is full", async () => {
    const piece = "x".repeat(1_000_000);
    const body = () =>
      new ReadableStream({
        start: (controller) => {
          controller.enqueue("data: ");
          // The response stays open, yet the call ends.
          for (let count = 0; count < 70; count += 1) controller.enqueue(piece);
        },
      });
    await using server = Bun.serve({
      port: 0,
      hostname: "127.0.0.1",
      fetch: () => new Response(body(), { headers: { "content-type": "text/event-stream" } }),
    });
    const { last } = await call(testAdapter(serverEnv(server.url.origin)), request("vllm/m"));
    expect(last).toMatchObject({
      error: { code: "provider", retryable: false, message: expect.stringContaining("more than any reply") },
    });
  });

  test.each(Object.values(PROTOCOLS))("%s: what it counts wrongly is not counted", async (handle) => {
    for (const usage of [
      { input: -5, output: -7 },
      { input: 1e308, output: 1e308 },
      JSON.parse('{"input":"12","output":null}'),
    ]) {
      await using server = await startModelServer([{ text: "ok", usage }]);
      const { last } = await call(testAdapter(serverEnv(server.url)), request(handle));
      if (last?.type !== "done") throw new Error("no reply");
      const { costUsd = 0, ...counts } = last.message.usage;
      expect(Number.isFinite(costUsd) && costUsd >= 0).toBe(true);
      expect(Object.values(counts).every((count) => Number.isSafeInteger(count) && count >= 0)).toBe(true);
    }
  });

  test("ids, names and texts of another type than the protocol's do no harm", async () => {
    const piece = (delta: object) =>
      `data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason: null }] })}\n\n`;
    const call5 = { index: 0, id: 5, function: { name: ["Bash"], arguments: "{}" } };
    const finish = `data: ${JSON.stringify({ choices: [{ index: 0, delta: {}, finish_reason: "tool_calls" }] })}\n\n`;
    const body = `${piece({ content: { a: 1 } })}${piece({ tool_calls: [call5] })}${finish}data: [DONE]\n\n`;
    const headers = { "content-type": "text/event-stream" };
    await using server = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: () => new Response(body, { headers }) });
    const { events, last } = await call(testAdapter(serverEnv(server.url.origin)), request("vllm/m"));
    for (const event of events) if (event.type === "text") expect(event.delta).toBeString();
    if (last?.type === "done") {
      for (const block of last.message.content) {
        if (block.type === "toolCall") expect([block.id, block.name]).toEqual(["", ""]);
      }
    } else expect(last).toMatchObject({ type: "error", error: { code: "provider" } });
  });

  test("a text that is no text is an empty one", async () => {
    const events = [
      { type: "message_start", message: { id: "m", type: "message", role: "assistant", content: [], usage: {} } },
      { type: "content_block_start", index: 0, content_block: { type: "text", text: [1] } },
      { type: "content_block_stop", index: 0 },
      { type: "message_delta", delta: { stop_reason: "end_turn" }, usage: {} },
      { type: "message_stop" },
    ];
    const body = events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join("");
    const headers = { "content-type": "text/event-stream" };
    await using server = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: () => new Response(body, { headers }) });
    const { last } = await call(testAdapter(serverEnv(server.url.origin)), request(PROTOCOLS.anthropic));
    expect(last).toMatchObject({ type: "done", message: { content: [{ type: "text", text: "" }] } });
  });

  test("arguments nested without end are not run and break nothing", async () => {
    const args = `${'{"a":'.repeat(20_000)}1${"}".repeat(20_000)}`;
    await using server = await startModelServer([{ toolCalls: [{ id: "c", name: "Bash", args }] }]);
    const { last } = await call(testAdapter(serverEnv(server.url)), request("vllm/m"));
    expect(last).toMatchObject({
      message: { content: [{ name: "Bash", arguments: {}, argumentsError: args }] },
    });
  });

  test("models that cannot be named are left out of lists", async () => {
    const data = [
      { id: "m\u001b[2J" },
      { id: "a\u202eb" },
      { id: "" },
      { id: 5 },
      null,
      { id: "ok" },
      { id: "模型/x y" },
    ];
    await using server = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: () => Response.json({ data }) });
    const models = await testAdapter(testEnv({ VLLM_BASE_URL: server.url.origin, VLLM_API_KEY: "k" })).listModels();
    expect(models.map(({ handle }) => handle)).toEqual(["vllm/ok", "vllm/模型/x y"]);
  });

  test("a list without end is given up", async () => {
    const piece = "x".repeat(1_000_000);
    const body = () =>
      new ReadableStream({
        // The response stays open, yet the question is answered.
        start: (controller) => {
          for (let count = 0; count < 33; count += 1) controller.enqueue(piece);
        },
      });
    await using server = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: () => new Response(body()) });
    const env = testEnv({ VLLM_BASE_URL: server.url.origin, VLLM_API_KEY: "k" });
    expect(await testAdapter(env).listModels()).toEqual([]);
  });

  test("a tool name that providers refuse does not spoil the conversation", async () => {
    await using server = await startModelServer([{ text: "ok" }]);
    const usage = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, totalTokens: 0 };
    const assistant = { role: "assistant" as const, api: "", provider: "", model: "", usage, timestamp: 0 };
    const names = ["", "Bash\n\u001b[31m!", "n".repeat(5000)];
    const calls = names.map((name, index) => ({ type: "toolCall" as const, id: `c${index}`, name, arguments: {} }));
    const results = names.map((toolName, index) => ({
      role: "toolResult" as const,
      toolCallId: `c${index}`,
      toolName,
      content: [{ type: "text" as const, text: "no such tool" }],
      isError: true,
      timestamp: 0,
    }));
    const messages = [
      { role: "user" as const, content: "go", timestamp: 0 },
      { ...assistant, content: calls, stopReason: "toolUse" as const },
      ...results,
    ];
    await call(testAdapter(serverEnv(server.url)), request("vllm/m", { messages }));
    const sent = server.requests[0]!.messages.flatMap(({ toolCalls }) => toolCalls.map(({ name }) => name));
    expect(sent).toEqual(["unnamed", "Bash___31m_", "n".repeat(64)]);
  });

  test("one that never answers is given up in time", async () => {
    await using server = await startModelServer([{ text: "late", delayMs: 60_000 }]);
    const env = serverEnv(server.url, { VLLM_TIMEOUT_MS: "100" });
    const { last } = await call(testAdapter(env), request("vllm/m"));
    expect(last).toMatchObject({ error: { code: "network", message: "vLLM: no data for 100 ms" } });
  });

  test("who reads slowly is not mistaken for a silent server", async () => {
    await using server = await startModelServer([{ text: ["one ", "two"] }]);
    const adapter = testAdapter(serverEnv(server.url, { VLLM_TIMEOUT_MS: "60" }));
    const types: string[] = [];
    for await (const event of adapter.stream(request("vllm/m"), new AbortController().signal)) {
      types.push(event.type);
      await Bun.sleep(80);
    }
    expect(types.at(-1)).toBe("done");
  });
});

test.each([
  ["mistral", "devstral-latest", "/v1/chat/completions"],
  ["openrouter", "anthropic/claude-sonnet-4.6", "/v1/chat/completions"],
  ["deepseek", "deepseek-v4-pro", "/v1/chat/completions"],
  ["xai", "grok-4.7", "/v1/responses"],
  ["minimax", "MiniMax-M3", "/v1/messages?beta=true"],
  ["zai-coding", "glm-5.3", "/v1/chat/completions"],
  ["openai-compatible", "m", "/v1/chat/completions"],
])("%s behind an address of the user's own", async (kind, model, path) => {
  await using server = await answer();
  const env = testEnv();
  const secrets = testSecrets(env);
  await secrets.saveProvider(
    { name: kind, providerType: kind, baseUrl: server.url, createdAt: "", updatedAt: "" },
    "the-key",
  );
  const { text } = await call(testAdapter(env, { secrets }), request(`${kind}/${model}`));
  expect(text).toBe("ok");
  expect(server.requests[0]).toMatchObject({ path, keys: ["the-key"], model });
});
