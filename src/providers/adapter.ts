// The ModelAdapter of the product: finds the provider a handle names, opens the stream, lists models. Everything heavy
// (pi-ai's protocol modules, the catalogue) is imported when a request needs it, one protocol and one provider at a time.

import { type ModelAdapter, type ModelEvent, type ModelRequest, ProviderError } from "@/backend/model.ts";
import type { ModelRecord } from "@/backend/wire.ts";
import { orAbort } from "@/lib/abort.ts";
import { codeOf, errorMessage, hintOf } from "@/lib/errors.ts";
import type { Env } from "@/store/env.ts";
import type { Secrets } from "@/store/secrets.ts";
import type { SettingsStore } from "@/store/settings.ts";
import { type Connection, listConnections, splitHandle } from "./connections.ts";
import { type EndpointModel, listEndpointModels } from "./endpoint.ts";
import { probeLocalServers } from "./local-servers.ts";
import { listConnectionModels, type ResolvedModel, resolveModel, toModelRecord } from "./models.ts";
import { assertFits, servedWindow } from "./ollama.ts";
import { type CallResult, streamCall } from "./stream.ts";

export interface AdapterOptions {
  env: Env;
  settings: Pick<SettingsStore, "user">;
  secrets: Secrets;
  now?: () => number;
}

const LIST_TIMEOUT_MS = 5000;
const LOCAL_LIST_TIMEOUT_MS = 2000;
/** How long a list is believed. Local servers change what they serve while we run; a dead one is not asked every turn. */
const LIST_AGE_MS = 60_000;

export function createModelAdapter({ env, settings, secrets, now = Date.now }: AdapterOptions): ModelAdapter {
  const lists = new Map<string, { at: number; models: Promise<EndpointModel[]> }>();
  /** Base URLs whose server has no Responses API: asked once, then Chat Completions. */
  const chatOnly = new Set<string>();
  /** Windows Ollama really serves, by base URL and model. */
  const served = new Map<string, number>();

  function endpointModels(connection: Connection): Promise<EndpointModel[]> {
    const key = `${connection.name} ${connection.baseUrl}`;
    const known = lists.get(key);
    if (known !== undefined && now() - known.at < LIST_AGE_MS) return known.models;
    const timeoutMs = connection.kind.local ? LOCAL_LIST_TIMEOUT_MS : LIST_TIMEOUT_MS;
    const models = listEndpointModels(connection, { timeoutMs });
    lists.set(key, { at: now(), models });
    return models;
  }

  /** Hosted models that are not in the catalogue are looked up only when their window matters. */
  async function resolve(handle: string, lookUp: "always" | "local"): Promise<ResolvedModel> {
    const { connection, modelId } = splitHandle(handle, await listConnections(env, secrets), env);
    const ask = lookUp === "always" || connection.kind.local;
    const model = await resolveModel(connection, modelId, async () => {
      return ask ? endpointModels(connection).catch(() => []) : []; // only details are lost
    });
    const window = served.get(`${connection.baseUrl} ${modelId}`);
    return window === undefined
      ? model
      : { ...model, contextWindow: window, pi: { ...model.pi, contextWindow: window } };
  }

  /** What a call needs, or the reason why it cannot be made. */
  async function prepare(request: ModelRequest, signal: AbortSignal): Promise<ResolvedModel> {
    const model = await resolve(request.handle, "local");
    const { connection, modelId } = model;
    if (connection.kind.id !== "ollama") return model;
    const window = await servedWindow(connection, modelId, signal);
    if (window === null) return model;
    served.set(`${connection.baseUrl} ${modelId}`, window);
    assertFits(request, window, modelId);
    return { ...model, contextWindow: window, pi: { ...model.pi, contextWindow: window } };
  }

  async function* stream(request: ModelRequest, signal: AbortSignal): AsyncIterable<ModelEvent> {
    let model: ResolvedModel;
    try {
      model = await orAbort(prepare(request, signal), signal); // nobody who gave up should wait for a slow list
    } catch (error) {
      yield { type: "error", error: asProviderError(error, signal), partial: null };
      return;
    }
    if (model.pi.api !== "openai-responses" || !model.connection.customUrl) {
      yield* streamCall(model, request, signal);
      return;
    }
    if (!chatOnly.has(model.connection.baseUrl)) {
      const missing = yield* unlessRouteIsMissing(streamCall(model, request, signal));
      if (!missing) return;
      chatOnly.add(model.connection.baseUrl);
    }
    yield* streamCall(overChatCompletions(model), request, signal);
  }

  async function listModels(): Promise<ModelRecord[]> {
    const connections = await listConnections(env, secrets);
    const local = (await probeLocalServers(env, connections)).map(({ connection }) => connection);
    const lists = await Promise.all(
      [...connections, ...local].map(async (connection) => {
        const endpoint = await endpointModels(connection).catch(() => null);
        if (endpoint === null && connection.kind.local) return [];
        // A hosted provider that does not answer right now still has the models the catalogue knows.
        return listConnectionModels(connection, endpoint ?? []);
      }),
    );
    return lists.flat().map(toModelRecord);
  }

  async function defaultModel(): Promise<string | null> {
    const saved = settings.user.defaultModel;
    if (saved) return saved;
    const connections = await listConnections(env, secrets);
    for (const connection of connections.filter(({ kind }) => !kind.local)) {
      const model = connection.kind.defaultModel ?? (await firstModel(connection));
      if (model !== null) return `${connection.name}/${model}`;
    }
    for (const connection of connections.filter(({ kind }) => kind.local)) {
      const model = await firstModel(connection);
      if (model !== null) return `${connection.name}/${model}`;
    }
    const [found] = await probeLocalServers(env, connections);
    return found?.models[0] === undefined ? null : `${found.connection.name}/${found.models[0].id}`;
  }

  async function firstModel(connection: Connection): Promise<string | null> {
    const endpoint = await endpointModels(connection).catch(() => []);
    const models = await listConnectionModels(connection, endpoint);
    return models[0]?.modelId ?? null;
  }

  return {
    stream,
    listModels,
    defaultModel,
    resolveModel: async (handle) => toModelRecord(await resolve(handle, "always")),
  };
}

