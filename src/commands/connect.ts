// `letta connect PROVIDER`: checks a key or an address by asking for the models, then remembers it. Nothing is stored
// before the check succeeded, and a key is never printed.

import { defineCommand } from "citty";
import type { Core } from "@/app.ts";
import { LettaError } from "@/lib/errors.ts";
import { findNearest } from "@/lib/nearest.ts";
import { wrap } from "@/lib/terminal-text.ts";
import { formatCount, plural } from "@/lib/text.ts";
import { type Connection, connectionOf, parseTimeout, shownUrl } from "@/providers/connections.ts";
import { findKind, normaliseBaseUrl, PROVIDER_KINDS, type ProviderKind } from "@/providers/kinds.ts";
import { type Verified, verifyConnection } from "@/providers/verify.ts";
import type { ProviderRecord } from "@/store/secrets.ts";
import { withCore } from "./context.ts";
import type { Io } from "./io.ts";
import { type OutputArgs, outputArgs, present } from "./output.ts";
import { type Asking, processAsking } from "./secret-input.ts";

export const command = defineCommand({
  args: {
    provider: {
      type: "positional",
      required: false,
      description: "anthropic, openai, gemini, openrouter, ollama, lmstudio, …",
    },
    key: { type: "positional", required: false, description: "API key; - reads it from standard input" },
    "api-key": { type: "string", valueHint: "KEY", description: "API key; - reads it from standard input" },
    "base-url": { type: "string", valueHint: "URL", description: "Address of the endpoint, with or without /v1" },
    name: { type: "string", valueHint: "NAME", description: "Your name for it, the first part of its model handles" },
    region: { type: "string", description: "AWS region (bedrock)" },
    profile: { type: "string", description: "AWS profile (bedrock)" },
    "access-key": { type: "string", description: "AWS access key id (bedrock)" },
    "secret-key": { type: "string", description: "AWS secret key; - reads it from standard input (bedrock)" },
    timeout: { type: "string", valueHint: "600s|10m|MS|false", description: "Silence allowed while it answers" },
    "no-timeout": { type: "boolean", description: "Wait for its answers without limit" },
    "no-verify": { type: "boolean", description: "Store it without asking the endpoint" },
    "context-window": { type: "string", valueHint: "TOKENS", description: "For models whose endpoint does not say" },
    ...outputArgs,
  },
  run: ({ args, data }) => withCore(data, (core, io) => runConnect(core, args, { ...io, ...processAsking() })),
});

export interface ConnectArgs extends OutputArgs {
  provider?: string;
  key?: string;
  "api-key"?: string;
  "base-url"?: string;
  name?: string;
  region?: string;
  profile?: string;
  "access-key"?: string;
  "secret-key"?: string;
  timeout?: string;
  "no-timeout"?: boolean;
  "no-verify"?: boolean;
  "context-window"?: string;
}

/** Lines of a hint fit a terminal of the usual width. */
const HINT_COLUMNS = 80;

export interface Connected {
  name: string;
  provider: string;
  baseUrl: string | null;
  /** The endpoint answered. */
  verified: boolean;
  /** The endpoint looked at the key. */
  keyChecked: boolean;
  keyStoredIn: string | null;
  models: { handle: string; contextWindow: number | null }[];
  next: string[];
}

export async function runConnect(core: Core, args: ConnectArgs, io: Io & Asking): Promise<number> {
  return present(io, args, () => connect(core, args, io), { text: renderConnected });
}

async function connect(core: Core, args: ConnectArgs, io: Io & Asking): Promise<Connected> {
  const known = await findConnected(core, args.provider);
  const kind = known?.kind ?? chooseKind(args.provider);
  const draft = known ? redraft(known, args) : draftRecord(kind, args);
  const key = await obtainKey(core, kind, args, io);
  const connection = connectionOf(draft, kind, key, core.env);
  const verified = args["no-verify"] ? null : await verify(connection);
  const record = await withWindows(draft, verified, args, io);
  await core.secrets.saveProvider(record, key);
  const models = verified?.models ?? [];
  const windows = record.contextWindows ?? {};
  return {
    name: connection.name,
    provider: kind.id,
    baseUrl: connection.baseUrl || null,
    verified: verified !== null,
    keyChecked: verified?.keyChecked ?? false,
    keyStoredIn: key === null ? null : core.secrets.location,
    models: models.map(({ id, contextWindow }) => ({
      handle: `${connection.name}/${id}`,
      contextWindow: contextWindow ?? windows[id] ?? null,
    })),
    next: nextSteps(connection, models),
  };
}

function chooseKind(typed: string | undefined): ProviderKind {
  const names = PROVIDER_KINDS.map(({ id }) => id);
  const all = wrap(`One of: ${names.join(", ")}.`, HINT_COLUMNS).join("\n");
  if (typed === undefined) throw new LettaError("usage", "which provider?", { hint: all });
  const kind = findKind(typed);
  if (kind !== undefined) return kind;
  const near = findNearest(
    typed,
    PROVIDER_KINDS.flatMap(({ id, aliases }) => [id, ...aliases]),
  );
  const hint = near === undefined ? all : `Did you mean ${near}?`;
  const name = typed.replace(/[^\w.-]/g, "-");
  throw new LettaError("usage", `unknown provider "${typed}"`, {
    hint: `${hint}\nAny other endpoint: letta connect openai-compatible --base-url URL --name ${name}`,
  });
}

