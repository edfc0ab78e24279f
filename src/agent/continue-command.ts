import { type ConversationRef, DEFAULT_CONVERSATION } from "@/backend/backend.ts";

/** What to type to go on with a conversation from anywhere. */
export function continueCommand({ agentId, conversationId }: ConversationRef): string {
  return conversationId === DEFAULT_CONVERSATION ? `letta --agent ${agentId}` : `letta --conv ${conversationId}`;
}
