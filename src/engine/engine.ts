import type { Turn, TurnInput } from "./events.ts";
import type { TurnQueue } from "./queue.ts";

export interface Engine {
  /** Starts a turn at once. A conversation that already has one (here or in another process) ends with `busy`. */
  submit(input: TurnInput): Turn;
  /** What waits for a conversation of this process; the front end takes batches from it and submits them. */
  queue(conversation: { agentId: string; conversationId: string }): TurnQueue;
}