/** What was connected under a name of its own: `letta connect NAME` connects it again, where only the key may differ. */
async function findConnected(core: Core, typed: string | undefined): Promise<Known | undefined> {
  if (typed === undefined || findKind(typed) !== undefined) return undefined;
  const record = (await core.secrets.listProviders()).find(({ name }) => name === typed);
  const kind = record && findKind(record.providerType);
  return record && kind && { record, kind };
}

interface Known {
  record: ProviderRecord;
  kind: ProviderKind;
}

/** Flags win over what was stored. */
function redraft({ record, kind }: Known, args: ConnectArgs): ProviderRecord {
  const { name, baseUrl } = record;
  const draft = draftRecord(kind, { name, ...(baseUrl !== undefined && { "base-url": baseUrl }), ...args });
  return { ...record, ...draft, createdAt: record.createdAt };
}

function draftRecord(kind: ProviderKind, args: ConnectArgs): ProviderRecord {
  const now = new Date().toISOString();
  const baseUrl = args["base-url"];
  if (baseUrl === undefined && kind.baseUrl === null) {
    throw new LettaError("usage", `${kind.label} needs --base-url`, {
      hint: "For example: letta connect openai-compatible --base-url http://127.0.0.1:8000/v1 --name mine",
    });
  }
  return {
    name: chooseName(kind, args.name),
    providerType: kind.id,
    ...(baseUrl === undefined ? {} : { baseUrl: parseBaseUrl(kind, baseUrl) }),
    ...(args.region === undefined ? {} : { region: args.region }),
    ...(args.profile === undefined ? {} : { profile: args.profile }),
    ...(args["access-key"] === undefined ? {} : { accessKey: args["access-key"] }),
    ...parseTimeoutArgs(args),
    createdAt: now,
    updatedAt: now,
  };
}

/** A name is the first part of handles, so it must not hide another provider. */
function chooseName(kind: ProviderKind, typed: string | undefined): string {
  if (typed === undefined) return kind.id;
  if (!/^[A-Za-z0-9][\w.-]*$/.test(typed)) {
    throw new LettaError("usage", `--name ${JSON.stringify(typed)} cannot be part of a model handle`, {
      hint: "Letters, digits, dots, dashes and underscores are fine.",
    });
  }
  const other = findKind(typed);
  if (other !== undefined && other !== kind) {
    throw new LettaError("usage", `--name ${typed} would hide ${other.label}`, { hint: "Choose another name." });
  }
  return typed;
}

function parseBaseUrl(kind: ProviderKind, typed: string): string {
  try {
    return normaliseBaseUrl(kind, typed);
  } catch {
    throw new LettaError("usage", `--base-url ${JSON.stringify(typed)} is not an address`, {
      hint: "For example: http://127.0.0.1:1234/v1",
    });
  }
}

function parseTimeoutArgs(args: ConnectArgs): Pick<ProviderRecord, "timeoutMs"> {
  if (args["no-timeout"]) return { timeoutMs: false };
  if (args.timeout === undefined) return {};
  const timeoutMs = parseTimeout(args.timeout);
  if (timeoutMs === null)
    throw new LettaError("usage", `--timeout takes 600s, 10m, milliseconds or false, not "${args.timeout}"`);
  return { timeoutMs: timeoutMs === 0 ? false : timeoutMs };
}

/** Flag, positional, standard input, the environment, or a prompt without echo. Null: no key. */
async function obtainKey(core: Core, kind: ProviderKind, args: ConnectArgs, io: Io & Asking): Promise<string | null> {
  const given = [args.key, args["api-key"], args["secret-key"]].filter((key) => key !== undefined);
  if (given.length > 1) throw new LettaError("usage", "the key was given twice");
  if (args["access-key"] !== undefined && args["secret-key"] === undefined && given.length === 0 && io.askSecret) {
    return needKey(await io.askSecret("AWS secret key: "));
  }
  const [key] = given;
  if (key === "-") return needKey(await io.readStdin());
  if (key !== undefined) {
    io.stderr(
      `Note: a key on the command line is visible to other users and stays in the shell's history.\nSafer: ${waysToGiveKey(kind)}\n`,
    );
    return needKey(key);
  }
  if (kind.id === "amazon-bedrock") return null;
  const variable = kind.keyVars.find((name) => core.env.provider(name) !== undefined);
  const fromEnv = variable === undefined ? undefined : core.env.provider(variable);
  if (kind.local) return kind.id === "openai-compatible" ? askOptionalKey(io) : (fromEnv ?? null);
  if (io.askSecret) {
    const typed = await io.askSecret(
      `${kind.label} API key${variable === undefined ? "" : ` (Enter: the one in ${variable})`}: `,
    );
    return needKey(typed || (fromEnv ?? ""));
  }
  if (fromEnv !== undefined) {
    io.stderr(`Using the key in ${variable}.\n`);
    return fromEnv;
  }
  throw new LettaError("usage", `no key for ${kind.label}`, { hint: waysToGiveKey(kind) });
}

