// The ModelAdapter of the product: finds the provider a handle names, opens the stream, lists models. Everything heavy
// (pi-ai's protocol modules, the catalogue) is imported when a request needs it, one protocol and one provider at a time.

import { type ModelAdapter, type ModelEvent, type ModelRequest, ProviderError } from "@/backend/model.ts";
import type { ModelRecord } from "@/backend/wire.ts";
import { errorMessage } from "@/lib/errors.ts";
import type { Env } from "@/store/env.ts";
import type { Secrets } from "@/store/secrets.ts";
import type { SettingsStore } from "@/store/settings.ts";
import { type Connection, listConnections, splitHandle } from "./connections.ts";
import { type EndpointModel, listEndpointModels } from "./endpoint.ts";
import { probeLocalServers } from "./local-servers.ts";
import { listConnectionModels, type ResolvedModel, resolveModel, toModelRecord } from "./models.ts";
import { type CallResult, streamCall } from "./stream.ts";

export interface AdapterOptions {
  env: Env;
  settings: Pick<SettingsStore, "user">;
  secrets: Secrets;
}

/** A configured endpoint's list may take this long; a local server nobody configured gets less. */
const LIST_TIMEOUT_MS = 5000;
const LOCAL_LIST_TIMEOUT_MS = 2000;

export function createModelAdapter({ env, settings, secrets }: AdapterOptions): ModelAdapter {
  const endpointLists = new Map<string, Promise<EndpointModel[]>>();
  /** Base URLs whose server has no Responses API: asked once, then Chat Completions. */
  const chatOnly = new Set<string>();

  /** One list per endpoint and process; a failure is forgotten, so that the next question asks again. */
  function endpointModels(connection: Connection): Promise<EndpointModel[]> {
    const key = `${connection.name} ${connection.baseUrl}`;
    let list = endpointLists.get(key);
    if (list === undefined) {
      const timeoutMs = connection.kind.local ? LOCAL_LIST_TIMEOUT_MS : LIST_TIMEOUT_MS;
      list = listEndpointModels(connection, { timeoutMs });
      list.catch(() => endpointLists.delete(key));
      endpointLists.set(key, list);
    }
    return list;
  }

  async function resolve(handle: string, needsWindow: boolean): Promise<ResolvedModel> {
    const { connection, modelId } = splitHandle(handle, await listConnections(env, secrets), env);
    const endpoint = (): Promise<EndpointModel[]> => endpointModels(connection).catch(() => []); // only details are lost
    return resolveModel(connection, modelId, needsWindow ? endpoint : async () => []);
  }

  async function* stream(request: ModelRequest, signal: AbortSignal): AsyncIterable<ModelEvent> {
    let model: ResolvedModel;
    try {
      model = await resolve(request.handle, true);
    } catch (error) {
      yield { type: "error", error: asProviderError(error), partial: null };
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
    resolveModel: async (handle) => toModelRecord(await resolve(handle, true)),
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

function asProviderError(error: unknown): ProviderError {
  if (error instanceof ProviderError) return error;
  return new ProviderError("provider", errorMessage(error), { cause: error, retryable: false });
}
