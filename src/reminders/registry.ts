// Notes of the harness to the model, put before the user's own words. One file per reminder, one line here. A reminder
// says something once and again when it changed; compaction forgets what was said, so it re-arms all of them.
// A reminder that fails says nothing: no note is worth holding up the user's message.

import type { AgentState } from "@/backend/wire.ts";
import type { PermissionChecker } from "@/permissions/types.ts";
import type { ClientState } from "@/store/client-state.ts";
import type { Env } from "@/store/env.ts";
import type { Paths } from "@/store/paths.ts";
import type { SettingsStore } from "@/store/settings.ts";
import { agentInfo } from "./agent-info.ts";
import { memorySync } from "./memory-sync.ts";
import { permissionMode } from "./permission-mode.ts";
import { projectInstructions } from "./project-instructions.ts";
import { secretsInfo } from "./secrets-info.ts";
import { sessionContext } from "./session-context.ts";
import { waitingDreams } from "./waiting-dreams.ts";

export interface ReminderContext {
  /** Key of the conversation in the client state. */
  key: string;
  agent: AgentState;
  /** Where its memory is; null when it has none. */
  memoryDir: string | null;
  conversationId: string;
  /** Of this conversation; absolute. */
  cwd: string;
  env: Env;
  paths: Paths;
  settings: SettingsStore;
  permissions: PermissionChecker;
  clientState: ClientState;
  /** Of the agent's secrets. Called when the reminder is due; may throw. */
  secretNames(): string[];
  /** What is due about the agent's memory; then it no longer is. Absent where there is no memory. */
  takeMemoryNotes?(agentId: string): string[];
  /** Of this program. */
  version: string;
  /** False: nothing about the device, the directory and git (`--no-system-info-reminder`). */
  systemInfo: boolean;
  now: Date;
}

export interface Reminder {
  /** Stable: it names what was sent in the client state. */
  id: string;
  /** Text, and a fingerprint of what it says; null when it has nothing to say. It is sent when the fingerprint differs
   *  from the one last sent. May throw. */
  build(context: ReminderContext, previous: string | undefined): Promise<{ text: string; fingerprint: string } | null>;
}

const REMINDERS: Reminder[] = [
  sessionContext,
  projectInstructions,
  agentInfo,
  permissionMode,
  secretsInfo,
  memorySync,
  waitingDreams,
];

/** Texts to put before the next user message, without the wrapper. Never throws. */
export async function collectReminders(context: ReminderContext): Promise<string[]> {
  const sent = findSent(context.clientState, context.key);
  const built = await Promise.all(REMINDERS.map((reminder) => buildQuietly(reminder, context, sent[reminder.id])));
  const news = built.flatMap((result, index) => {
    const { id } = REMINDERS[index]!;
    return result && result.fingerprint !== sent[id] ? [{ id, ...result }] : [];
  });
  if (news.length > 0) {
    const now = Object.fromEntries(news.map(({ id, fingerprint }) => [id, fingerprint]));
    saveSent(context.clientState, context.key, { ...sent, ...now });
  }
  return news.map(({ text }) => text);
}

/** After a compaction the model no longer sees what it was told. */
export function rearm(clientState: ClientState, key: string): void {
  saveSent(clientState, key, {});
}

const STATE = "reminders";

type Sent = Record<string, string>;

async function buildQuietly(reminder: Reminder, context: ReminderContext, previous: string | undefined) {
  try {
    return await reminder.build(context, previous);
  } catch {
    return null; // See the header: a note never holds up the message.
  }
}

function findSent(clientState: ClientState, key: string): Sent {
  const value = clientState.find(key, STATE);
  if (typeof value !== "object" || value === null) return {};
  return Object.fromEntries(
    Object.entries(value).filter((entry): entry is [string, string] => typeof entry[1] === "string"),
  );
}

function saveSent(clientState: ClientState, key: string, sent: Sent): void {
  try {
    clientState.set(key, STATE, sent);
  } catch {
    /* Not saved: the reminders are sent again next time. */
  }
}
