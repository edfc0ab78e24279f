import { afterAll, expect, test } from "bun:test";
import { codeOf } from "@/lib/errors.ts";
import { listConnections, parseTimeout, shownUrl, splitHandle } from "@/providers/connections.ts";
import { findKind, normaliseBaseUrl, PROVIDER_KINDS } from "@/providers/kinds.ts";
import { readEnv } from "@/store/env.ts";
import type { ProviderRecord } from "@/store/secrets.ts";
import { removeHomes, testEnv, testSecrets } from "./support.ts";

afterAll(removeHomes);

const NOBODY = {
  listProviders: async () => [],
  findKey: async () => null,
  saveProvider: async () => {},
  removeProvider: async () => false,
  location: "",
};
const names = async (vars: Record<string, string>): Promise<string[]> =>
  (await listConnections(readEnv(vars), NOBODY)).map(({ name }) => name);

function record(name: string, providerType: string, more: Partial<ProviderRecord> = {}): ProviderRecord {
  return { name, providerType, createdAt: "", updatedAt: "", ...more };
}

test.each([
  [{ AWS_PROFILE: "work", ANTHROPIC_API_KEY: "k" }, ["anthropic", "amazon-bedrock"]],
  [
    { OPENROUTER_API_KEY: "k", GEMINI_API_KEY: "k", OPENAI_API_KEY: "k", ANTHROPIC_API_KEY: "k" },
    ["anthropic", "openai", "google", "openrouter"],
  ],
  [{ OLLAMA_BASE_URL: "http://x", GROQ_API_KEY: "k" }, ["groq", "ollama"]],
  [{ AWS_REGION: "eu-west-1" }, []],
  [{ OPENAI_BASE_URL: "http://x" }, []],
  [{ ANTHROPIC_API_KEY: "" }, []],
] as [Record<string, string>, string[]][])("in order of preference: %j", async (vars, expected) => {
  expect(await names(vars)).toEqual(expected);
});

test("a stored key beats the environment's, and an endpoint keeps its own name", async () => {
  const env = testEnv({ ANTHROPIC_API_KEY: "from-env" });
  const secrets = testSecrets(env);
  await secrets.saveProvider(record("anthropic", "anthropic"), "stored");
  await secrets.saveProvider(record("mine", "openai-compatible", { baseUrl: "http://x" }), null);
  await secrets.saveProvider(record("lc-openai", "openai"), "old");
  const connections = await listConnections(env, secrets);
  expect(connections.slice(0, 3)).toMatchObject([
    { name: "anthropic", key: "stored", source: "stored" },
    { name: "openai", key: "old" },
    { name: "mine", key: null, baseUrl: "http://x/v1" },
  ]);
});

test.each([
  ["anthropic/claude-x", "anthropic", "claude-x"],
  ["gemini/gemini-2.5-pro", "google", "gemini-2.5-pro"],
  ["google_ai/g", "google", "g"],
  ["openrouter/anthropic/claude", "openrouter", "anthropic/claude"],
  ["openai/ollama/qwen:7b", "ollama", "qwen:7b"],
  ["openai/gpt", "openai", "gpt"],
  ["llama.cpp/m", "llama-cpp", "m"],
  ["ollama/m", "ollama", "m"],
])("%s goes to %s", async (handle, provider, model) => {
  const env = readEnv({ ANTHROPIC_API_KEY: "k", OPENAI_API_KEY: "k", GEMINI_API_KEY: "k", OPENROUTER_API_KEY: "k" });
  const { connection, modelId } = splitHandle(handle, await listConnections(env, NOBODY), env);
  expect([connection.name, modelId]).toEqual([provider, model]);
});

test.each([
  ["antropic/x", "not_found", /did you mean "anthropic"\?/],
  ["gpt-5", "not_found", /is not a model handle/],
  ["openai/", "not_found", /is not a model handle/],
  ["openai/gpt", "no_provider", /OpenAI is not connected/],
])("%s: %s", async (handle, code, message) => {
  const env = readEnv({ ANTHROPIC_API_KEY: "k" });
  const connections = await listConnections(env, NOBODY);
  try {
    splitHandle(handle, connections, env);
    throw new Error("resolved");
  } catch (error) {
    expect(codeOf(error) as string).toBe(code);
    expect(String(error)).toMatch(message);
    expect((error as { hint?: string }).hint).toContain("anthropic");
  }
});

test.each([
  ["openai", "http://h:1", "http://h:1/v1"],
  ["openai", "http://h:1/", "http://h:1/v1"],
  ["openai", "http://h:1/v1/", "http://h:1/v1"],
  ["openai", "https://h/openai/v1", "https://h/openai/v1"],
  ["openai", "https://h/api/paas/v4", "https://h/api/paas/v4"],
  ["lmstudio", "localhost:1234", "http://localhost:1234/v1"],
  ["anthropic", "http://h:1/v1", "http://h:1"],
  ["anthropic", "http://h:1", "http://h:1"],
  ["google", "http://h:1", "http://h:1/v1beta"],
  ["google", "http://h:1/v1beta", "http://h:1/v1beta"],
])("%s at %s", (kind, typed, expected) => {
  expect(normaliseBaseUrl(findKind(kind)!, typed)).toBe(expected);
});

test.each([
  ["600s", 600_000],
  ["10m", 600_000],
  ["1500", 1500],
  ["250ms", 250],
  ["off", 0],
  ["soon", null],
])("timeout %s", (text, expected) => expect(parseTimeout(text)).toBe(expected as number | null));

test("the nearest timeout wins", async () => {
  const vars = {
    OPENAI_API_KEY: "k",
    ANTHROPIC_API_KEY: "k",
    GROQ_API_KEY: "k",
    LETTA_CODE_LOCAL_PROVIDER_TIMEOUT_MS: "1000",
    OPENAI_TIMEOUT_MS: "2s",
    LETTA_CODE_GROQ_TIMEOUT_MS: "off",
  };
  const connections = await listConnections(readEnv(vars), NOBODY);
  const limits = Object.fromEntries(connections.map(({ name, timeoutMs }) => [name, timeoutMs]));
  expect(limits).toEqual({ anthropic: 1000, openai: 2000, groq: 0 });
});

test("no two kinds share a name", () => {
  const all = PROVIDER_KINDS.flatMap(({ id, aliases }) => [id, ...aliases]);
  expect(all.length).toBe(new Set(all).size);
});

test.each([
  ["http://127.0.0.1:1234/v1", "http://127.0.0.1:1234/v1"],
  ["https://user:secret@host.example/v1/?key=secret#x", "https://host.example/v1"],
  ["not a url", "not a url"],
])("%s is shown as %s", (url, shown) => expect(shownUrl(url)).toBe(shown));
