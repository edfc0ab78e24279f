// An adapter whose every provider is a loopback server, and helpers that run one call to its end.

import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ModelAdapter, ModelEvent, ModelMessage, ModelRequest, ModelTool } from "@/backend/model.ts";
import { createModelAdapter } from "@/providers/adapter.ts";
import { type Env, readEnv } from "@/store/env.ts";
import { resolvePaths } from "@/store/paths.ts";
import { openSecrets, type Secrets } from "@/store/secrets.ts";
import type { UserSettings } from "@/store/settings.ts";

/** Nothing listens there: local servers of the machine the tests run on must not matter. */
const NOWHERE = "http://127.0.0.1:9";

const homes = join(tmpdir(), `letta-providers-${process.pid}`);

/** For `afterAll` of every file that uses `testEnv`. */
export function removeHomes(): void {
  rmSync(homes, { recursive: true, force: true });
}

export function testEnv(vars: Record<string, string> = {}): Env {
  mkdirSync(homes, { recursive: true });
  const home = mkdtempSync(join(homes, "home-"));
  return readEnv({
    HOME: home,
    LETTA_SKIP_KEYCHAIN_CHECK: "1",
    OLLAMA_BASE_URL: NOWHERE,
    LMSTUDIO_BASE_URL: NOWHERE,
    LLAMA_CPP_BASE_URL: NOWHERE,
    ...vars,
  });
}

export function testSecrets(env: Env): Secrets {
  return openSecrets({ env, paths: resolvePaths(env), keychain: null });
}

export function testAdapter(env: Env, options: { user?: UserSettings; secrets?: Secrets } = {}): ModelAdapter {
  const secrets = options.secrets ?? testSecrets(env);
  return createModelAdapter({ env, secrets, settings: { user: options.user ?? {} } });
}

/** Keys and base URLs of the four protocols, all at one server. */
export function serverEnv(url: string, vars: Record<string, string> = {}): Env {
  return testEnv({
    ANTHROPIC_API_KEY: "key-anthropic",
    ANTHROPIC_BASE_URL: url,
    OPENAI_API_KEY: "key-openai",
    OPENAI_BASE_URL: `${url}/v1`,
    GEMINI_API_KEY: "key-gemini",
    GOOGLE_GEMINI_BASE_URL: url,
    VLLM_BASE_URL: url,
    ...vars,
  });
}

/** One model per protocol; the first three are in the catalogue. */
export const PROTOCOLS = {
  anthropic: "anthropic/claude-sonnet-4-6",
  responses: "openai/gpt-5.4",
  gemini: "gemini/gemini-2.5-pro",
  chat: "vllm/m",
} as const;
export type ProtocolName = keyof typeof PROTOCOLS;
export const PROTOCOL_NAMES = Object.keys(PROTOCOLS) as ProtocolName[];

export const SHELL_TOOL: ModelTool = {
  name: "Bash",
  description: "Runs a command",
  parameters: { type: "object", properties: { command: { type: "string" } }, required: ["command"] },
};
export const LIST_TOOL: ModelTool = {
  name: "List",
  description: "Lists what there is",
  parameters: { type: "object", properties: {} },
};

export function request(handle: string, overrides: Partial<ModelRequest> = {}): ModelRequest {
  return {
    handle,
    system: "You help.",
    messages: [user("hello")],
    tools: [SHELL_TOOL, LIST_TOOL],
    sessionId: "conv-1",
    ...overrides,
  };
}

export function user(text: string): ModelMessage {
  return { role: "user", content: text, timestamp: 1 };
}

export interface Collected {
  events: ModelEvent[];
  text: string;
  thinking: string;
  last: ModelEvent;
}

export async function collect(stream: AsyncIterable<ModelEvent>): Promise<Collected> {
  const events: ModelEvent[] = [];
  for await (const event of stream) events.push(event);
  const join = (type: "text" | "thinking"): string =>
    events.map((event) => (event.type === type ? event.delta : "")).join("");
  const last = events.at(-1);
  if (last === undefined) throw new Error("the stream had no events");
  return { events, text: join("text"), thinking: join("thinking"), last };
}

export function call(adapter: ModelAdapter, modelRequest: ModelRequest, signal?: AbortSignal): Promise<Collected> {
  return collect(adapter.stream(modelRequest, signal ?? new AbortController().signal));
}
