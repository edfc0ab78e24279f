// `letta agents …`: the identities on the current backend.

import { existsSync } from "node:fs";
import { defineCommand } from "citty";
import { pinnedAgentIds, setPinned } from "@/agent/pins.ts";
import type { AgentState, Conversation } from "@/backend/wire.ts";
import { LettaError } from "@/lib/errors.ts";
import { formatAge } from "@/lib/relative-time.ts";
import { renderFields, renderTable } from "@/lib/table.ts";
import { PERSONALITIES } from "@/memory/personalities.ts";
import { memoryPaths } from "@/memory/places.ts";
import { type StoreApp, withStore } from "./context.ts";
import type { Io } from "./io.ts";
import { dataArgs, type OutputArgs, outputArgs, parseCount, present, requireConsent, tableOptions } from "./output.ts";
import {
  agentArgs,
  conversationArgs,
  findAgent,
  firstItems,
  resolveAgent,
  resolveConversation,
  type ScopeArgs,
} from "./scope.ts";
import { withoutKeys } from "./without-keys.ts";

const agentPositional = { type: "positional", required: false, description: "Agent id or unique name" } as const;

const list = defineCommand({
  meta: { name: "list", description: "List agents, most recently used first" },
  args: {
    name: { type: "string", description: "Exact name" },
    query: { type: "string", description: "Part of name, description, id or model" },
    tags: { type: "string", valueHint: "A,B", description: "Any of these tags" },
    "match-all-tags": { type: "boolean", description: "All of --tags" },
    limit: { type: "string", valueHint: "N", description: "At most this many (default 20)" },
    hidden: { type: "boolean", description: "Hidden agents too" },
    ...dataArgs,
  },
  run: ({ args, data }) => withStore(data, (app, io) => runAgentsList(app, args, io)),
});

const create = defineCommand({
  meta: { name: "create", description: "Create an agent" },
  args: {
    name: { type: "string", description: "Its name" },
    model: { type: "string", alias: "m", valueHint: "PROVIDER/MODEL", description: "Its model" },
    description: { type: "string", description: "What it is for" },
    tags: { type: "string", valueHint: "A,B", description: "Tags" },
    system: { type: "string", valueHint: "TEXT", description: "Its system prompt (default: the built-in one)" },
    personality: {
      type: "string",
      valueHint: "NAME",
      description: `What it begins as: ${PERSONALITIES.map(({ id }) => id).join(", ")} (default: memo)`,
    },
    pinned: { type: "boolean", description: "Pin it" },
    ...dataArgs,
  },
  run: ({ args, data }) => withStore(data, (app, io) => runAgentsCreate(app, args, io)),
});

const show = defineCommand({
  meta: { name: "show", description: "Show one agent" },
  args: { id: agentPositional, ...agentArgs, ...dataArgs },
  run: ({ args, data }) =>
    withStore(data, (app, io) => runAgentsShow(app, { ...args, agent: args.id ?? args.agent }, io)),
});

const rename = defineCommand({
  meta: { name: "rename", description: "Give an agent another name" },
  args: {
    id: { type: "positional", required: true, description: "Agent id or unique name" },
    name: { type: "positional", required: true, description: "The new name" },
    ...outputArgs,
  },
  run: ({ args, data }) => withStore(data, (app, io) => runAgentsRename(app, args, io)),
});

const remove = defineCommand({
  meta: { name: "delete", alias: ["remove", "rm"], description: "Delete an agent with all its conversations" },
  args: {
    id: { type: "positional", required: true, description: "Agent id or unique name" },
    yes: { type: "boolean", alias: "y", description: "Do not ask" },
    ...outputArgs,
  },
  run: ({ args, data }) => withStore(data, (app, io) => runAgentsDelete(app, args, io)),
});

const config = defineCommand({
  meta: { name: "config", description: "Show the model settings in force for an agent or a conversation" },
  args: { ...conversationArgs, ...dataArgs },
  run: ({ args, data }) => withStore(data, (app, io) => runAgentsConfig(app, args, io)),
});

