// Looks for model servers on this machine that nobody configured: Ollama, LM Studio, llama.cpp at their usual
// addresses, all at once and briefly.

import type { Env } from "@/store/env.ts";
import { atDefaultAddress, type Connection } from "./connections.ts";
import { type EndpointModel, listEndpointModels } from "./endpoint.ts";
import { findKind } from "./kinds.ts";

export interface LocalServer {
  connection: Connection;
  models: EndpointModel[];
}

const PROBED = ["ollama", "lmstudio", "llama-cpp"];
const PROBE_MS = 300;

/** Servers that answered with at least one model; `connected` ones are not asked again. */
export async function probeLocalServers(env: Env, connected: Pick<Connection, "name">[] = []): Promise<LocalServer[]> {
  const taken = new Set(connected.map(({ name }) => name));
  const found = await Promise.all(
    PROBED.filter((name) => !taken.has(name)).map(async (name) => {
      const kind = findKind(name);
      if (kind === undefined) return null;
      const connection = atDefaultAddress(kind, env);
      try {
        return { connection, models: await listEndpointModels(connection, { timeoutMs: PROBE_MS }) };
      } catch {
        return null; // not running
      }
    }),
  );
  return found.filter((server): server is LocalServer => server !== null && server.models.length > 0);
}
