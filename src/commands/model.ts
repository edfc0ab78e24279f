// `letta model list|set`: which models the connected providers offer, and which one is used when nobody chose.

import { defineCommand } from "citty";
import { noteRecentModel } from "@/agent/recent-models.ts";
import type { Core } from "@/app.ts";
import type { ModelAdapter } from "@/backend/model.ts";
import type { ModelRecord } from "@/backend/wire.ts";
import { findNearest } from "@/lib/nearest.ts";
import { renderTable } from "@/lib/table.ts";
import { shortCount } from "@/lib/text.ts";
import { createModelAdapter } from "@/providers/adapter.ts";
import { connectedHint, findConnection, listConnections } from "@/providers/connections.ts";
import { withCore } from "./context.ts";
import type { Io } from "./io.ts";
import { dataArgs, type OutputArgs, outputArgs, present, tableOptions } from "./output.ts";

const list = defineCommand({
  meta: { name: "list", description: "Models of the connected providers" },
  args: {
    provider: { type: "string", valueHint: "NAME", description: "Only this provider" },
    ...dataArgs,
  },
  run: ({ args, data }) => withCore(data, (core, io) => runModelList(core, args, io)),
});

const set = defineCommand({
  meta: { name: "set", description: "Use this model when nobody chose another" },
  args: {
    handle: { type: "positional", required: true, description: "PROVIDER/MODEL" },
    ...outputArgs,
  },
  run: ({ args, data }) => withCore(data, (core, io) => runModelSet(core, args, io)),
});

export const command = defineCommand({
  subCommands: { list, set },
  default: "list",
});

export interface ListedModel extends ModelRecord {
  /** Used when nobody chose. */
  default: boolean;
}

/** `models` is made from the core when it is not given. */
export async function runModelList(
  core: Core,
  args: OutputArgs & { provider?: string },
  io: Io,
  models: ModelAdapter = createModelAdapter(core),
): Promise<number> {
  return present(
    io,
    args,
    async (): Promise<ListedModel[]> => {
      const [all, preferred] = await Promise.all([models.listModels(), models.defaultModel()]);
      const provider = args.provider === undefined ? undefined : await findProvider(core, all, args.provider);
      const wanted = all.filter((model) => provider === undefined || model.provider_name === provider);
      return wanted.map((model) => ({ ...model, default: model.handle === preferred }));
    },
    { piped: "json", text: (listed) => renderModels(listed, io) },
  );
}

export async function runModelSet(
  core: Core,
  args: OutputArgs & { handle: string },
  io: Io,
  models: ModelAdapter = createModelAdapter(core),
): Promise<number> {
  return present(
    io,
    args,
    async () => {
      const model = await models.resolveModel(args.handle);
      await core.settings.updateUser((settings) => {
        settings.defaultModel = model.handle;
        noteRecentModel(settings, model.handle);
      });
      await warnAboutStranger(models, model, io);
      return model;
    },
    {
      text: ({ handle }) =>
        `The default model is now ${handle}, for agents to come. One that has its model keeps it:\n` +
        `change that with /model while you talk to it, or letta --model ${handle} --save\n`,
    },
  );
}

/** An endpoint may serve models its list leaves out, so an unlisted name is a note and not a failure. */
async function warnAboutStranger(models: ModelAdapter, model: ModelRecord, io: Io): Promise<void> {
  const siblings = (await models.listModels()).filter(({ provider_name }) => provider_name === model.provider_name);
  if (siblings.length === 0 || siblings.some(({ handle }) => handle === model.handle)) return;
  const near = findNearest(
    model.model,
    siblings.map((sibling) => sibling.model),
  );
  const guess = near === undefined ? "" : ` Did you mean ${model.provider_name}/${near}?`;
  io.stderr(`Note: ${model.provider_name} does not list a model "${model.model}".${guess}\n`);
}

async function findProvider(core: Core, all: ModelRecord[], typed: string): Promise<string> {
  if (all.some((model) => model.provider_name === typed)) return typed;
  return findConnection(await listConnections(core.env, core.secrets), typed).name;
}

function renderModels(models: ListedModel[], io: Io): string {
  if (models.length === 0) return `No models.\n${connectedHint([])}\n`;
  const columns = [
    { title: "" },
    { title: "MODEL", shrink: true },
    { title: "CONTEXT", align: "right" as const },
    { title: "OUTPUT", align: "right" as const },
    { title: "CAN" },
  ];
  const rows = models.map((model) => [
    model.default ? "*" : "",
    model.handle,
    formatTokens(model.max_context_window),
    formatTokens(model.max_tokens),
    [model.vision ? "see" : "", model.reasoning ? "reason" : ""].filter(Boolean).join(", "),
  ]);
  return renderTable(columns, rows, tableOptions(io));
}

function formatTokens(tokens: number | null): string {
  return tokens === null ? "unknown" : shortCount(tokens);
}
