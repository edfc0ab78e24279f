// `/connect`: chooses a provider and then does what `letta connect` does, asking through the running surface. A key typed
// behind the command is used, and neither shown nor remembered.

import { runConnect } from "@/commands/connect.ts";
import type { Io } from "@/commands/io.ts";
import type { Asking } from "@/commands/secret-input.ts";
import { LettaError } from "@/lib/errors.ts";
import { listConnections } from "@/providers/connections.ts";
import { findKind, PROVIDER_KINDS, type ProviderKind } from "@/providers/kinds.ts";
import type { ReplSession } from "./session.ts";

/** `provider`, `provider key`, `provider URL`, or nothing: then everything is asked. */
export async function connectInteractively(args: string, session: ReplSession): Promise<void> {
  const words = args.split(/\s+/).filter((word) => word !== "" && word !== "--base-url");
  const isUrl = (word: string): boolean => /^https?:\/\//i.test(word);
  const provider = words[0] ?? (await pickProvider(session))?.id;
  if (!provider) return;
  const given = words.slice(1);
  const url = given.find(isUrl) ?? (await askUrl(findKind(provider), session));
  if (url === null) return;
  const key = given.find((word) => !isUrl(word));
  const connectArgs = { provider, ...(url !== "" && { "base-url": url }) };
  const code = await runConnect(session.app, connectArgs, { ...sessionIo(session), ...asking(session, key) });
  if (code === 0) await chooseFirstModel(session);
}

/** The first connection brings a model with it; later ones do not take the current model away. */
async function chooseFirstModel(session: ReplSession): Promise<void> {
  if (session.model !== "") return session.say("/model chooses from what is connected.");
  const handle = await session.app.models.defaultModel();
  if (!handle) return session.say("/model chooses a model.");
  await session.useModel(handle);
  session.say(`Model: ${handle}. /model chooses another.`);
}

async function pickProvider({ app, ui }: ReplSession): Promise<ProviderKind | undefined> {
  const connections = await listConnections(app.env, app.secrets);
  const connected = new Map(connections.map((found) => [found.kind.id, found.source]));
  const answer = await ui.choose({
    title: [ui.theme.bold("Provider")],
    filter: true,
    items: PROVIDER_KINDS.map((kind) => {
      const source = connected.get(kind.id);
      const state = source === "env" ? "connected by environment variable" : source ? "connected" : "";
      return { value: kind, label: kind.label, hint: [kind.id, state].filter(Boolean).join(" · ") };
    }),
  });
  return answer?.values[0];
}

/** "" keeps the provider's own address; null: cancelled. */
async function askUrl(kind: ProviderKind | undefined, { ui }: ReplSession): Promise<string | null> {
  if (!kind || (kind.baseUrl !== null && !kind.local)) return "";
  if (kind.baseUrl === null) return ui.askLine(`Address of the endpoint, for example http://127.0.0.1:8000/v1:`);
  return ui.askLine(`Address of ${kind.label} (Enter: ${kind.baseUrl}):`);
}

export function asking({ ui }: ReplSession, key: string | undefined): Asking {
  const answered = (line: string | null): string => {
    if (line === null) throw new LettaError("cancelled", "Nothing was stored.");
    return line;
  };
  return {
    readStdin: async () => {
      throw new LettaError("usage", "standard input belongs to the conversation here");
    },
    ask: async (question) => answered(await ui.askLine(question.trim())),
    askSecret: async (question) => key ?? answered(await ui.askLine(question.trim(), { hidden: true })),
  };
}

/** What the command writes becomes lines of the conversation. */
export function sessionIo(session: ReplSession): Io {
  const say = (text: string): void => session.say(text.trimEnd());
  return { stdout: say, stderr: say, isTty: false, width: session.ui.columns(), color: false, closed: false };
}
