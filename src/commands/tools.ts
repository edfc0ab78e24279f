// `letta tools list`: the tools the model can be offered.

import { defineCommand } from "citty";
import type { App } from "@/app.ts";
import { LettaError } from "@/lib/errors.ts";
import { findNearest } from "@/lib/nearest.ts";
import { renderTable } from "@/lib/table.ts";
import type { AnyTool } from "@/tools/define-tool.ts";
import { TOOLSETS, type ToolsetId } from "@/tools/toolsets.ts";
import { withApp } from "./context.ts";
import type { Io } from "./io.ts";
import { type OutputArgs, outputArgs, present, tableOptions } from "./output.ts";

const list = defineCommand({
  meta: { name: "list", description: "List the tools (JSON: with their parameter schemas)" },
  args: {
    ...outputArgs,
    toolset: {
      type: "string",
      valueHint: "NAME",
      description: `Only one set, as its models see it: ${TOOLSETS.join(", ")}`,
    },
  },
  run: ({ args, data }) => withApp(data, (app, io) => runToolsList(app, args, io)),
});

export const command = defineCommand({
  subCommands: { list },
});

export async function runToolsList(
  app: Pick<App, "tools">,
  args: OutputArgs & { toolset?: string },
  io: Io,
): Promise<number> {
  const toolset = args.toolset === undefined ? undefined : parseToolset(args.toolset);
  const list = () =>
    toolset === undefined ? app.tools.list() : app.tools.select({ toolset, interactive: true }).tools;
  return present(io, args, list, {
    value: (tools) =>
      tools.map(({ name, toolsets, description, parameters, alwaysAsk, interactive }) => ({
        name,
        toolsets: toolsets ?? null,
        description,
        parameters,
        always_ask: alwaysAsk,
        needs_person: interactive,
      })),
    text: (tools) =>
      renderTable(
        [{ title: "NAME" }, ...(toolset ? [] : [{ title: "SETS" }]), { title: "DESCRIPTION", shrink: true }],
        tools.map((tool) => [tool.name, ...(toolset ? [] : [setsOf(tool)]), firstSentence(tool.description)]),
        tableOptions(io),
      ),
  });
}

/** By family; the snake variants have the same members under other names. */
function setsOf({ toolsets }: AnyTool): string {
  if (toolsets === undefined) return "all";
  const families = new Set(Object.keys(toolsets).map((id) => id.replace(/_snake$/, "")));
  return [...families].join(", ") || "by name";
}

function parseToolset(text: string): ToolsetId {
  const toolset = TOOLSETS.find((id) => id === text);
  if (toolset) return toolset;
  const near = findNearest(text, TOOLSETS);
  throw new LettaError("usage", `there is no toolset "${text}"`, {
    hint: near ? `Did you mean ${near}?` : `Toolsets: ${TOOLSETS.join(", ")}`,
  });
}

function firstSentence(text: string): string {
  const line = text.trim().split("\n", 1)[0] ?? "";
  return /^.*?[.!?](?=\s|$)/.exec(line)?.[0] ?? line;
}
