// A temporary home with real settings, paths and database for command tests, and an Io that remembers what was said.

import { onTestFinished } from "bun:test";
import { rmSync } from "node:fs";
import { mkdtemp, realpath } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Core } from "@/app.ts";
import type { ConversationRef } from "@/backend/backend.ts";
import { createLocalBackend } from "@/backend/local/local-backend.ts";
import type { StreamChunk } from "@/backend/wire.ts";
import type { StoreApp } from "@/commands/context.ts";
import type { Io } from "@/commands/io.ts";
import { createScriptedAdapter } from "@/providers/scripted.ts";
import { openAgentSecrets } from "@/store/agent-secrets.ts";
import { openDatabase } from "@/store/db.ts";
import { readEnv } from "@/store/env.ts";
import { resolvePaths } from "@/store/paths.ts";
import type { Secrets } from "@/store/secrets.ts";
import { openSettings } from "@/store/settings.ts";

export interface RecordedIo extends Io {
  out: string;
  err: string;
  questions: string[];
}

export interface IoOptions {
  isTty?: boolean;
  width?: number;
  /** The answer of the person; nobody is there when it is missing. */
  answer?: boolean;
}

export function recordingIo({ isTty = false, width = 80, answer }: IoOptions = {}): RecordedIo {
  const io: RecordedIo = {
    out: "",
    err: "",
    questions: [],
    isTty,
    width,
    color: false,
    closed: false,
    stdout(text) {
      io.out += text;
    },
    stderr(text) {
      io.err += text;
    },
  };
  if (answer !== undefined) {
    io.confirm = async (question) => {
      io.questions.push(question);
      return answer;
    };
  }
  return io;
}

/** A user without any keys. */
export const NO_SECRETS: Secrets = {
  location: "nowhere",
  listProviders: async () => [],
  saveProvider: async () => {},
  findKey: async () => null,
  removeProvider: async () => false,
};

export async function tempCore(vars: Record<string, string> = {}): Promise<Core> {
  const home = await realpath(await mkdtemp(join(tmpdir(), "letta-command-")));
  onTestFinished(() => rmSync(home, { recursive: true, force: true }));
  const cwd = join(home, "project");
  await Bun.write(join(cwd, ".git", "HEAD"), "ref: refs/heads/main\n");
  const env = readEnv({ HOME: home, PATH: process.env.PATH, ...vars });
  const paths = resolvePaths(env);
  return { env, paths, cwd, settings: await openSettings({ paths, cwd }), secrets: NO_SECRETS };
}

/** The same with a real local backend; its clock starts at `START` and moves a second with every look. */
export async function tempApp(
  steps: Parameters<typeof createScriptedAdapter>[0] = [],
  vars: Record<string, string> = {},
): Promise<StoreApp> {
  const core = await tempCore(vars);
  const models = createScriptedAdapter(steps);
  let now = START;
  const db = openDatabase(core.paths.database);
  const backend = createLocalBackend({ db, models, now: () => (now += 1000) });
  const agentSecrets = openAgentSecrets({ ...core, keychain: null });
  return { ...core, models, backend, agentSecrets, serverKey: `local:${core.paths.local}` };
}

export const START = Date.parse("2026-03-01T10:00:00.000Z");

/** Sends one message and returns the chunks of the run. */
export async function say(app: StoreApp, ref: ConversationRef, text: string): Promise<StreamChunk[]> {
  const message = { type: "message" as const, role: "user" as const, content: text, otid: crypto.randomUUID() };
  return Array.fromAsync(app.backend.sendMessages(ref, { messages: [message], agent_id: ref.agentId }));
}

/** Replaces what differs from run to run: ids by names in order of appearance, times (how often the backend looks at
 *  its clock is its own business). */
export function stableText(app: StoreApp, text: string): string {
  const names = new Map<string, string>();
  return text
    .replaceAll(app.paths.home, "~")
    .replace(/\b2026-03-01T[0-9:.]+Z/g, "<time>")
    .replace(/\b(agent-local|local-conv|local-run|msg)-[0-9a-f]{8}-[0-9a-f-]{27}/g, (id, kind: string) => {
      if (!names.has(id)) names.set(id, `${kind}-${names.size + 1}`);
      return names.get(id)!;
    });
}
