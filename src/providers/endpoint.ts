// Asks an endpoint which models it serves, in that server's own way, and takes from the answer only what it really
// says: windows and capabilities are never guessed from names.

import { ProviderError } from "@/backend/model.ts";
import { errorMessage } from "@/lib/errors.ts";
import { isRecord, parseJson } from "@/lib/json.ts";
import { VERSION } from "@/version.ts";
import { type Connection, shownUrl } from "./connections.ts";
import { classifyFailure } from "./errors.ts";
import { readText, type WireFacts } from "./wire-tap.ts";

export interface EndpointModel {
  id: string;
  name?: string;
  /** Tokens the endpoint serves; null when it does not say. */
  contextWindow: number | null;
  maxTokens?: number;
  vision?: boolean;
}

/** Throws ProviderError with the HTTP reason; `network` when nobody answers within `timeoutMs`. */
export async function listEndpointModels(
  connection: Connection,
  options: { timeoutMs: number; signal?: AbortSignal },
): Promise<EndpointModel[]> {
  const timeout = AbortSignal.timeout(options.timeoutMs);
  const signal = options.signal === undefined ? timeout : AbortSignal.any([options.signal, timeout]);
  const request: Ask = { connection, signal, timeout };
  switch (connection.kind.listing) {
    case "catalogue":
      return [];
    case "anthropic":
      return openAiList(await ask(request, `${connection.baseUrl}/v1/models?limit=1000`));
    case "gemini":
      return geminiList(await ask(request, `${connection.baseUrl}/models?pageSize=1000`));
    case "ollama":
      return ollamaModels(request);
    case "lmstudio":
      return withFallback(
        async () => lmStudioList(await ask(request, `${serverRoot(connection)}/api/v0/models`)),
        request,
      );
    case "llama-cpp":
      return llamaCppModels(request);
    case "openai":
      return openAiModels(request);
  }
}

/** One authenticated question with the same failures: GET, or POST when there is a body. */
export async function fetchJson(
  connection: Connection,
  url: string,
  options: { timeoutMs: number; signal?: AbortSignal; body?: unknown },
): Promise<unknown> {
  const timeout = AbortSignal.timeout(options.timeoutMs);
  const signal = options.signal === undefined ? timeout : AbortSignal.any([options.signal, timeout]);
  return ask({ connection, signal, timeout }, url, options.body);
}

/** The longest list of models known has less than one megabyte; whatever listens on a probed port may send more. */
const MAX_ANSWER_BYTES = 32_000_000;

interface Ask {
  connection: Connection;
  signal: AbortSignal;
  /** Aborted: it was our time limit, not the caller. */
  timeout: AbortSignal;
}

