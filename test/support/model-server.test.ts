import { expect, test } from "bun:test";
import { type Fault, startModelServer } from "./model-server.ts";

const PATHS = {
  anthropic: "/v1/messages",
  responses: "/v1/responses",
  chat: "/v1/chat/completions",
  gemini: "/v1beta/models/m:streamGenerateContent?alt=sse",
};

async function call(url: string, path: string, headers: Record<string, string> = {}): Promise<string> {
  const body = JSON.stringify({ model: "m", stream: true });
  const response = await fetch(url + path, { method: "POST", body, headers });
  return response.text();
}

test.each(Object.entries(PATHS))("%s streams text and tool calls", async (_, path) => {
  await using server = await startModelServer([
    { text: "héllo wörld", toolCalls: [{ name: "Bash", args: { command: "ls" } }] },
  ]);
  const sse = await call(server.url, path);
  const events = sse.split("\n").filter((line) => line.startsWith("data: {"));
  expect(events.every((line) => JSON.parse(line.slice(6)))).toBe(true);
  expect(sse).toContain("Bash");
  expect(server.requests).toHaveLength(1);
  expect(server.requests[0]?.model).toBe("m");
  expect(await call(server.url, path)).toContain("(script");
});

test.each(["split_utf8", "crlf", "comments"] as Fault[])("%s changes the bytes' shape, not the text", async (fault) => {
  const reply = { text: ["né", "日本🙂"] };
  await using server = await startModelServer([reply, { ...reply, fault }]);
  const lines = (sse: string): string[] => sse.split(/\r?\n/).filter((line) => line.startsWith("data:"));
  const plain = lines(await call(server.url, PATHS.chat));
  expect(lines(await call(server.url, PATHS.chat))).toEqual(plain);
});

test.each(["cut", "cut_before_text"] as Fault[])("%s destroys the socket", async (fault) => {
  await using server = await startModelServer([{ text: "never whole", fault }]);
  expect(call(server.url, PATHS.anthropic)).rejects.toThrow();
  expect(server.closedEarly).toBe(0);
});

test("a client that leaves is counted", async () => {
  await using server = await startModelServer([{ text: "never whole", fault: "stall" }]);
  const abort = new AbortController();
  const response = await fetch(server.url + PATHS.chat, { method: "POST", body: "{}", signal: abort.signal });
  await response.body?.getReader().read();
  abort.abort();
  while (server.closedEarly === 0) await new Promise((resolve) => setImmediate(resolve));
  expect(server.closedEarly).toBe(1);
});

test("a key may be required", async () => {
  await using server = await startModelServer([{ text: "ok" }], { requireKey: "right" });
  expect(await call(server.url, PATHS.anthropic, { "x-api-key": "wrong" })).toContain("authentication_error");
  expect(await call(server.url, PATHS.chat, { authorization: "Bearer right" })).toContain("ok");
});

test("model lists answer in each server's own shape", async () => {
  await using server = await startModelServer([]);
  const get = async (path: string): Promise<unknown> => (await fetch(server.url + path)).json();
  expect(await get("/v1/models")).toMatchObject({ data: [{ id: "m", context_length: 32768 }] });
  expect(await get("/api/v0/models")).toMatchObject({ data: [{ id: "m", loaded_context_length: 32768 }] });
  expect(await get("/api/tags")).toMatchObject({ models: [{ name: "m" }] });
  expect(await get("/props")).toMatchObject({ default_generation_settings: { n_ctx: 32768 } });
  expect(await get("/v1beta/models")).toMatchObject({ models: [{ name: "models/m" }] });
});
