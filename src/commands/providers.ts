// `letta providers list|test|remove`: what is connected, from where, and whether it answers.

import { defineCommand } from "citty";
import type { Core } from "@/app.ts";
import { EXIT_CODES, EXIT_OK } from "@/exit-codes.ts";
import { describeError, type ErrorCode, LettaError } from "@/lib/errors.ts";
import { renderTable } from "@/lib/table.ts";
import { plural } from "@/lib/text.ts";
import { type Connection, connectedHint, findConnection, listConnections } from "@/providers/connections.ts";
import { probeLocalServers } from "@/providers/local-servers.ts";
import { verifyConnection } from "@/providers/verify.ts";
import { withCore } from "./context.ts";
import type { Io } from "./io.ts";
import { dataArgs, type OutputArgs, outputArgs, present, tableOptions } from "./output.ts";

const list = defineCommand({
  meta: { name: "list", description: "Connected providers: where the key comes from, the address, whether it answers" },
  args: dataArgs,
  run: ({ args, data }) => withCore(data, (core, io) => runProvidersList(core, args, io)),
});

const test = defineCommand({
  meta: { name: "test", description: "Ask providers for their models; fails when one does not answer" },
  args: {
    name: { type: "positional", required: false, description: "A connected provider (default: all)" },
    ...outputArgs,
  },
  run: ({ args, data }) => withCore(data, (core, io) => runProvidersTest(core, args, io)),
});

const remove = defineCommand({
  meta: { name: "remove", description: "Forget a provider and its key", alias: ["rm", "disconnect"] },
  args: { name: { type: "positional", required: true, description: "A connected provider" }, ...outputArgs },
  run: ({ args, data }) => withCore(data, (core, io) => runProvidersRemove(core, args, io)),
});

export const command = defineCommand({
  meta: { description: "List, test and remove connected model providers" },
  subCommands: { list, test, remove },
  default: "list",
});

export interface ProviderStatus {
  name: string;
  provider: string;
  /** `local`: a server found at its usual address. */
  source: "stored" | "env" | "local";
  /** Variable or place of the key; null for none. */
  key: string | null;
  baseUrl: string | null;
  /** Null: it has no question that costs nothing. */
  reachable: boolean | null;
  models: number;
  error: { code: ErrorCode; message: string; hint?: string } | null;
}

/** For an overview, a slow endpoint may be called unreachable sooner than when it is tested. */
const LIST_TIMEOUT_MS = 3000;

export async function runProvidersList(core: Core, args: OutputArgs, io: Io): Promise<number> {
  return present(
    io,
    args,
    async () => {
      const connections = await listConnections(core.env, core.secrets);
      const local = (await probeLocalServers(core.env, connections)).map(({ connection }) => connection);
      return Promise.all([...connections, ...local].map((connection) => statusOf(core, connection, LIST_TIMEOUT_MS)));
    },
    { piped: "json", text: (statuses) => renderStatuses(statuses, io) },
  );
}

export async function runProvidersTest(core: Core, args: OutputArgs & { name?: string }, io: Io): Promise<number> {
  return present(
    io,
    args,
    async () => {
      const connections = await listConnections(core.env, core.secrets);
      const chosen = args.name === undefined ? connections : [findConnection(connections, args.name)];
      if (chosen.length === 0)
        throw new LettaError("no_provider", "no provider is connected", { hint: connectedHint([]) });
      return Promise.all(chosen.map((connection) => statusOf(core, connection)));
    },
    {
      text: (statuses) => statuses.map(renderTested).join(""),
      exitCode: (statuses) => {
        const failed = statuses.find(({ error }) => error !== null);
        return failed?.error ? EXIT_CODES[failed.error.code] : EXIT_OK;
      },
    },
  );
}

export async function runProvidersRemove(core: Core, args: OutputArgs & { name: string }, io: Io): Promise<number> {
  return present(
    io,
    args,
    async () => {
      const connection = findConnection(await listConnections(core.env, core.secrets), args.name);
      if (connection.record === undefined) {
        throw new LettaError("usage", `${connection.name} is connected by the environment, not stored`, {
          hint: `Unset ${connection.keyVar ?? "its variables"} instead.`,
        });
      }
      await core.secrets.removeProvider(connection.record.name);
      const still = (await listConnections(core.env, core.secrets)).find(({ name }) => name === connection.name);
      return { name: connection.name, removed: true, stillConnectedBy: still?.keyVar ?? null };
    },
    {
      text: ({ name, stillConnectedBy }) =>
        `Removed ${name}; no key of it is kept.${stillConnectedBy === null ? "" : ` ${stillConnectedBy} still connects it.`}\n`,
    },
  );
}

async function statusOf(core: Core, connection: Connection, timeoutMs?: number): Promise<ProviderStatus> {
  const status: ProviderStatus = {
    name: connection.name,
    provider: connection.kind.id,
    source: connection.source === "default" ? "local" : connection.source,
    key: connection.key === null ? null : (connection.keyVar ?? core.secrets.location),
    baseUrl: connection.baseUrl || null,
    reachable: null,
    models: 0,
    error: null,
  };
  try {
    const { models } = await verifyConnection(connection, timeoutMs);
    return { ...status, reachable: connection.kind.listing === "catalogue" ? null : true, models: models.length };
  } catch (error) {
    return { ...status, reachable: false, error: describeError(error) };
  }
}

function renderStatuses(statuses: ProviderStatus[], io: Io): string {
  if (statuses.length === 0) return `No provider is connected.\n${connectedHint([])}\n`;
  const columns = [
    { title: "NAME" },
    { title: "KEY" },
    { title: "ANSWERS" },
    { title: "MODELS", align: "right" as const },
    { title: "ADDRESS", shrink: true },
  ];
  const rows = statuses.map((status) => [
    status.name,
    status.key ?? (status.source === "local" ? "none (found here)" : "none"),
    status.reachable === null ? "not asked" : status.reachable ? "yes" : `no: ${status.error?.code}`,
    String(status.models || "-"),
    status.baseUrl ?? "",
  ]);
  return renderTable(columns, rows, tableOptions(io));
}

function renderTested({ name, reachable, models, error }: ProviderStatus): string {
  if (error !== null) return `${name}: failed: ${error.message}\n${error.hint ? `  ${error.hint}\n` : ""}`;
  if (reachable === null) return `${name}: not tested: it has no question that costs nothing\n`;
  return `${name}: ok, ${plural(models, "model")}\n`;
}
