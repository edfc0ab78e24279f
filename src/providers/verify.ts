// Does this connection work? Asks the endpoint for its models, which is free everywhere and needs the key nearly
// everywhere; where the list is public, a question that does need it.

import { ProviderError } from "@/backend/model.ts";
import type { Connection } from "./connections.ts";
import { type EndpointModel, fetchJson, listEndpointModels } from "./endpoint.ts";
import { listConnectionModels } from "./models.ts";

export interface Verified {
  models: { id: string; contextWindow: number | null }[];
  /** False: nothing the endpoint offers for free needs the key. */
  keyChecked: boolean;
}

const VERIFY_TIMEOUT_MS = 15_000;
/** Endpoints that list their models for everybody. */
const PUBLIC_LISTS = new Set(["openrouter", "huggingface", "nvidia"]);

/** Throws ProviderError with the HTTP reason. */
export async function verifyConnection(connection: Connection, timeoutMs = VERIFY_TIMEOUT_MS): Promise<Verified> {
  const { kind } = connection;
  const listed = await listEndpointModels(connection, { timeoutMs });
  return {
    models: await describe(connection, listed),
    keyChecked:
      kind.listing !== "catalogue" &&
      connection.key !== null &&
      (!PUBLIC_LISTS.has(kind.id) || (kind.id === "openrouter" && (await checkOpenRouterKey(connection, timeoutMs)))),
  };
}

async function describe(connection: Connection, listed: EndpointModel[]): Promise<Verified["models"]> {
  const models = await listConnectionModels(connection, listed);
  return models.map(({ modelId, contextWindow }) => ({ id: modelId, contextWindow }));
}

async function checkOpenRouterKey(connection: Connection, timeoutMs: number): Promise<boolean> {
  try {
    await fetchJson(connection, `${connection.baseUrl}/key`, { timeoutMs });
    return true;
  } catch (error) {
    // A gateway in front of OpenRouter need not have this question.
    if (error instanceof ProviderError && error.code === "not_found") return false;
    throw error;
  }
}
