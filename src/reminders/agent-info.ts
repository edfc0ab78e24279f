// Who the agent is, in the words its own commands need.

import { formatAge } from "@/lib/relative-time.ts";
import type { Reminder } from "./registry.ts";

export const agentInfo: Reminder = {
  id: "agent-info",
  async build({ agent, memoryDir, conversationId, now }) {
    const last = agent.last_run_completion;
    const lines = [
      "This is an automated message about you, from the program you run in.",
      `- Agent id (also in the environment as AGENT_ID): ${agent.id}`,
      `- Conversation id (CONVERSATION_ID): ${conversationId}`,
      // File tools know no variables.
      ...(memoryDir === null ? [] : [`- Memory directory (MEMORY_DIR): ${memoryDir}`]),
      `- Name: ${agent.name}`,
      ...(agent.description ? [`- Description: ${agent.description}`] : []),
      ...(last ? [`- Your last activity before this message: ${last} (${formatAge(last, now.getTime())})`] : []),
    ];
    return {
      text: lines.join("\n"),
      fingerprint: JSON.stringify([agent.id, conversationId, agent.name, agent.description, memoryDir]),
    };
  },
};
