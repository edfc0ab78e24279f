// The toolset a person chose for an agent or one of its conversations, kept in the user's settings beside the agent's
// pin. What is chosen for a conversation beats what is chosen for its agent.

import { DEFAULT_CONVERSATION } from "@/backend/backend.ts";
import type { UserSettings } from "@/store/settings.ts";
import { findToolsetChoice, type ToolsetChoice } from "@/tools/toolsets.ts";
import type { AgentHost } from "./host.ts";

export interface ToolsetOwner {
  agentId: string | null;
  conversationId: string | null;
}

/** Undefined when nothing (that this version knows) was chosen. */
export function findSavedToolset(
  settings: UserSettings,
  serverKey: string,
  { agentId, conversationId }: ToolsetOwner,
): ToolsetChoice | undefined {
  const entry = (settings.agents ?? []).find(
    (each) => each.agentId === agentId && (each.baseUrl === undefined || each.baseUrl === serverKey),
  );
  const own = conversationId === null ? undefined : entry?.toolsetsByConversation?.[conversationId];
  return findToolsetChoice(own) ?? findToolsetChoice(entry?.toolset);
}

/** Remembers it for the conversation; for the main one, for the agent. `auto` forgets. */
export async function saveToolset(
  { settings, serverKey }: Pick<AgentHost, "settings" | "serverKey">,
  { agentId, conversationId }: { agentId: string; conversationId: string },
  choice: ToolsetChoice,
): Promise<void> {
  await settings.updateUser((user) => {
    const entries = user.agents ?? [];
    const known = entries.find((each) => each.agentId === agentId && each.baseUrl === serverKey);
    const { toolset, toolsetsByConversation, ...entry } = known ?? { agentId, baseUrl: serverKey };
    const main = conversationId === DEFAULT_CONVERSATION;
    const ofAgent = main ? without(choice) : toolset;
    const { [conversationId]: _, ...others } = toolsetsByConversation ?? {};
    const byConversation = main || choice === "auto" ? others : { ...others, [conversationId]: choice };
    user.agents = [
      ...entries.filter((each) => each !== known),
      {
        ...entry,
        ...(ofAgent !== undefined && { toolset: ofAgent }),
        ...(Object.keys(byConversation).length > 0 && { toolsetsByConversation: byConversation }),
      },
    ];
  });
}

/** A copy of a conversation goes on with the tools of the original. */
export async function copyToolset(
  host: Pick<AgentHost, "settings" | "serverKey">,
  from: { agentId: string; conversationId: string },
  conversationId: string,
): Promise<void> {
  const { agents = [] } = host.settings.user;
  const entry = agents.find((each) => each.agentId === from.agentId && each.baseUrl === host.serverKey);
  const choice = findToolsetChoice(entry?.toolsetsByConversation?.[from.conversationId]);
  // What was chosen for the agent holds for its copies anyway.
  if (choice !== undefined) await saveToolset(host, { ...from, conversationId }, choice);
}

function without(choice: ToolsetChoice): string | undefined {
  return choice === "auto" ? undefined : choice;
}
