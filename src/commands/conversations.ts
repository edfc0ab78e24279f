// `letta conversations …`: the message threads of an agent.

import { defineCommand } from "citty";
import { isHeadlessConversation } from "@/agent/headless-tag.ts";
import { copyToolset } from "@/agent/toolset.ts";
import type { ConversationRef } from "@/backend/backend.ts";
import type { Conversation } from "@/backend/wire.ts";
import { LettaError } from "@/lib/errors.ts";
import { formatAge } from "@/lib/relative-time.ts";
import { renderFields, renderTable } from "@/lib/table.ts";
import { type StoreApp, withStore } from "./context.ts";
import type { Io } from "./io.ts";
import { dataArgs, type OutputArgs, outputArgs, parseCount, present, requireConsent, tableOptions } from "./output.ts";
import { agentArgs, firstItems, resolveAgent, resolveConversation, type ScopeArgs } from "./scope.ts";
import { withoutKeys } from "./without-keys.ts";

const idArg = { type: "positional", required: true, description: "Conversation id" } as const;

const list = defineCommand({
  meta: { name: "list", description: "List an agent's conversations, latest first" },
  args: {
    ...agentArgs,
    "all-agents": { type: "boolean", description: "Of every agent" },
    search: { type: "string", description: "Part of the title or the id" },
    archived: { type: "boolean", description: "Archived ones instead" },
    all: { type: "boolean", description: "Archived and hidden ones too" },
    limit: { type: "string", valueHint: "N", description: "At most this many (default 20)" },
    ...dataArgs,
  },
  run: ({ args, data }) => withStore(data, (app, io) => runConversationsList(app, args, io)),
});

const show = defineCommand({
  meta: { name: "show", description: "Show one conversation" },
  args: { id: { ...idArg, required: false }, ...agentArgs, ...dataArgs },
  run: ({ args, data }) => withStore(data, (app, io) => runConversationsShow(app, named(args), io)),
});

const rename = defineCommand({
  meta: { name: "rename", description: "Give a conversation a title" },
  args: {
    id: idArg,
    title: { type: "positional", required: true, description: "The title" },
    ...agentArgs,
    ...outputArgs,
  },
  run: ({ args, data }) =>
    withStore(data, (app, io) => runConversationsRename(app, { ...named(args), title: args.title }, io)),
});

const archive = defineCommand({
  meta: { name: "archive", description: "Put a conversation away; nothing is deleted" },
  args: { id: idArg, ...agentArgs, ...outputArgs },
  run: ({ args, data }) => withStore(data, (app, io) => runConversationsArchive(app, named(args), io, true)),
});

const unarchive = defineCommand({
  meta: { name: "unarchive", description: "Take a conversation out of the archive" },
  args: { id: idArg, ...agentArgs, ...outputArgs },
  run: ({ args, data }) => withStore(data, (app, io) => runConversationsArchive(app, named(args), io, false)),
});

const remove = defineCommand({
  meta: { name: "delete", alias: ["remove", "rm"], description: "Delete a conversation with its messages" },
  args: { id: idArg, yes: { type: "boolean", alias: "y", description: "Do not ask" }, ...agentArgs, ...outputArgs },
  run: ({ args, data }) =>
    withStore(data, (app, io) => runConversationsDelete(app, { ...named(args), ...yes(args) }, io)),
});

const fork = defineCommand({
  meta: { name: "fork", description: "Start a new conversation from where one is" },
  args: {
    id: { ...idArg, required: false },
    message: { type: "string", valueHint: "ID", description: "Up to and including this message (default: all)" },
    hidden: { type: "boolean", description: "Leave it out of lists" },
    ...agentArgs,
    ...outputArgs,
  },
  run: ({ args, data }) => withStore(data, (app, io) => runConversationsFork(app, { ...args, ...named(args) }, io)),
});

export const command = defineCommand({
  subCommands: { list, show, rename, archive, unarchive, delete: remove, fork },
});

export interface ConversationsListArgs extends OutputArgs, ScopeArgs {
  "all-agents"?: boolean;
  search?: string;
  archived?: boolean;
  all?: boolean;
  limit?: string;
}