export const command = defineCommand({
  subCommands: { list, create, show, rename, delete: remove, config },
});

export interface AgentsListArgs extends OutputArgs {
  name?: string;
  query?: string;
  tags?: string;
  "match-all-tags"?: boolean;
  limit?: string;
  hidden?: boolean;
}

export async function runAgentsList(app: StoreApp, args: AgentsListArgs, io: Io, now = Date.now()): Promise<number> {
  return present(
    io,
    args,
    async () => {
      const query = {
        ...(args.name === undefined ? {} : { name: args.name }),
        ...(args.query === undefined ? {} : { query: args.query }),
        ...(args.tags === undefined ? {} : { tags: splitList(args.tags) }),
        ...(args["match-all-tags"] ? { matchAllTags: true } : {}),
        ...(args.hidden ? { includeHidden: true } : {}),
      };
      const limit = parseCount("limit", args.limit, 20);
      return firstItems(limit, (page) => app.backend.listAgents({ ...query, ...page }));
    },
    {
      piped: "json",
      value: (agents) => agents.map(withoutKeys),
      text: (agents) => {
        if (agents.length === 0) return "No agents.\n";
        const columns = [
          { title: "NAME", shrink: true },
          { title: "ID" },
          { title: "MODEL", shrink: true },
          { title: "LAST USED" },
        ];
        const pin = (agent: AgentState) => (isPinned(app, agent.id) ? "* " : "");
        const rows = agents.map((agent) => [
          pin(agent) + agent.name,
          agent.id,
          agent.model || "-",
          formatAge(agent.last_run_completion, now) || "never",
        ]);
        return renderTable(columns, rows, tableOptions(io));
      },
    },
  );
}

export interface AgentsCreateArgs extends OutputArgs {
  name?: string;
  model?: string;
  description?: string;
  tags?: string;
  system?: string;
  personality?: string;
  pinned?: boolean;
}

export async function runAgentsCreate(app: StoreApp, args: AgentsCreateArgs, io: Io): Promise<number> {
  return present(
    io,
    args,
    async () => {
      const { defaultAgent } = await import("@/agent/default-agent.ts");
      if (args.model !== undefined) await app.models.resolveModel(args.model);
      const agent = await app.backend.createAgent({
        ...defaultAgent({
          model: args.model ?? "",
          ...(args.system === undefined ? {} : { system: args.system }),
          ...(args.personality === undefined ? {} : { personality: args.personality }),
        }),
        ...(args.name === undefined ? {} : { name: args.name }),
        ...(args.description === undefined ? {} : { description: args.description }),
        ...(args.tags === undefined ? {} : { tags: splitList(args.tags) }),
      });
      if (args.pinned) await setPinned(app, agent.id, true);
      return agent;
    },
    { piped: "json", value: withoutKeys, text: (agent) => `Created ${agent.name} (${agent.id})\n` },
  );
}

export async function runAgentsShow(
  app: StoreApp,
  args: ScopeArgs & OutputArgs,
  io: Io,
  now = Date.now(),
): Promise<number> {
  return present(io, args, () => resolveAgent(app, args), {
    piped: "json",
    value: withoutKeys,
    text: (agent) =>
      renderFields([
        ["Name", agent.name],
        ["Id", agent.id],
        ["Description", agent.description],
        ["Model", agent.model || "none chosen"],
        ["Context", agent.context_window_limit === null ? "the model's own" : `${agent.context_window_limit} tokens`],
        ["Tags", agent.tags.join(", ")],
        ["Pinned", isPinned(app, agent.id) ? "yes" : ""],
        ["Hidden", agent.hidden ? "yes" : ""],
        ["Created", formatAge(agent.created_at, now)],
        ["Last used", formatAge(agent.last_run_completion, now) || "never"],
      ]),
  });
}

