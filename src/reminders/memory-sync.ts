// What became of syncing the agent's memory, where the agent or its person has something to do.

import type { Reminder } from "./registry.ts";

export const memorySync: Reminder = {
  id: "memory_sync",
  async build({ agent, takeMemoryNotes }) {
    const notes = takeMemoryNotes?.(agent.id) ?? [];
    // Taken from a queue, each is news.
    return notes.length === 0 ? null : { text: notes.join("\n\n"), fingerprint: crypto.randomUUID() };
  },
};