export async function runConversationsList(
  app: StoreApp,
  args: ConversationsListArgs,
  io: Io,
  now = Date.now(),
): Promise<number> {
  return present(
    io,
    args,
    async () => {
      if (args["all-agents"] && args.agent) throw new LettaError("usage", "--all-agents does not go with --agent");
      const query = {
        ...(args["all-agents"] ? {} : { agentId: (await resolveAgent(app, args)).id }),
        ...(args.search === undefined ? {} : { search: args.search }),
        archived: args.all ? ("all" as const) : args.archived ? ("archived" as const) : ("unarchived" as const),
        includeHidden: args.all === true,
      };
      const limit = parseCount("limit", args.limit, 20);
      return firstItems(limit, (page) => app.backend.listConversations({ ...query, ...page }));
    },
    {
      piped: "json",
      value: (conversations) => conversations.map(withoutKeys),
      text: (conversations) => {
        if (conversations.length === 0) return "No conversations.\n";
        const columns = [{ title: "ID" }, { title: "TITLE", shrink: true }, { title: "LAST" }, { title: "" }];
        const rows = conversations.map((item) => [
          item.id,
          item.summary ?? "-",
          formatAge(item.last_message_at, now) || "none",
          [isHeadlessConversation(item) && "script", item.archived && "archived", item.hidden && "hidden"]
            .filter(Boolean)
            .join(" "),
        ]);
        return renderTable(columns, rows, tableOptions(io));
      },
    },
  );
}

export async function runConversationsShow(
  app: StoreApp,
  args: ScopeArgs & OutputArgs,
  io: Io,
  now = Date.now(),
): Promise<number> {
  return present(io, args, async () => retrieve(app, await resolveConversation(app, args)), {
    piped: "json",
    value: withoutKeys,
    text: (item) =>
      renderFields([
        ["Title", item.summary ?? "none"],
        ["Id", item.id],
        ["Agent", item.agent_id],
        ["Description", item.description],
        ["Model", item.model ?? "the agent's"],
        ["In context", `${item.in_context_message_ids.length} messages`],
        ["Tags", item.tags.join(", ")],
        ["Archived", item.archived ? formatAge(item.archived_at, now) || "yes" : ""],
        ["Hidden", item.hidden ? "yes" : ""],
        ["Created", formatAge(item.created_at, now)],
        ["Last message", formatAge(item.last_message_at, now) || "none"],
      ]),
  });
}

export async function runConversationsRename(
  app: StoreApp,
  args: ScopeArgs & OutputArgs & { title: string },
  io: Io,
): Promise<number> {
  return present(
    io,
    args,
    async () => {
      const summary = args.title.trim();
      if (summary === "") throw new LettaError("usage", "the title is empty");
      return app.backend.updateConversation(await resolveConversation(app, args), { summary });
    },
    { value: withoutKeys, text: (item) => `${item.id} is now called ${item.summary}\n` },
  );
}

export async function runConversationsArchive(
  app: StoreApp,
  args: ScopeArgs & OutputArgs,
  io: Io,
  archived: boolean,
): Promise<number> {
  return present(
    io,
    args,
    async () => app.backend.updateConversation(await resolveConversation(app, args), { archived }),
    { value: withoutKeys, text: (item) => `${archived ? "Archived" : "Restored"} ${item.id}\n` },
  );
}

export async function runConversationsDelete(
  app: StoreApp,
  args: ScopeArgs & OutputArgs & { yes?: boolean },
  io: Io,
): Promise<number> {
  return present(
    io,
    args,
    async () => {
      const ref = await resolveConversation(app, args);
      const { summary } = await retrieve(app, ref);
      const title = summary ? `"${summary}" (${ref.conversationId})` : ref.conversationId;
      await requireConsent(io, args, `Delete conversation ${title} and its messages?`);
      await app.backend.deleteConversation(ref);
      return { ...ref, deleted: true };
    },
    { text: (data) => `Deleted ${data.conversationId}\n` },
  );
}

export async function runConversationsFork(
  app: StoreApp,
  args: ScopeArgs & OutputArgs & { message?: string; hidden?: boolean },
  io: Io,
): Promise<number> {
  return present(
    io,
    args,
    async () => {
      const ref = await resolveConversation(app, args);
      const copy = await app.backend.forkConversation(ref, {
        ...(args.message === undefined ? {} : { messageId: args.message }),
        ...(args.hidden ? { hidden: true } : {}),
      });
      await copyToolset(app, ref, copy.id);
      return copy;
    },
    { value: withoutKeys, text: (item) => `Forked into ${item.id}\nContinue it with: letta --conv ${item.id}\n` },
  );
}

function retrieve(app: StoreApp, ref: ConversationRef): Promise<Conversation> {
  return app.backend.retrieveConversation(ref.conversationId, ref.agentId);
}

/** The positional id as the scope's conversation. */
function named(args: { id?: string; agent?: string; json?: boolean; format?: string }): ScopeArgs & OutputArgs {
  return {
    ...(args.id === undefined ? {} : { conversation: args.id }),
    ...(args.agent === undefined ? {} : { agent: args.agent }),
    ...(args.json === undefined ? {} : { json: args.json }),
    ...(args.format === undefined ? {} : { format: args.format }),
  };
}

function yes(args: { yes?: boolean }): { yes?: boolean } {
  return args.yes === undefined ? {} : { yes: args.yes };
}
