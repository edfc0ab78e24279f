// Lists of agents and conversations to choose from.

import { type Backend, DEFAULT_CONVERSATION } from "@/backend/backend.ts";
import type { AgentState } from "@/backend/wire.ts";
import { formatAge } from "@/lib/relative-time.ts";
import { toPlainLine } from "@/lib/terminal-text.ts";
import type { Choice } from "./choice.ts";

/** Pinned ones first, then as the backend orders them. Values are agent ids; null is for whoever adds "new". */
export function agentChoice(
  agents: AgentState[],
  { pinned, current, now }: { pinned: string[]; current: string | null; now: number },
): Choice<string | null> {
  const sorted = agents.toSorted((a, b) => Number(pinned.includes(b.id)) - Number(pinned.includes(a.id)));
  return {
    title: ["Agent"],
    filter: true,
    initial: Math.max(
      0,
      sorted.findIndex(({ id }) => id === current),
    ),
    items: sorted.map((agent) => ({
      value: agent.id,
      label: toPlainLine(agent.name),
      hint: [
        pinned.includes(agent.id) ? "pinned" : "",
        agent.model,
        formatAge(agent.last_run_completion, now),
        agent.id === current ? "current" : "",
      ]
        .filter(Boolean)
        .join(" · "),
    })),
  };
}

/** Values are conversation ids. */
export async function conversationChoice(
  backend: Pick<Backend, "listConversations">,
  agent: AgentState,
  now: number,
): Promise<Choice<string>> {
  const { items } = await backend.listConversations({ agentId: agent.id, limit: 100, archived: "unarchived" });
  return {
    title: [`Conversations of ${toPlainLine(agent.name)}`],
    filter: true,
    // Where nothing was said there is nothing to go on with, unless somebody gave it a name.
    items: items
      .filter((conversation) => conversation.last_message_at !== null || conversation.summary !== null)
      .map((conversation) => ({
        value: conversation.id,
        label:
          toPlainLine(conversation.summary ?? "") ||
          (conversation.id === DEFAULT_CONVERSATION ? "main conversation" : conversation.id),
        hint: formatAge(conversation.last_message_at ?? conversation.created_at, now),
      })),
  };
}
