// The environment of a command the model wrote: what every command gets, and the agent's secrets that it names.

import type { ToolContext } from "./define-tool.ts";

/** Throws ToolError when a secret cannot be read. */
export async function commandEnv(
  command: string,
  { services, agentId, conversationId, cwd }: Pick<ToolContext, "services" | "agentId" | "conversationId" | "cwd">,
): Promise<Record<string, string>> {
  const env = services.childEnv({ agentId, conversationId, cwd });
  return { ...env, ...(await services.agentEnv(agentId)), ...(await services.secrets.envFor(agentId, command)) };
}
