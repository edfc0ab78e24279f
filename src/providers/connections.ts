// Which providers are connected: stored records first, then whatever the environment offers. Nothing here talks to the
// network.

import { CONNECT_HINT, ProviderError } from "@/backend/model.ts";
import { parseDuration } from "@/lib/duration.ts";
import { findNearest } from "@/lib/nearest.ts";
import type { Env } from "@/store/env.ts";
import type { ProviderRecord, Secrets } from "@/store/secrets.ts";
import { findKind, normaliseBaseUrl, PROVIDER_KINDS, type ProviderKind, stripLegacyPrefix } from "./kinds.ts";

export interface Connection {
  /** Handle prefix. */
  name: string;
  kind: ProviderKind;
  /** `default`: a local server at its usual address that nobody configured. */
  source: "stored" | "env" | "default";
  /** Null for keyless endpoints. */
  key: string | null;
  /** The variable the key came from. */
  keyVar?: string;
  /** As the protocol's client expects it; "" lets Bedrock choose by region. */
  baseUrl: string;
  /** Not the provider's own address: a proxy, gateway or test server. */
  customUrl: boolean;
  /** Silence allowed, in milliseconds; 0 = no limit. */
  timeoutMs: number;
  record?: ProviderRecord;
}

/** Stored credentials beat environment variables of the same provider. In order of preference, never alphabetical. */
export async function listConnections(env: Env, secrets: Secrets): Promise<Connection[]> {
  const stored: Connection[] = [];
  for (const record of await secrets.listProviders()) {
    const kind = findKind(record.providerType) ?? findKind(record.name);
    if (kind !== undefined) stored.push(connectionOf(record, kind, await secrets.findKey(record.name), env));
  }
  const taken = new Set(stored.map(({ name }) => name));
  const fromEnv = PROVIDER_KINDS.filter((kind) => !taken.has(kind.id)).flatMap(
    (kind) => fromEnvironment(kind, env) ?? [],
  );
  const rank = ({ kind }: Connection): number => PROVIDER_KINDS.indexOf(kind);
  return [...stored, ...fromEnv].sort((a, b) => rank(a) - rank(b));
}

/** The connection a handle's prefix names, and the model id behind it. Local servers need not be connected first. */
export function splitHandle(
  handle: string,
  connections: Connection[],
  env: Env,
): { connection: Connection; modelId: string } {
  const slash = handle.indexOf("/");
  const prefix = slash === -1 ? "" : handle.slice(0, slash);
  const modelId = handle.slice(slash + 1);
  if (prefix === "" || modelId === "") {
    throw notFound(`"${handle}" is not a model handle`, `Write provider/model. ${connectedHint(connections)}`);
  }
  const kind = findKind(prefix);
  const connection =
    connections.find(({ name }) => name === prefix) ??
    connections.find((candidate) => kind !== undefined && candidate.name === kind.id) ??
    (kind === undefined ? undefined : connections.find((candidate) => candidate.kind === kind));
  // Some clients write `openai/ollama/m` for a model served locally.
  const nested = prefix === "openai" ? findKind(modelId.split("/")[0] ?? "") : undefined;
  if (nested?.local && modelId.includes("/")) return splitHandle(modelId, connections, env);
  if (connection !== undefined) return { connection, modelId };
  if (kind?.local && kind.baseUrl !== null) return { connection: atDefaultAddress(kind, env), modelId };
  if (kind !== undefined) throw notConnected(kind, connections);
  const nearest = findNearest(prefix, [...connections.map(({ name }) => name), ...PROVIDER_KINDS.map(({ id }) => id)]);
  throw notFound(
    `no provider called "${prefix}"${nearest === undefined ? "" : `; did you mean "${nearest}"?`}`,
    connectedHint(connections),
  );
}

/** A local server nobody connected: at the address its variable names, else at its usual one. */
export function atDefaultAddress(kind: ProviderKind, env: Env): Connection {
  const url = envBaseUrl(kind, env);
  return {
    name: kind.id,
    kind,
    source: "default",
    key: null,
    baseUrl: url === undefined ? (kind.baseUrl ?? "") : normaliseBaseUrl(kind, url),
    customUrl: url !== undefined,
    timeoutMs: timeoutOf(kind.id, env),
  };
}

export function connectedHint(connections: Connection[]): string {
  if (connections.length === 0) return CONNECT_HINT;
  return `Connected: ${connections.map(({ name }) => name).join(", ")}.`;
}

