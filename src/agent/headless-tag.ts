// Conversations of scripts carry a tag. Pickers leave them out unless asked for; search and the agent itself still see
// them, because what a script did is part of what the agent remembers.

import type { Conversation } from "@/backend/wire.ts";

export const HEADLESS_TAG = "headless";

export function isHeadlessConversation(conversation: Pick<Conversation, "tags">): boolean {
  return conversation.tags.includes(HEADLESS_TAG);
}
