// Ollama loads a model on its first request and then serves a window that may be far smaller than the model's own; what
// does not fit is dropped from the front of the prompt without a word. So the model is loaded first, the window really
// served is read, and a request that cannot fit is refused.

import { estimateTokens, type ModelRequest, ProviderError } from "@/backend/model.ts";
import { codeOf } from "@/lib/errors.ts";
import type { Connection } from "./connections.ts";
import { fetchJson, serverRoot } from "./endpoint.ts";

/** Loading a large model from disk takes a while. */
const LOAD_TIMEOUT_MS = 120_000;
const PS_TIMEOUT_MS = 2000;

/** Tokens the loaded model serves; null when this Ollama does not say, or the model runs in Ollama's cloud. Throws
 *  ProviderError when the model cannot be loaded. */
export async function servedWindow(
  connection: Connection,
  modelId: string,
  signal: AbortSignal,
): Promise<number | null> {
  const loaded = await readLoaded(connection, modelId, signal);
  if (loaded !== undefined) return loaded;
  const url = `${serverRoot(connection)}/api/generate`;
  const body = { model: modelId, prompt: "", stream: false };
  await fetchJson(connection, url, { body, timeoutMs: LOAD_TIMEOUT_MS, signal });
  return (await readLoaded(connection, modelId, signal)) ?? null;
}

/** Refuses what Ollama would silently cut. */
export function assertFits(request: ModelRequest, window: number, modelId: string): void {
  const fixed = estimateTokens(request.system) + estimateTokens(JSON.stringify(request.tools));
  const needed = fixed + estimateTokens(JSON.stringify(request.messages.map(withoutImages)));
  if (needed < window) return;
  const wanted = 2 ** Math.ceil(Math.log2(Math.max(16_384, needed * 1.5)));
  const hint = `Start Ollama with a larger window: OLLAMA_CONTEXT_LENGTH=${wanted}`;
  const what = fixed >= window ? "the system prompt and tools alone need" : "the request needs";
  throw new ProviderError(
    "context_overflow",
    `Ollama serves ${modelId} with a window of ${window} tokens, but ${what} about ${fixed >= window ? fixed : needed}`,
    { retryable: false, hint },
  );
}

/** Undefined: not loaded. */
async function readLoaded(
  connection: Connection,
  modelId: string,
  signal: AbortSignal,
): Promise<number | null | undefined> {
  const url = `${serverRoot(connection)}/api/ps`;
  const body = await fetchJson(connection, url, { timeoutMs: PS_TIMEOUT_MS, signal }).catch((error) => {
    // Only `/v1` is passed on to us here, by a proxy for example.
    if (codeOf(error) === "not_found") return null;
    throw error;
  });
  if (body === null) return null;
  const models = (body as { models?: { name?: string; model?: string; context_length?: number }[] }).models ?? [];
  const names = [modelId, `${modelId}:latest`];
  const found = models.find(({ name = "", model = "" }) => names.includes(name) || names.includes(model));
  return found === undefined ? undefined : (found.context_length ?? null);
}

function withoutImages(message: ModelRequest["messages"][number]): unknown {
  if (typeof message.content === "string") return message.content;
  return message.content.map((part) => (part.type === "image" ? "" : part));
}
