// What a backend that keeps its agents here asks of their memories. It knows nothing of files or git: a revision is a
// name for what was committed, a text is what goes into the prompt.

import type { AgentState, MemoryBlock } from "./wire.ts";

export interface CoreMemory {
  /** Null: this agent has no memory. */
  revision: string | null;
  /** Empty when there is none. */
  text: string;
}

/** Everything may throw: the backend then goes on with what it has, and says so. */
export interface BackendMemory {
  /** Called once, when an agent was made. `blocks` undefined: the request did not say. */
  create(agent: AgentState, blocks: MemoryBlock[] | undefined): Promise<void>;
  /** What `compile` would be made from now; cheap, because it is asked at the start of every turn. */
  revision(agent: AgentState): Promise<string | null>;
  compile(agent: AgentState, conversationId: string): Promise<CoreMemory>;
  /** What an agent that knows `since` has to be told: an empty text for nothing, null when it cannot be said. */
  changes(agent: AgentState, since: string): Promise<{ revision: string; text: string } | null>;
}
