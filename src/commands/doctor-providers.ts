// The provider part of `letta doctor`: what is connected, and with `--probe` whether it answers.

import type { Core } from "@/app.ts";
import { CONNECT_HINT } from "@/backend/model.ts";
import { errorMessage, hintOf } from "@/lib/errors.ts";
import { plural } from "@/lib/text.ts";
import type { Connection } from "@/providers/connections.ts";
import type { Finding } from "@/store/doctor.ts";

/** A server answers a list of models at once or is not there. */
const PROBE_TIMEOUT_MS = 3_000;

/** Names only: a key is never printed. */
export async function checkProviders(core: Core, probe: boolean): Promise<Finding[]> {
  const id = "providers";
  try {
    const { listConnections } = await import("@/providers/connections.ts");
    const connections = await listConnections(core.env, core.secrets);
    return [describe(core, connections), ...(probe ? await probeServers(core, connections) : [])];
  } catch (error) {
    const hint = hintOf(error);
    const text = `providers cannot be read: ${errorMessage(error)}`;
    return [{ id, status: "problem", text, ...(hint ? { hint } : {}) }];
  }
}

function describe(core: Core, connections: Connection[]): Finding {
  const id = "providers";
  if (connections.length === 0) {
    return { id, status: "note", text: "no model is connected", hint: CONNECT_HINT };
  }
  const names = connections.map(({ name, source }) => `${name} (${source})`).join(", ");
  return { id, status: "ok", text: `model providers: ${names}; stored keys are in: ${core.secrets.location}` };
}

async function probeServers(core: Core, connections: Connection[]): Promise<Finding[]> {
  const [{ PROVIDER_KINDS }, { atDefaultAddress }] = await Promise.all([
    import("@/providers/kinds.ts"),
    import("@/providers/connections.ts"),
  ]);
  const taken = new Set(connections.map(({ kind }) => kind.id));
  const unused = PROVIDER_KINDS.filter((kind) => kind.local && kind.baseUrl !== null && !taken.has(kind.id));
  const found = await Promise.all([
    ...connections.map(probeConnection),
    ...unused.map((kind) => probeUnused(atDefaultAddress(kind, core.env))),
  ]);
  return found.flat();
}

async function probeConnection(connection: Connection): Promise<Finding> {
  const id = `probe.${connection.name}`;
  try {
    const { listEndpointModels } = await import("@/providers/endpoint.ts");
    const models = await listEndpointModels(connection, { timeoutMs: PROBE_TIMEOUT_MS });
    return { id, status: "ok", text: `${connection.name} answers and offers ${plural(models.length, "model")}` };
  } catch (error) {
    const hint = hintOf(error);
    const text = `${connection.name} does not answer as it should: ${errorMessage(error)}`;
    // A server on this machine may simply be switched off.
    const status = connection.kind.local ? "note" : "problem";
    return { id, status, text, hint: hint ?? `Check it with: letta providers test ${connection.name}` };
  }
}

/** A server of this machine that answers although nobody connected it. One that does not is no news. */
async function probeUnused(connection: Connection): Promise<Finding[]> {
  const { name, kind } = connection;
  try {
    const { listEndpointModels } = await import("@/providers/endpoint.ts");
    const models = await listEndpointModels(connection, { timeoutMs: PROBE_TIMEOUT_MS });
    const text = `${kind.label} answers on this machine and offers ${plural(models.length, "model")}`;
    return [{ id: `probe.${name}`, status: "note", text, hint: `Connect it with: letta connect ${name}` }];
  } catch {
    return []; // not running here
  }
}