/** By its name or by the provider it connects to. */
export function findConnection(connections: Connection[], typed: string): Connection {
  const found =
    connections.find(({ name }) => name === typed) ??
    connections.find(({ kind }) => kind.id === typed || kind.aliases.includes(typed));
  if (found === undefined) throw notFound(`no connected provider is called "${typed}"`, connectedHint(connections));
  return found;
}

/** A base URL for people: without user, password and query, which may hold a secret. */
export function shownUrl(baseUrl: string): string {
  const url = URL.parse(baseUrl);
  return url ? `${url.protocol}//${url.host}${url.pathname.replace(/\/$/, "")}` : baseUrl;
}

/** How to fix a missing or refused key. */
export function keyHint(connection: Pick<Connection, "name" | "kind" | "keyVar" | "source">): string {
  if (connection.source === "env" && connection.keyVar !== undefined) {
    return `Check ${connection.keyVar}, or run \`letta connect ${connection.name}\` to store another key.`;
  }
  const variable = connection.kind.keyVars[0];
  return `Run \`letta connect ${connection.name}\`${variable === undefined ? "" : ` or set ${variable}`}.`;
}

/** What a stored record means; also for one that is about to be stored. */
export function connectionOf(record: ProviderRecord, kind: ProviderKind, key: string | null, env: Env): Connection {
  const baseUrl = record.baseUrl ?? envBaseUrl(kind, env) ?? kind.baseUrl ?? "";
  return {
    name: stripLegacyPrefix(record.name) === kind.id ? kind.id : record.name,
    kind,
    source: "stored",
    key,
    baseUrl: baseUrl === "" || baseUrl === kind.baseUrl ? baseUrl : normaliseBaseUrl(kind, baseUrl),
    customUrl: baseUrl !== (kind.baseUrl ?? ""),
    timeoutMs: record.timeoutMs === undefined ? timeoutOf(record.name, env) : record.timeoutMs || 0,
    record,
  };
}

function fromEnvironment(kind: ProviderKind, env: Env): Connection | undefined {
  const keyVar = kind.keyVars.find((name) => env.provider(name) !== undefined);
  const url = envBaseUrl(kind, env);
  const connected =
    keyVar !== undefined || (kind.local && url !== undefined) || (kind.id === "amazon-bedrock" && hasAwsIdentity(env));
  if (!connected) return undefined;
  return {
    name: kind.id,
    kind,
    source: "env",
    // A line break from a file does not belong to the key.
    key: keyVar === undefined ? null : (env.provider(keyVar)?.trim() ?? null),
    ...(keyVar === undefined ? {} : { keyVar }),
    baseUrl: url === undefined ? (kind.baseUrl ?? "") : normaliseBaseUrl(kind, url),
    customUrl: url !== undefined,
    timeoutMs: timeoutOf(kind.id, env),
  };
}

function envBaseUrl(kind: ProviderKind, env: Env): string | undefined {
  return kind.baseUrlVars.map((name) => env.provider(name)).find((value) => value !== undefined);
}

function hasAwsIdentity(env: Env): boolean {
  if (env.provider("AWS_PROFILE") !== undefined) return true;
  return env.provider("AWS_ACCESS_KEY_ID") !== undefined && env.provider("AWS_SECRET_ACCESS_KEY") !== undefined;
}

/** `LETTA_CODE_<PROVIDER>_TIMEOUT_MS` ▸ `<PROVIDER>_TIMEOUT_MS` ▸ the general limit. */
function timeoutOf(name: string, env: Env): number {
  const stem = name.toUpperCase().replace(/[^A-Z0-9]+/g, "_");
  const own = env.provider(`LETTA_CODE_${stem}_TIMEOUT_MS`) ?? env.provider(`${stem}_TIMEOUT_MS`);
  return (own === undefined ? null : parseTimeout(own)) ?? env.providerTimeoutMs;
}

/** `600s`, `10m`, a bare number of milliseconds, or `false|off|none|disabled` (0). Null when it is none of these. */
export function parseTimeout(text: string): number | null {
  if (/^(false|off|none|disabled)$/i.test(text)) return 0;
  return parseDuration(text.replace(/\s/g, ""), "ms");
}

function notConnected(kind: ProviderKind, connections: Connection[]): ProviderError {
  const how = kind.keyVars[0] === undefined ? "" : ` or set ${kind.keyVars[0]}`;
  return new ProviderError("no_provider", `${kind.label} is not connected`, {
    hint: `Run \`letta connect ${kind.id}\`${how}. ${connections.length === 0 ? "" : connectedHint(connections)}`.trim(),
    retryable: false,
  });
}

function notFound(message: string, hint: string): ProviderError {
  return new ProviderError("not_found", message, { hint, retryable: false });
}
