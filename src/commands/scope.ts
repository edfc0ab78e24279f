// Which agent and conversation a subcommand means when its flags do not say: flag > LETTA_AGENT_ID > AGENT_ID (env.ts
// merges the two) > this directory's last conversation > the user's last conversation > what a script last used in this
// directory > the only agent there is. One resolver for all commands.

import type { ArgsDef } from "citty";
import { findAgentOrNull } from "@/agent/find-agent.ts";
import { findHeadlessSession, findInteractiveSession } from "@/agent/last-session.ts";
import { type Backend, type ConversationRef, DEFAULT_CONVERSATION, type Page } from "@/backend/backend.ts";
import type { AgentState } from "@/backend/wire.ts";
import { LettaError } from "@/lib/errors.ts";
import type { StoreApp } from "./context.ts";

/** Spread into the `args` of commands that work on an agent. */
export const agentArgs = {
  agent: { type: "string", alias: ["a", "agent-id"], valueHint: "ID", description: "Agent id, or its unique name" },
} satisfies ArgsDef;

/** Spread into the `args` of commands that work on a conversation. */
export const conversationArgs = {
  ...agentArgs,
  conversation: {
    type: "string",
    alias: ["C", "conv", "conversation-id"],
    valueHint: "ID",
    description: "Conversation id; `default` is the agent's main thread",
  },
} satisfies ArgsDef;

export interface ScopeArgs {
  agent?: string;
  conversation?: string;
}

export type ScopeApp = Pick<StoreApp, "backend" | "env" | "settings" | "serverKey" | "cwd">;

/** The agent meant. Throws `usage` when nothing says which, `not_found` when it does not exist or none does. */
export async function resolveAgent(app: ScopeApp, args: ScopeArgs): Promise<AgentState> {
  if (args.agent) return findAgent(app.backend, args.agent);
  const fallback = app.env.agentId ?? lastSession(app)?.agentId;
  if (fallback === undefined) {
    const { items } = await app.backend.listAgents({ limit: 2 });
    if (items.length === 1) return items[0]!;
    if (items.length === 0) {
      throw new LettaError("not_found", "there is no agent yet", { hint: "The first message makes one: letta" });
    }
    throw new LettaError("usage", "no agent given, and none was used here before", {
      hint: "Pass --agent ID (see: letta agents list) or set LETTA_AGENT_ID.",
    });
  }
  return app.backend.retrieveAgent(fallback);
}

/** The conversation meant. With `--agent` alone it is that agent's `default`; ids are checked to exist. */
export async function resolveConversation(app: ScopeApp, args: ScopeArgs): Promise<ConversationRef> {
  const named = args.conversation;
  if (named?.startsWith("agent-"))
    return { agentId: (await findAgent(app.backend, named)).id, conversationId: DEFAULT_CONVERSATION };
  if (named && named !== DEFAULT_CONVERSATION) {
    const conversation = await app.backend.retrieveConversation(named);
    const agentId = conversation.agent_id ?? "";
    if (args.agent && (await findAgent(app.backend, args.agent)).id !== agentId) {
      throw new LettaError("usage", `conversation ${named} belongs to agent ${agentId}, not to ${args.agent}`);
    }
    return { agentId, conversationId: named };
  }
  if (named === undefined && args.agent === undefined) return rememberedConversation(app);
  return { agentId: (await resolveAgent(app, args)).id, conversationId: DEFAULT_CONVERSATION };
}

/** By id, else by a name only one agent has (case does not matter). */
export async function findAgent(backend: Backend, idOrName: string): Promise<AgentState> {
  const byId = await findAgentOrNull({ backend }, idOrName);
  if (byId) return byId;
  const wanted = idOrName.toLowerCase();
  const similar = await firstItems(Number.POSITIVE_INFINITY, (page) =>
    backend.listAgents({ query: idOrName, includeHidden: true, ...page }),
  );
  const named = similar.filter((agent) => agent.name.toLowerCase() === wanted);
  if (named.length === 1) return named[0]!;
  if (named.length === 0) {
    throw new LettaError("not_found", `no agent "${idOrName}"`, { hint: "See: letta agents list" });
  }
  throw new LettaError("usage", `${named.length} agents are called "${idOrName}"`, {
    hint: `Use an id: ${named.map((agent) => agent.id).join(", ")}`,
  });
}

/** The first items of a paged list, however many pages that takes. */
export async function firstItems<T>(
  count: number,
  load: (page: { limit: number; after?: string }) => Promise<Page<T>>,
): Promise<T[]> {
  const items: T[] = [];
  let after: string | null = null;
  do {
    const page: Page<T> = await load({ limit: Math.min(count - items.length, PAGE_SIZE), ...(after && { after }) });
    items.push(...page.items);
    after = page.nextCursor;
  } while (after !== null && items.length < count);
  return items;
}

const PAGE_SIZE = 100;

async function rememberedConversation(app: ScopeApp): Promise<ConversationRef> {
  const { agentId, conversationId } = app.env;
  if (conversationId && conversationId !== DEFAULT_CONVERSATION) {
    const conversation = await app.backend.retrieveConversation(conversationId);
    return { agentId: conversation.agent_id ?? agentId ?? "", conversationId };
  }
  if (agentId) return { agentId: (await app.backend.retrieveAgent(agentId)).id, conversationId: DEFAULT_CONVERSATION };
  const session = lastSession(app);
  const agent = await resolveAgent(app, {});
  return { agentId: agent.id, conversationId: session?.conversationId ?? DEFAULT_CONVERSATION };
}

function lastSession(app: ScopeApp): ConversationRef | undefined {
  return findInteractiveSession(app, "project") ?? findInteractiveSession(app, "user") ?? findHeadlessSession(app);
}
