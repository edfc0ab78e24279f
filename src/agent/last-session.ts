// "Last conversation" of a directory. People and scripts have one each, so that a cron job never moves the conversation
// somebody's next `letta` opens. Scripts outside a project are remembered per directory in the user's settings.

import * as v from "valibot";
import type { App } from "@/app.ts";
import type { ConversationRef } from "@/backend/backend.ts";
import { errorMessage } from "@/lib/errors.ts";

type SessionApp = Pick<App, "settings" | "serverKey" | "cwd">;

/** Directory → server key → conversation. */
const ByDirectorySchema = v.fallback(
  v.record(v.string(), v.record(v.string(), v.looseObject({ agentId: v.string(), conversationId: v.string() }))),
  {},
);
/** Directories remembered in the user's settings; the oldest is forgotten. */
const MAX_DIRECTORIES = 100;

export function findHeadlessSession({ settings, serverKey, cwd }: SessionApp): ConversationRef | undefined {
  const found =
    settings.local.headlessByServer?.[serverKey] ??
    v.parse(ByDirectorySchema, settings.user.headlessByDirectory ?? {})[cwd]?.[serverKey];
  return found && { agentId: found.agentId, conversationId: found.conversationId };
}

/** The conversation people last used: of this project, else anywhere. */
export function findInteractiveSession(
  { settings, serverKey }: SessionApp,
  scope: "project" | "user",
): ConversationRef | undefined {
  const found = (scope === "project" ? settings.local : settings.user).sessionsByServer?.[serverKey];
  return found && { agentId: found.agentId, conversationId: found.conversationId };
}

/** Returns a warning when it could not be remembered; a run does not fail for that. */
export async function rememberHeadlessSession(app: SessionApp, ref: ConversationRef): Promise<string | null> {
  const { settings, serverKey, cwd } = app;
  const session = { agentId: ref.agentId, conversationId: ref.conversationId };
  if (settings.projectRoot !== null) {
    try {
      await settings.updateLocal((local) => {
        local.headlessByServer = { ...local.headlessByServer, [serverKey]: session };
      });
      return null;
    } catch {
      // A read-only or damaged project: the user's own settings take it.
    }
  }
  try {
    await settings.updateUser((user) => {
      const { [cwd]: here, ...others } = v.parse(ByDirectorySchema, user.headlessByDirectory ?? {});
      const newest = Object.entries(others).slice(1 - MAX_DIRECTORIES);
      user.headlessByDirectory = { ...Object.fromEntries(newest), [cwd]: { ...here, [serverKey]: session } };
    });
    return null;
  } catch (error) {
    return `--continue will not find this conversation: ${errorMessage(error)}`;
  }
}
