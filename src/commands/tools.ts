// `letta tools list`: the tools the model can be offered.

import { defineCommand } from "citty";
import type { App } from "@/app.ts";
import { renderTable } from "@/lib/table.ts";
import { withApp } from "./context.ts";
import type { Io } from "./io.ts";
import { type OutputArgs, outputArgs, present, tableOptions } from "./output.ts";

const list = defineCommand({
  meta: { name: "list", description: "List the tools (JSON: with their parameter schemas)" },
  args: outputArgs,
  run: ({ args, data }) => withApp(data, (app, io) => runToolsList(app, args, io)),
});

export const command = defineCommand({
  subCommands: { list },
});

export async function runToolsList(app: Pick<App, "tools">, args: OutputArgs, io: Io): Promise<number> {
  return present(io, args, () => app.tools.list(), {
    value: (tools) =>
      tools.map(({ name, description, parameters, alwaysAsk, interactive }) => ({
        name,
        description,
        parameters,
        always_ask: alwaysAsk,
        needs_person: interactive,
      })),
    text: (tools) =>
      renderTable(
        [{ title: "NAME" }, { title: "DESCRIPTION", shrink: true }],
        tools.map((tool) => [tool.name, firstSentence(tool.description)]),
        tableOptions(io),
      ),
  });
}

function firstSentence(text: string): string {
  const line = text.trim().split("\n", 1)[0] ?? "";
  return /^.*?[.!?](?=\s|$)/.exec(line)?.[0] ?? line;
}
