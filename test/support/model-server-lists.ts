// Model lists and probes of the servers a client may meet: OpenAI-compatible, Anthropic, Gemini, Ollama, LM Studio,
// llama.cpp.

import type { RecordedRequest } from "./model-server-requests.ts";

export interface ListedModel {
  id: string;
  /** Reported where the protocol has a place for it; null = the endpoint does not say. */
  contextWindow?: number | null;
  vision?: boolean;
}

const DEFAULT_MODELS: ListedModel[] = [{ id: "m", contextWindow: 32_768 }];
const NOT_FOUND = { status: 404, body: { error: { message: "not found", type: "not_found_error" } } };

export function answerListing(
  request: RecordedRequest,
  options: { models?: ListedModel[]; engines?: ("ollama" | "lmstudio" | "llama-cpp")[] },
): { status: number; body: unknown } {
  const models = options.models ?? DEFAULT_MODELS;
  const engines = options.engines ?? ["ollama", "lmstudio", "llama-cpp"];
  const path = request.path.split("?")[0] ?? "";
  if (path.endsWith("/v1beta/models")) return { status: 200, body: geminiList(models) };
  if (path.endsWith("/v1/models")) return { status: 200, body: openAiList(models) };
  if (path === "/api/v0/models")
    return engines.includes("lmstudio") ? { status: 200, body: lmStudioList(models) } : NOT_FOUND;
  if (path.startsWith("/api/")) return engines.includes("ollama") ? ollama(path, request, models) : NOT_FOUND;
  if (path === "/models" || path === "/props") {
    return engines.includes("llama-cpp") ? { status: 200, body: llamaCpp(path, models) } : NOT_FOUND;
  }
  return NOT_FOUND;
}

function openAiList(models: ListedModel[]): unknown {
  return {
    object: "list",
    has_more: false,
    data: models.map(({ id, contextWindow }) => ({
      id,
      object: "model",
      type: "model",
      display_name: id,
      created: 1_700_000_000,
      owned_by: "test",
      ...(contextWindow ? { context_length: contextWindow } : {}),
    })),
  };
}

function geminiList(models: ListedModel[]): unknown {
  return {
    models: models.map(({ id, contextWindow }) => ({
      name: `models/${id}`,
      displayName: id,
      supportedGenerationMethods: ["generateContent"],
      ...(contextWindow ? { inputTokenLimit: contextWindow, outputTokenLimit: 8192 } : {}),
    })),
  };
}

function lmStudioList(models: ListedModel[]): unknown {
  return {
    object: "list",
    data: models.map(({ id, contextWindow, vision }) => ({
      id,
      object: "model",
      type: vision ? "vlm" : "llm",
      state: "loaded",
      ...(contextWindow ? { loaded_context_length: contextWindow, max_context_length: contextWindow * 4 } : {}),
    })),
  };
}

function llamaCpp(path: string, models: ListedModel[]): unknown {
  const window = models[0]?.contextWindow;
  if (path === "/props")
    return { default_generation_settings: window ? { n_ctx: window } : {}, model_path: models[0]?.id };
  return {
    object: "list",
    data: models.map(({ id, contextWindow, vision }) => ({
      id,
      object: "model",
      status: { value: "loaded" },
      architecture: { input_modalities: vision ? ["text", "image"] : ["text"] },
      meta: contextWindow ? { n_ctx: contextWindow } : {},
    })),
  };
}

function ollama(path: string, request: RecordedRequest, models: ListedModel[]): { status: number; body: unknown } {
  const named = models.find(({ id }) => id === request.body?.model);
  switch (path) {
    case "/api/version":
      return { status: 200, body: { version: "0.12.0" } };
    case "/api/tags":
      return { status: 200, body: { models: models.map(({ id }) => ({ name: id, model: id, digest: `sha-${id}` })) } };
    case "/api/ps":
      return {
        status: 200,
        body: {
          models: models.map(({ id, contextWindow }) => ({
            name: id,
            model: id,
            ...(contextWindow ? { context_length: contextWindow } : {}),
          })),
        },
      };
    case "/api/show":
      if (named === undefined) return NOT_FOUND;
      return {
        status: 200,
        body: {
          capabilities: ["completion", "tools", ...(named.vision ? ["vision"] : [])],
          model_info: {
            "general.architecture": "llama",
            ...(named.contextWindow ? { "llama.context_length": named.contextWindow * 4 } : {}),
          },
        },
      };
    case "/api/generate":
      return named === undefined ? NOT_FOUND : { status: 200, body: { model: named.id, response: "", done: true } };
    default:
      return NOT_FOUND;
  }
}
