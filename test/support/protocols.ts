// The four model protocols as a user meets them: which variables point `letta` at a scripted server, and which handle
// picks a model there.

import { type RunOptions, type RunResult, runLetta } from "./binary.ts";
import { type ScriptedToolCall, startModelServer } from "./model-server.ts";
import type { Protocol } from "./model-server-frames.ts";

export interface ProtocolSetup {
  protocol: Protocol;
  handle: string;
  /** With only these set, the provider counts as connected. */
  env(url: string): Record<string, string>;
}

export const PROTOCOLS: ProtocolSetup[] = [
  {
    protocol: "anthropic",
    handle: "anthropic/claude-sonnet-5-5",
    env: (url) => ({ ANTHROPIC_API_KEY: "test-key", ANTHROPIC_BASE_URL: url }),
  },
  {
    protocol: "responses",
    handle: "openai/gpt-6.1-sol",
    env: (url) => ({ OPENAI_API_KEY: "test-key", OPENAI_BASE_URL: `${url}/v1` }),
  },
  {
    protocol: "chat",
    handle: "lmstudio/m",
    env: (url) => ({ LMSTUDIO_BASE_URL: `${url}/v1` }),
  },
  {
    protocol: "gemini",
    handle: "gemini/gemini-pro-latest",
    env: (url) => ({ GEMINI_API_KEY: "test-key", GOOGLE_GEMINI_BASE_URL: `${url}/v1beta` }),
  },
];

/** The one for tests that are not about protocols. */
export const CHAT: ProtocolSetup = PROTOCOLS[2]!;

/** Arguments and environment of a headless run against a scripted server. */
export function headless(
  url: string,
  args: string[],
  { handle, env }: ProtocolSetup = CHAT,
  toolset = "default",
): { args: string[]; env: Record<string, string> } {
  // The tools have the same names with all of them; what a family gets by itself is test/e2e/toolsets.test.ts.
  return { args: ["--backend", "local", "--toolset", toolset, "--model", handle, "-p", ...args], env: env(url) };
}

/** Runs one turn in which the model makes these calls at once, and returns what it was told about them. */
export async function callTools(
  calls: ScriptedToolCall[],
  options: RunOptions & { args?: string[] } = {},
): Promise<RunResult & { results: string[] }> {
  await using server = await startModelServer([{ toolCalls: calls }, { text: "done" }]);
  const { args, env } = headless(server.url, [...(options.args ?? ["--yolo"]), "go"]);
  const run = await runLetta(args, { ...options, env: { ...env, ...options.env } });
  return { ...run, results: server.requests[1]?.toolResults.map(({ text }) => text) ?? [] };
}