/** Passes events on. True when the server does not know the route, which is only so before any output. */
async function* unlessRouteIsMissing(
  call: AsyncGenerator<ModelEvent, CallResult>,
): AsyncGenerator<ModelEvent, boolean> {
  let failure: ModelEvent | undefined;
  while (true) {
    const next = await call.next();
    if (next.done) {
      const { facts, produced } = next.value;
      const missing = failure !== undefined && !produced && isMissingRoute(facts.status, facts.errorBody);
      if (failure !== undefined && !missing) yield failure;
      return missing;
    }
    if (next.value.type === "error") failure = next.value;
    else yield next.value;
  }
}

/** A missing model is 404 as well, but then the body talks about the model. */
function isMissingRoute(status: number | undefined, body: unknown): boolean {
  if (status === 405 || status === 501) return true;
  return status === 404 && !/model/i.test(JSON.stringify(body ?? ""));
}

function overChatCompletions(model: ResolvedModel): ResolvedModel {
  const { compat: _, ...pi } = model.pi;
  return { ...model, pi: { ...pi, api: "openai-completions" } };
}

function asProviderError(error: unknown, signal: AbortSignal): ProviderError {
  if (signal.aborted) return new ProviderError("cancelled", "cancelled", { cause: error, retryable: false });
  if (error instanceof ProviderError) return error;
  // A credentials file that does not parse, a keychain that is locked.
  const code = codeOf(error) === "auth" ? "auth" : "provider";
  const hint = hintOf(error);
  return new ProviderError(code, errorMessage(error), {
    cause: error,
    retryable: false,
    ...(hint === undefined ? {} : { hint }),
  });
}
