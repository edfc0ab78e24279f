// The memories of all agents of this process, each opened once.

import type { Paths } from "@/store/paths.ts";
import { DEFAULT_FILES } from "./default-files.ts";
import { type AgentMemory, type GitEngine, openMemory } from "./service.ts";

/** What has to be known of an agent. */
export interface MemoryOwner {
  id: string;
  name: string;
  tags: readonly string[];
}

export interface Memories {
  /** Null for an agent that has none. `seed`: what it begins with if it has to be made; default: the default texts. */
  find(agent: MemoryOwner, seed?: Record<string, string>): AgentMemory | null;
  /** Its folder is another one now: it is opened anew when it is asked for next. */
  forget(agentId: string): void;
}

export interface MemoriesOptions {
  paths: Pick<Paths, "agents">;
  git(): Promise<GitEngine>;
  redact?(text: string): string;
}

/** Agents that live for one task. */
const STATELESS_TAG = "role:subagent";

export function createMemories({ paths, git, redact }: MemoriesOptions): Memories {
  const open = new Map<string, AgentMemory>();
  return {
    forget: (agentId) => void open.delete(agentId),
    find(agent, seed) {
      if (agent.tags.includes(STATELESS_TAG)) return null;
      const known = open.get(agent.id);
      // Its name is in its commits.
      if (known?.agent.name === agent.name) return known;
      const memory = openMemory({
        paths,
        agent: { id: agent.id, name: agent.name },
        git,
        seed: () => seed ?? DEFAULT_FILES,
        ...(redact && { redact }),
      });
      open.set(agent.id, memory);
      return memory;
    },
  };
}
