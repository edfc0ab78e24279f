// Pinned agents (user settings, per server): offered first, and found by `--name`.

import type { SettingsStore, UserSettings } from "@/store/settings.ts";

/** In the order they were pinned. */
export function pinnedAgentIds(settings: UserSettings, serverKey: string): string[] {
  const entries = settings.agents ?? [];
  return entries.filter((entry) => entry.pinned && entry.baseUrl === serverKey).map((entry) => entry.agentId);
}

export async function pinAgent(settings: SettingsStore, serverKey: string, agentId: string): Promise<void> {
  await settings.updateUser((user) => {
    const others = (user.agents ?? []).filter((entry) => entry.agentId !== agentId || entry.baseUrl !== serverKey);
    user.agents = [...others, { agentId, baseUrl: serverKey, pinned: true }];
  });
}