async function askOptionalKey(io: Asking): Promise<string | null> {
  const typed = io.askSecret ? await io.askSecret("API key (Enter: none): ") : "";
  return typed.trim() === "" ? null : typed.trim();
}

function needKey(text: string): string {
  const key = text.trim();
  if (key === "") throw new LettaError("usage", "the key is empty");
  // A header cannot carry them; and an odd paste is better refused than sent.
  if (!/^[\x21-\x7e]+$/.test(key))
    throw new LettaError("usage", "the key contains white space or other unusual characters");
  return key;
}

function waysToGiveKey(kind: ProviderKind): string {
  const variable = kind.keyVars[0];
  const stdin = `\`letta connect ${kind.id} -\` reads it from standard input`;
  return variable === undefined ? `${stdin}.` : `${stdin}; or set ${variable}.`;
}

async function verify(connection: Connection): Promise<Verified> {
  try {
    return await verifyConnection(connection);
  } catch (error) {
    if (!(error instanceof LettaError)) throw error;
    const hint =
      error.code === "auth"
        ? "Nothing was stored. Is the key right?"
        : `Nothing was stored. ${error.hint ?? ""} --no-verify stores it unchecked.`;
    throw new LettaError(error.code, error.message, { cause: error, hint: hint.replace(/ {2,}/g, " ") });
  }
}

/** What the user says about windows the endpoint keeps to itself. */
async function withWindows(
  record: ProviderRecord,
  verified: Verified | null,
  args: ConnectArgs,
  io: Io & Asking,
): Promise<ProviderRecord> {
  const told = (id: string): boolean => (record.contextWindows?.[id] ?? record.contextWindows?.["*"]) !== undefined;
  const unknown =
    verified === null
      ? ["*"]
      : verified.models.filter(({ id, contextWindow }) => contextWindow === null && !told(id)).map(({ id }) => id);
  const flag = args["context-window"];
  if (unknown.length === 0 || (verified === null && flag === undefined)) return record;
  if (flag !== undefined) return { ...record, contextWindows: windowsOf(unknown, parseWindow(flag)) };
  const shown =
    unknown.length > 3 ? `${unknown.slice(0, 3).join(", ")} and ${unknown.length - 3} more` : unknown.join(", ");
  if (io.ask && !args.json) {
    const typed = (await io.ask(`Context window of ${shown}, in tokens (Enter: unknown): `)).trim();
    if (typed !== "") return { ...record, contextWindows: windowsOf(unknown, parseWindow(typed)) };
  }
  io.stderr(
    `Note: the endpoint does not say how large the context window is of ${shown}.\n` +
      "Long conversations may not be compacted in time; --context-window TOKENS tells us.\n",
  );
  return record;
}

function windowsOf(ids: string[], tokens: number): Record<string, number> {
  return Object.fromEntries(ids.map((id) => [id, tokens]));
}

/** `32768`, `32k`, `1m`. */
function parseWindow(text: string): number {
  const match = /^(\d+)\s*([km]?)$/i.exec(text.trim().replace(/[_,]/g, ""));
  const unit = { k: 1024, m: 1024 * 1024 }[match?.[2]?.toLowerCase() ?? ""] ?? 1;
  const tokens = Number(match?.[1]) * unit;
  if (match === null || tokens < 1024) {
    throw new LettaError("usage", `--context-window takes a number of tokens, at least 1024, not "${text}"`);
  }
  return tokens;
}

function nextSteps(connection: Connection, models: { id: string }[]): string[] {
  const preferred = connection.kind.defaultModel;
  const id = models.find((model) => model.id === preferred)?.id ?? models[0]?.id ?? preferred;
  if (!id) return [`letta --model ${connection.name}/MODEL`];
  const handle = `${connection.name}/${id}`;
  return [`letta --model ${handle}`, `letta model set ${handle}`];
}

function renderConnected(data: Connected): string {
  const where = data.baseUrl === null ? "" : ` at ${shownUrl(data.baseUrl)}`;
  const kept = data.keyStoredIn === null ? "No key is stored." : `The key is in ${data.keyStoredIn}.`;
  const checked =
    data.verified && data.keyStoredIn !== null && !data.keyChecked ? " It was not checked: nothing free needs it." : "";
  const names = data.models.slice(0, 12).map(({ handle, contextWindow }) => {
    return `  ${handle}${contextWindow === null ? "" : `  (${formatCount(contextWindow)} tokens)`}`;
  });
  const more =
    data.models.length > names.length
      ? [`  … and ${data.models.length - names.length} more: letta model list --provider ${data.name}`]
      : [];
  const models = data.models.length === 0 ? [] : [`${plural(data.models.length, "model")}:`, ...names, ...more];
  const next = data.next.map(
    (line, index) => `${index === 0 ? "Next: " : "  or: "} ${line}${index === 1 ? "   (makes it the default)" : ""}`,
  );
  return `${[`Connected ${data.name}${where}. ${kept}${checked}`, ...models, ...next].join("\n")}\n`;
}
