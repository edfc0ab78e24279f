// `/connect`: which provider, where it is, with which key; the endpoint is asked for its models before anything is
// saved, so that a wrong key shows now and not with the first message.

import { LettaError } from "@/lib/errors.ts";
import { toPlainLine } from "@/lib/terminal-text.ts";
import { type Connection, listConnections } from "@/providers/connections.ts";
import { listEndpointModels } from "@/providers/endpoint.ts";
import { findKind, normaliseBaseUrl, PROVIDER_KINDS, type ProviderKind } from "@/providers/kinds.ts";
import type { ReplSession } from "./session.ts";
import { plural } from "./theme.ts";

const VERIFY_MS = 15_000;

/** `provider`, `provider key`, `provider url` (or `--base-url url`), or nothing: then everything is asked. */
export async function connectInteractively(args: string, session: ReplSession): Promise<void> {
  const { app } = session;
  const words = args.split(/\s+/).filter((word) => word !== "" && word !== "--base-url");
  const kind = words[0] ? kindNamed(words[0]) : await pickKind(session);
  if (!kind) return;
  const given = words.slice(1);
  const typedUrl = given.find((word) => /^https?:\/\//i.test(word)) ?? (await askUrl(kind, session));
  if (typedUrl === null) return;
  const typedKey = given.find((word) => !/^https?:\/\//i.test(word)) ?? (await askKey(kind, session));
  if (typedKey === null) return;
  const key = typedKey === "" ? null : typedKey;
  const baseUrl = typedUrl === "" ? (kind.baseUrl ?? "") : normaliseBaseUrl(kind, typedUrl);
  const connection: Connection = {
    name: kind.id,
    kind,
    source: "stored",
    key,
    baseUrl,
    customUrl: typedUrl !== "",
    timeoutMs: 0,
  };
  const models = await listEndpointModels(connection, { timeoutMs: VERIFY_MS });
  const at = new Date(session.now()).toISOString();
  const record = {
    name: kind.id,
    providerType: kind.id,
    ...(typedUrl !== "" && { baseUrl }),
    createdAt: at,
    updatedAt: at,
  };
  await app.secrets.saveProvider(record, key);
  const count = models.length > 0 ? `, ${plural(models.length, "model")}` : "";
  session.say(`${kind.label} is connected${count}.${key ? ` The key is in ${app.secrets.location}.` : ""}`);
  await chooseFirstModel(session);
}

/** The first connection brings a model with it; later ones do not take the current model away. */
async function chooseFirstModel(session: ReplSession): Promise<void> {
  if (session.model !== "") return session.say("/model chooses from what is connected.");
  const handle = await session.app.models.defaultModel();
  if (!handle) return session.say("/model chooses a model.");
  session.agent = await session.app.backend.updateAgent(session.agent.id, { model: handle });
  session.model = handle;
  session.say(`Model: ${handle}. /model chooses another.`);
}

function kindNamed(name: string): ProviderKind {
  const kind = findKind(name);
  if (kind) return kind;
  throw new LettaError("not_found", `There is no provider "${toPlainLine(name)}"`, {
    hint: `Known: ${PROVIDER_KINDS.map(({ id }) => id).join(", ")}`,
  });
}

async function pickKind({ app, ui }: ReplSession): Promise<ProviderKind | undefined> {
  const connected = new Map(
    (await listConnections(app.env, app.secrets)).map((found) => [found.kind.id, found.source]),
  );
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
async function askUrl(kind: ProviderKind, { ui }: ReplSession): Promise<string | null> {
  if (kind.baseUrl !== null && !kind.local) return "";
  const answer = await ui.choose({
    title: [ui.theme.bold(`Address of ${kind.label}`)],
    items: [
      ...(kind.baseUrl === null ? [] : [{ value: "default", label: kind.baseUrl }]),
      { value: "other", label: kind.baseUrl === null ? "URL" : "Another URL", input: true },
    ],
  });
  if (!answer) return null;
  if (answer.values[0] === "default") return "";
  if (answer.text) return answer.text;
  throw new LettaError("usage", `${kind.label} needs a URL, for example http://localhost:8000/v1`);
}

/** "" for servers without keys; null: cancelled. */
async function askKey(kind: ProviderKind, { ui }: ReplSession): Promise<string | null> {
  const optional = kind.local || kind.baseUrl === null;
  const key = await ui.askSecret(`API key for ${kind.label}${optional ? " (Enter: none)" : ""}:`);
  if (key === "" && !optional) throw new LettaError("usage", `${kind.label} needs a key`);
  return key;
}
