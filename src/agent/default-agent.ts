// What a new agent starts from: its name and the built-in system prompt.

import type { AgentCreate } from "@/backend/wire.ts";
import systemPrompt from "./system-prompt.md" with { type: "text" };

const DEFAULT_AGENT_NAME = "Letta";

export function defaultSystemPrompt(): string {
  return systemPrompt.trim();
}

/** Body of an agent nobody described: `model` is a handle, or "" to choose at run time. */
export function defaultAgent(options: { model: string; system?: string; tags?: string[] }): AgentCreate {
  return {
    name: DEFAULT_AGENT_NAME,
    system: options.system ?? defaultSystemPrompt(),
    model: options.model,
    ...(options.tags && { tags: options.tags }),
  };
}
