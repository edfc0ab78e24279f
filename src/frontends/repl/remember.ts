// The conversation a person last used here, so that the next `letta` in this directory goes on with it. Scripts have
// their own (agent/last-session.ts).

import type { App } from "@/app.ts";
import type { ConversationRef } from "@/backend/backend.ts";
import { errorMessage } from "@/lib/errors.ts";

/** Returns a warning when it could not be saved; nobody stops working for that. */
export async function rememberConversation(
  app: Pick<App, "settings" | "serverKey" | "env">,
  ref: ConversationRef,
): Promise<string | null> {
  if (app.env.disableSessionPersist) return null;
  const session = { agentId: ref.agentId, conversationId: ref.conversationId };
  const { settings, serverKey } = app;
  try {
    if (settings.projectRoot !== null && !isSame(settings.local.sessionsByServer?.[serverKey], session))
      await settings.updateLocal((local) => {
        local.sessionsByServer = { ...local.sessionsByServer, [serverKey]: session };
      });
    if (!isSame(settings.user.sessionsByServer?.[serverKey], session))
      await settings.updateUser((user) => {
        user.sessionsByServer = { ...user.sessionsByServer, [serverKey]: session };
      });
    return null;
  } catch (error) {
    return `The next letta will not find this conversation by itself: ${errorMessage(error)}`;
  }
}

function isSame(saved: ConversationRef | undefined, session: ConversationRef): boolean {
  return saved?.agentId === session.agentId && saved.conversationId === session.conversationId;
}
