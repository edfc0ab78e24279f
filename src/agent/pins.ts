// Pinned agents (user settings, per server, because the same id may exist on two servers): offered first, and found by
// `--name`.

import type { UserSettings } from "@/store/settings.ts";
import type { AgentHost } from "./host.ts";

/** In the order they were pinned. */
export function pinnedAgentIds(settings: UserSettings, serverKey: string): string[] {
  const entries = settings.agents ?? [];
  return entries.filter((entry) => entry.pinned && entry.baseUrl === serverKey).map((entry) => entry.agentId);
}

/** Idempotent. Other facts in the agent's entry stay. */
export async function setPinned(
  { settings, serverKey }: Pick<AgentHost, "settings" | "serverKey">,
  agentId: string,
  pinned: boolean,
): Promise<void> {
  await settings.updateUser((user) => {
    const entries = user.agents ?? [];
    const entry = entries.find((each) => each.agentId === agentId && each.baseUrl === serverKey);
    if ((entry?.pinned ?? false) === pinned) return;
    const others = entries.filter((each) => each !== entry);
    user.agents = [...others, { ...entry, agentId, baseUrl: serverKey, pinned }];
  });
}
