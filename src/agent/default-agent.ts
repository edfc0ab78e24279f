// What a new agent starts from: its name, the built-in system prompt, and a personality in its memory.

import type { AgentCreate } from "@/backend/wire.ts";
import { LettaError } from "@/lib/errors.ts";
import { fileBlocks } from "@/memory/blocks.ts";
import { PERSONALITIES } from "@/memory/personalities.ts";
import { findPersonality } from "@/memory/presets.ts";
import systemPrompt from "./system-prompt.md" with { type: "text" };

const DEFAULT_AGENT_NAME = "Letta";

export function defaultSystemPrompt(): string {
  return systemPrompt.trim();
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
