// Small facts this client keeps about a conversation: which reminders it sent, the cwd it told the model, and so on.

export interface ClientState {
  /** The value parsed from JSON, undefined when absent. The caller validates it. */
  find(conversationKey: string, name: string): unknown;
  set(conversationKey: string, name: string, value: unknown): void;
}