async function ask({ connection, signal, timeout }: Ask, url: string, body?: unknown): Promise<unknown> {
  const facts: WireFacts = { errorInStream: false, html: false, complete: true, bytes: 0 };
  const fail = (message: string): ProviderError =>
    classifyFailure({ connection, modelId: "", facts, cancelled: signal.aborted && !timeout.aborted, message });
  let response: Response;
  let text: string;
  try {
    response = await fetch(url, {
      method: body === undefined ? "GET" : "POST",
      headers: { ...authHeaders(connection), ...(body === undefined ? {} : { "content-type": "application/json" }) },
      signal,
      redirect: "manual",
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    text = await readText(response, MAX_ANSWER_BYTES);
  } catch (error) {
    if (timeout.aborted) {
      throw new ProviderError(
        "network",
        `${connection.kind.label} at ${shownUrl(connection.baseUrl)} did not answer in time`,
        {
          retryable: true,
          cause: error,
        },
      );
    }
    facts.connectError = error;
    throw fail(errorMessage(error));
  }
  facts.status = response.status;
  facts.headers = response.headers;
  const parsed = parseJson(text);
  if (response.ok && parsed !== undefined) return parsed;
  facts.html = response.ok;
  facts.errorBody = parsed ?? text;
  throw fail(`${response.status}`);
}

function authHeaders({ kind, key, keyVar }: Connection): Record<string, string> {
  const headers: Record<string, string> = { "user-agent": `letta/${VERSION}` };
  if (key === null) return headers;
  if (kind.listing === "gemini") headers["x-goog-api-key"] = key;
  else if (kind.listing === "anthropic" && keyVar !== "ANTHROPIC_AUTH_TOKEN") {
    headers["x-api-key"] = key;
    headers["anthropic-version"] = "2023-06-01";
  } else headers.authorization = `Bearer ${key}`;
  if (kind.listing === "anthropic") headers["anthropic-version"] = "2023-06-01";
  return headers;
}

/** Base URL without its `/v1`, where a local server keeps its own endpoints. */
export function serverRoot({ baseUrl }: Connection): string {
  return baseUrl.replace(/\/v1$/, "");
}

async function openAiModels(request: Ask): Promise<EndpointModel[]> {
  const { baseUrl, kind } = request.connection;
  const path = kind.api === "mistral-conversations" ? "/v1/models" : "/models";
  return openAiList(await ask(request, baseUrl + path));
}

/** The server's own list, else `/v1/models`. An unreachable server is not asked twice. */
async function withFallback(own: () => Promise<EndpointModel[]>, request: Ask): Promise<EndpointModel[]> {
  try {
    return await own();
  } catch (error) {
    if (error instanceof ProviderError && ["auth", "network", "cancelled"].includes(error.code)) throw error;
    return openAiModels(request);
  }
}

async function ollamaModels(request: Ask): Promise<EndpointModel[]> {
  const root = serverRoot(request.connection);
  return withFallback(async () => {
    const [tags, loaded] = await Promise.all([
      ask(request, `${root}/api/tags`),
      ask(request, `${root}/api/ps`).catch(() => null), // older servers have no list of loaded models
    ]);
    const served = new Map(array(loaded, "models").map((model) => [text(model.name), number(model.context_length)]));
    return Promise.all(
      array(tags, "models").map(async (model) => {
        const id = text(model.name) ?? text(model.model) ?? "";
        const shown = await ask(request, `${root}/api/show`, { model: id }).catch(() => null); // a detail only
        return { id, ...ollamaDetails(shown), contextWindow: served.get(id) ?? ollamaDetails(shown).contextWindow };
      }),
    );
  }, request);
}

function ollamaDetails(shown: unknown): { contextWindow: number | null; vision?: boolean } {
  if (!isRecord(shown)) return { contextWindow: null };
  const info = isRecord(shown.model_info) ? shown.model_info : {};
  const window = Object.entries(info).find(([name]) => name.endsWith(".context_length"))?.[1];
  const capabilities = Array.isArray(shown.capabilities) ? shown.capabilities : undefined;
  const vision = capabilities === undefined ? {} : { vision: capabilities.includes("vision") };
  return { contextWindow: number(window) ?? null, ...vision };
}

function lmStudioList(body: unknown): EndpointModel[] {
  return array(body, "data")
    .filter((model) => model.type !== "embeddings")
    .map((model) => ({
      id: text(model.id) ?? "",
      contextWindow: number(model.loaded_context_length) ?? number(model.max_context_length) ?? null,
      vision: model.type === "vlm",
    }));
}

async function llamaCppModels(request: Ask): Promise<EndpointModel[]> {
  const root = serverRoot(request.connection);
  const models = await withFallback(async () => llamaCppList(await ask(request, `${root}/models`)), request);
  if (models.every(({ contextWindow }) => contextWindow !== null)) return models;
  const props = await ask(request, `${root}/props`).catch(() => null); // servers behind a router have none
  const settings =
    isRecord(props) && isRecord(props.default_generation_settings) ? props.default_generation_settings : {};
  const served = number(settings.n_ctx) ?? null;
  return models.map((model) => ({ ...model, contextWindow: model.contextWindow ?? served }));
}

function llamaCppList(body: unknown): EndpointModel[] {
  return array(body, "data").map((model) => {
    const meta = isRecord(model.meta) ? model.meta : {};
    const architecture = isRecord(model.architecture) ? model.architecture : {};
    const inputs = Array.isArray(architecture.input_modalities) ? architecture.input_modalities : undefined;
    return {
      id: text(model.id) ?? "",
      // n_ctx_train is what the model was trained for, not what is served.
      contextWindow: number(meta.n_ctx) ?? null,
      ...(inputs === undefined ? {} : { vision: inputs.includes("image") }),
    };
  });
}

function openAiList(body: unknown): EndpointModel[] {
  return array(body, "data").map((model) => {
    const name = text(model.display_name) ?? text(model.name);
    const maxTokens = number(model.max_output_tokens) ?? number(model.max_completion_tokens);
    const inputs = isRecord(model.architecture) ? model.architecture.input_modalities : undefined;
    return {
      id: text(model.id) ?? "",
      ...(name === undefined ? {} : { name }),
      contextWindow:
        number(model.context_length) ??
        number(model.max_model_len) ??
        number(model.context_window) ??
        number(model.max_input_tokens) ??
        null,
      ...(maxTokens === undefined ? {} : { maxTokens }),
      ...(Array.isArray(inputs) ? { vision: inputs.includes("image") } : {}),
    };
  });
}

function geminiList(body: unknown): EndpointModel[] {
  return array(body, "models")
    .filter((model) => {
      const methods = model.supportedGenerationMethods;
      return !Array.isArray(methods) || methods.includes("generateContent");
    })
    .map((model) => {
      const name = text(model.displayName);
      const maxTokens = number(model.outputTokenLimit);
      return {
        id: (text(model.name) ?? "").replace(/^models\//, ""),
        ...(name === undefined ? {} : { name }),
        contextWindow: number(model.inputTokenLimit) ?? null,
        ...(maxTokens === undefined ? {} : { maxTokens }),
      };
    });
}

function array(body: unknown, field: string): Record<string, unknown>[] {
  const list = Array.isArray(body) ? body : isRecord(body) ? body[field] : undefined;
  return Array.isArray(list) ? list.filter(isRecord).filter((item) => text(item.id ?? item.name)) : [];
}

/** No id or name holds control characters; printed, they would steer the terminal. */
function text(value: unknown): string | undefined {
  return typeof value === "string" && /^\P{C}+$/u.test(value) ? value : undefined;
}

function number(value: unknown): number | undefined {
  return typeof value === "number" && Number.isFinite(value) && value > 0 ? value : undefined;
}
