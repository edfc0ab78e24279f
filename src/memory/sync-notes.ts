// What the agent should hear about its memory's state before the next message: kept per agent until somebody takes it.
// The same thing is said once, and again only after it was right in between.

import type { PullResult, SyncResult } from "./sync.ts";

export interface SyncNotes {
  /** After a sync or a pull. */
  add(agentId: string, memoryDir: string, result: Pick<SyncResult | PullResult, "status" | "summary" | "hint">): void;
  /** What is due, oldest first; then nothing is. */
  take(agentId: string): string[];
}

/** Of one agent; the oldest go. */
const MAX_NOTES = 25;

export function createSyncNotes(): SyncNotes {
  const agents = new Map<string, { due: string[]; last: string | null }>();
  return {
    add(agentId, memoryDir, result) {
      const state = agents.get(agentId) ?? { due: [], last: null };
      agents.set(agentId, state);
      const note = syncNote(memoryDir, result);
      if (note !== null && note !== state.last) state.due = [...state.due, note].slice(-MAX_NOTES);
      state.last = note;
    },
    take: (agentId) => agents.get(agentId)?.due.splice(0) ?? [],
  };
}

/** Null where there is nothing for the agent to do. */
export function syncNote(
  memoryDir: string,
  { status, summary, hint }: Pick<SyncResult | PullResult, "status" | "summary" | "hint">,
): string | null {
  const about = `Memory repository ${memoryDir}: ${summary}`;
  switch (status) {
    case "conflict":
      return `${about}\n${hint ?? "Settle the files, stage them and finish what was begun there."} Syncing is tried again after the turn; do not push.`;
    case "dirty":
      return `${about}\nCommit what belongs into memory with a reason, or take it back. Nothing is synced before; do not push yourself.`;
    case "push_failed":
    case "failed":
      return `${about}${hint ? ` ${hint}` : ""}\nSyncing is tried again after the turn. Look for a problem in the repository only if it says so; do not push.`;
    case "memory_diverged":
      return `${about}\nThe person decides which side stays: ${hint} Tell them; change nothing about it and do not push.`;
    default:
      return null;
  }
}
