// "Last conversation" of a directory. People and scripts have one each, so that a cron job never moves the conversation
// somebody's next `letta` opens. A script does not litter either: only a project that has a `.letta` directory already
// gets the note there, all others are remembered in the user's settings.

import { statSync } from "node:fs";
import { join } from "node:path";
import * as v from "valibot";
import type { ConversationRef } from "@/backend/backend.ts";
import { errorMessage } from "@/lib/errors.ts";
import type { AgentHost } from "./host.ts";

type SessionApp = Pick<AgentHost, "settings" | "serverKey" | "cwd">;

const HeadlessSessionSchema = v.looseObject({
  agentId: v.string(),
  conversationId: v.string(),
  /** When it was noted; of two notes the newer one counts. */
  at: v.optional(v.string(), ""),
});
/** Project root → server key → conversation. */
const ByDirectorySchema = v.fallback(v.record(v.string(), v.record(v.string(), HeadlessSessionSchema)), {});
/** Directories remembered in the user's settings; the oldest is forgotten. */
const MAX_DIRECTORIES = 100;

export function findHeadlessSession(app: SessionApp): ConversationRef | undefined {
  const { settings, serverKey } = app;
  const inProject = v.safeParse(HeadlessSessionSchema, settings.local.headlessByServer?.[serverKey]);
  const ofUser = v.parse(ByDirectorySchema, settings.user.headlessByDirectory ?? {})[directoryOf(app)]?.[serverKey];
  const notes = [...(inProject.success ? [inProject.output] : []), ...(ofUser ? [ofUser] : [])];
  const found = notes.toSorted((a, b) => b.at.localeCompare(a.at))[0];
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
export async function rememberHeadlessSession(
  app: SessionApp,
  { agentId, conversationId }: ConversationRef,
  now: () => Date = () => new Date(),
): Promise<string | null> {
  const { settings, serverKey } = app;
  const session = { agentId, conversationId, at: now().toISOString() };
  if (settings.projectRoot !== null && isDirectory(join(settings.projectRoot, ".letta"))) {
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
      const directory = directoryOf(app);
      const { [directory]: here, ...others } = v.parse(ByDirectorySchema, user.headlessByDirectory ?? {});
      const newest = Object.entries(others).slice(1 - MAX_DIRECTORIES);
      user.headlessByDirectory = { ...Object.fromEntries(newest), [directory]: { ...here, [serverKey]: session } };
    });
    return null;
  } catch (error) {
    return `--continue will not find this conversation: ${errorMessage(error)}`;
  }
}

function directoryOf({ settings, cwd }: SessionApp): string {
  return settings.projectRoot ?? cwd;
}

function isDirectory(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}
