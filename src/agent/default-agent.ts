// What a new agent starts from: its name, the built-in system prompt, and a personality in its memory.

import type { AgentCreate } from "@/backend/wire.ts";
import { LettaError } from "@/lib/errors.ts";
import { fileBlocks } from "@/memory/blocks.ts";
import { PERSONALITIES } from "@/memory/personalities.ts";
import { findPersonality } from "@/memory/presets.ts";
import memoryGuide from "./memory-guide.md" with { type: "text" };
import systemPrompt from "./system-prompt.md" with { type: "text" };

const DEFAULT_AGENT_NAME = "Letta";

/** `memory` false: for an agent that has none. */
export function defaultSystemPrompt({ memory = true }: { memory?: boolean } = {}): string {
  return systemPrompt.replace(/\{MEMORY_GUIDE\}\s*/, () => (memory ? `${memoryGuide.trim()}\n\n` : "")).trim();
}

/** Body of an agent nobody described: `model` is a handle, or "" to choose at run time. Throws `usage` for a personality
 *  that does not exist. */
export function defaultAgent(options: {
  model: string;
  system?: string;
  tags?: string[];
  /** Default: `memo`. */
  personality?: string;
}): AgentCreate {
  const personality = findPersonality(options.personality ?? "memo");
  if (!personality) {
    throw new LettaError("usage", `there is no personality "${options.personality}"`, {
      hint: `There are: ${PERSONALITIES.map(({ id }) => id).join(", ")}`,
    });
  }
  return {
    name: DEFAULT_AGENT_NAME,
    system: options.system ?? defaultSystemPrompt(),
    model: options.model,
    memory_blocks: fileBlocks(personality.files),
    ...(options.tags && { tags: options.tags }),
  };
}
