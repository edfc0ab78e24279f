// Small facts this client keeps about a conversation: which reminders it sent, the cwd it told the model, and so on.

import type { Database } from "bun:sqlite";
import { reading, relaxed } from "./db.ts";

export interface ClientState {
  /** The value parsed from JSON, undefined when absent. The caller validates it. */
  find(conversationKey: string, name: string): unknown;
  /** `undefined` removes it. */
  set(conversationKey: string, name: string, value: unknown): void;
}

/** Relaxed: at worst a reminder is sent twice after a power cut. */
export function createClientState(db: Database): ClientState {
  return {
    find(conversationKey, name) {
      const row = reading(db, () =>
        db.query("SELECT value FROM client_state WHERE conversation_key = ? AND name = ?").get(conversationKey, name),
      ) as { value: string } | null;
      return row ? JSON.parse(row.value) : undefined;
    },
    set(conversationKey, name, value) {
      relaxed(db, () => {
        if (value === undefined) {
          db.query("DELETE FROM client_state WHERE conversation_key = ? AND name = ?").run(conversationKey, name);
        } else {
          db.query("INSERT OR REPLACE INTO client_state VALUES (?, ?, ?)").run(
            conversationKey,
            name,
            JSON.stringify(value),
          );
        }
      });
    },
  };
}