export async function runAgentsRename(
  app: StoreApp,
  args: { id: string; name: string } & OutputArgs,
  io: Io,
): Promise<number> {
  return present(
    io,
    args,
    async () => {
      const name = args.name.trim();
      if (name === "") throw new LettaError("usage", "the new name is empty");
      return app.backend.updateAgent((await findAgent(app.backend, args.id)).id, { name });
    },
    { value: withoutKeys, text: (agent) => `${agent.id} is now called ${agent.name}\n` },
  );
}

export async function runAgentsDelete(
  app: StoreApp,
  args: { id: string; yes?: boolean } & OutputArgs,
  io: Io,
): Promise<number> {
  return present(
    io,
    args,
    async () => {
      const agent = await findAgent(app.backend, args.id);
      await requireConsent(io, args, `Delete ${agent.name} (${agent.id}) and all its conversations?`);
      await app.backend.deleteAgent(agent.id);
      await setPinned(app, agent.id, false);
      // A secret nobody can use any more is only a risk.
      for (const name of app.agentSecrets.names(agent.id)) await app.agentSecrets.unset(agent.id, name);
      const { memory } = memoryPaths(app.paths, agent.id);
      return { agentId: agent.id, name: agent.name, deleted: true, memory: existsSync(memory) ? memory : null };
    },
    {
      text: ({ name, agentId, memory }) =>
        // What an agent learned is not thrown away in passing.
        `Deleted ${name} (${agentId})\n${memory === null ? "" : `Its memory stays in ${memory}\n`}`,
    },
  );
}

export async function runAgentsConfig(app: StoreApp, args: ScopeArgs & OutputArgs, io: Io): Promise<number> {
  return present(io, args, () => loadConfig(app, args), {
    piped: "json",
    text: (data) =>
      renderFields([
        ["Agent", `${data.agent.name} (${data.agent.id})`],
        ["Conversation", data.conversation?.id],
        ["Model", `${data.effective.model || "none chosen"} (from the ${data.effective.scope})`],
        [
          "Context",
          data.agent.context_window_limit === null ? "the model's own" : `${data.agent.context_window_limit} tokens`,
        ],
        ["Settings", JSON.stringify(data.effective.model_settings)],
      ]),
  });
}

/** The documented shape of `agents config`. */
async function loadConfig(app: StoreApp, args: ScopeArgs) {
  const named = args.conversation ?? app.env.conversationId;
  const ref = named === undefined ? null : await resolveConversation(app, { ...args, conversation: named });
  const agent = ref === null ? await resolveAgent(app, args) : await app.backend.retrieveAgent(ref.agentId);
  const conversation = ref && (await app.backend.retrieveConversation(ref.conversationId, ref.agentId));
  const overrides = conversation !== null && (conversation.model !== null || conversation.model_settings !== null);
  return {
    agent: withoutKeys({
      id: agent.id,
      name: agent.name,
      model: agent.model,
      context_window_limit: agent.context_window_limit,
      model_settings: agent.model_settings,
      llm_config: { context_window: agent.context_window_limit },
    }),
    conversation: conversation && settingsOf(conversation),
    effective: withoutKeys({
      scope: overrides ? ("conversation" as const) : ("agent" as const),
      model: conversation?.model ?? agent.model,
      model_settings: { ...agent.model_settings, ...conversation?.model_settings },
    }),
    note: overrides
      ? "The conversation overrides its agent's model."
      : "The agent's model is in force; nothing is overridden here.",
  };
}

function isPinned(app: StoreApp, agentId: string): boolean {
  return pinnedAgentIds(app.settings.user, app.serverKey).includes(agentId);
}

function settingsOf({ id, model, context_window_limit, model_settings }: Conversation) {
  return withoutKeys({ id, model, context_window_limit, model_settings });
}

function splitList(text: string): string[] {
  return text
    .split(",")
    .map((item) => item.trim())
    .filter((item) => item !== "");
}
