// One model of one connection: what a request needs to know about it, and the record shown to people. The context
// window comes from the catalogue, else from the endpoint, else from the user; when none of them knows, it stays unknown.

import type { ModelRecord } from "@/backend/wire.ts";
import { type CatalogueModel, findCatalogueModel, loadCatalogue } from "./catalogue.ts";
import type { Connection } from "./connections.ts";
import type { EndpointModel } from "./endpoint.ts";
import type { Api } from "./kinds.ts";

export interface ResolvedModel {
  connection: Connection;
  modelId: string;
  /** For pi-ai. `contextWindow` and `maxTokens` are 0 when unknown. */
  pi: CatalogueModel;
  /** The catalogue has it: prices, levels and limits are facts. */
  known: boolean;
  contextWindow: number | null;
  maxTokens: number | null;
}

/** `endpoint` is asked only when the catalogue does not know the window. */
export async function resolveModel(
  connection: Connection,
  modelId: string,
  endpoint: () => Promise<EndpointModel[]>,
): Promise<ResolvedModel> {
  const known = await findCatalogueModel(connection.kind.id, modelId);
  if (known !== undefined) return fromCatalogue(connection, modelId, known);
  const listed = (await endpoint()).find(({ id }) => id === modelId || id === `${modelId}:latest`);
  return fromEndpoint(connection, modelId, listed);
}

/** Everything a connection offers: what the endpoint lists, described by the catalogue where it can. */
export async function listConnectionModels(
  connection: Connection,
  endpoint: EndpointModel[],
): Promise<ResolvedModel[]> {
  const catalogue = await loadCatalogue(connection.kind.id);
  if (connection.kind.listing === "catalogue") {
    return Object.values(catalogue).map((model) => fromCatalogue(connection, model.id, model));
  }
  return endpoint.map((model) => {
    const known = catalogue[model.id];
    return known === undefined ? fromEndpoint(connection, model.id, model) : fromCatalogue(connection, model.id, known);
  });
}

export function toModelRecord({ connection, modelId, pi, contextWindow, maxTokens }: ResolvedModel): ModelRecord {
  return {
    handle: `${connection.name}/${modelId}`,
    model: modelId,
    display_name: pi.name,
    provider_type: connection.kind.id,
    provider_name: connection.name,
    provider_category: "byok",
    max_context_window: contextWindow,
    max_tokens: maxTokens,
    reasoning: pi.reasoning,
    vision: pi.input.includes("image"),
  };
}

function fromCatalogue(connection: Connection, modelId: string, known: CatalogueModel): ResolvedModel {
  const { kind, customUrl, baseUrl } = connection;
  // The catalogue's address and protocol belong to the provider itself; behind another address only the kind's own
  // protocol can be expected.
  const sameApi = !customUrl || known.api === kind.api;
  const compat = sameApi ? plainCompat(known, customUrl) : undefined;
  const pi: CatalogueModel = {
    ...known,
    id: modelId,
    provider: known.provider,
    api: sameApi ? known.api : kind.api,
    // Some providers serve single models at another address of theirs.
    baseUrl: baseUrl !== "" && (customUrl || known.api === kind.api) ? baseUrl : known.baseUrl,
  };
  if (compat === undefined) delete pi.compat;
  else pi.compat = compat;
  return {
    connection,
    modelId,
    pi,
    known: true,
    contextWindow: known.contextWindow || toldWindow(connection, modelId),
    maxTokens: known.maxTokens || null,
  };
}

/** Without the features we do not use: each changes the request, and proxies refuse what they do not know. */
function plainCompat(model: CatalogueModel, customUrl: boolean): CatalogueModel["compat"] {
  if (model.api !== "anthropic-messages") return model.compat;
  const { allowedFallbackModels: _fallback, ...compat } = (model.compat ?? {}) as Record<string, unknown>;
  return {
    ...compat,
    supportsMidConvoSystemMessages: false,
    supportsMidConvoToolChanges: false,
    supportsMidConvoEffort: false,
    supportsMessageThreads: false,
    ...(customUrl ? { supportsEagerToolInputStreaming: false } : {}),
  } as CatalogueModel["compat"];
}

function fromEndpoint(connection: Connection, modelId: string, listed: EndpointModel | undefined): ResolvedModel {
  const told = toldWindow(connection, modelId);
  const contextWindow = listed?.contextWindow ?? told;
  const maxTokens = listed?.maxTokens ?? null;
  return {
    connection,
    modelId,
    pi: {
      id: modelId,
      name: listed?.name ?? modelId,
      api: connection.kind.api,
      provider: connection.kind.id === "openai-compatible" ? connection.name : connection.kind.id,
      baseUrl: connection.baseUrl,
      reasoning: false,
      // Sending a picture to a model that cannot see is an error; hosted models nearly all can.
      input: (listed?.vision ?? !connection.kind.local) ? ["text", "image"] : ["text"],
      cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
      contextWindow: contextWindow ?? 0,
      maxTokens: maxTokens ?? (NEEDS_LIMIT.has(connection.kind.api) ? FALLBACK_MAX_TOKENS : 0),
      ...unlistedCompat(connection),
    },
    known: false,
    contextWindow,
    maxTokens,
  };
}

/** `*` stands for all models of an endpoint that was connected without listing them. */
function toldWindow({ record }: Connection, modelId: string): number | null {
  return record?.contextWindows?.[modelId] ?? record?.contextWindows?.["*"] ?? null;
}

/** Protocols that refuse a request without an output limit. */
const NEEDS_LIMIT = new Set<Api>(["anthropic-messages"]);
const FALLBACK_MAX_TOKENS = 32_000;

/** Local servers follow the oldest form of the protocol. */
function unlistedCompat({ kind, customUrl }: Connection): { compat?: CatalogueModel["compat"] } {
  if (kind.api === "anthropic-messages") {
    return {
      compat: {
        supportsMessageThreads: false,
        ...(customUrl ? { supportsEagerToolInputStreaming: false } : {}),
      } as CatalogueModel["compat"],
    };
  }
  if (kind.api !== "openai-completions" || !kind.local) return {};
  return {
    compat: {
      supportsStore: false,
      supportsDeveloperRole: false,
      supportsReasoningEffort: false,
      supportsUsageInStreaming: true,
      maxTokensField: "max_tokens",
    } as CatalogueModel["compat"],
  };
}
