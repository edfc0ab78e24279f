// `letta permissions list`: the rules in force here, where each comes from, and which are inert until trust.

import { defineCommand } from "citty";
import type { App } from "@/app.ts";
import { renderTable } from "@/lib/table.ts";
import { withApp } from "./context.ts";
import type { Io } from "./io.ts";
import { type OutputArgs, outputArgs, present, tableOptions } from "./output.ts";

const list = defineCommand({
  meta: { name: "list", description: "The permission mode and rules in force here, with their sources" },
  args: outputArgs,
  run: ({ args, data }) => withApp(data, (app, io) => runPermissionsList(app, args, io)),
});

export const command = defineCommand({
  subCommands: { list },
});

export async function runPermissionsList(app: Pick<App, "permissions">, args: OutputArgs, io: Io): Promise<number> {
  const { permissions } = app;
  return present(
    io,
    args,
    () => ({ mode: permissions.mode, modeSource: permissions.modeSource, rules: permissions.listRules() }),
    {
      text: ({ mode, modeSource, rules }) => {
        const head = `Mode: ${mode} (${modeSource})\n`;
        if (rules.length === 0) return `${head}No rules.\n`;
        const columns = [{ title: "EFFECT" }, { title: "RULE", shrink: true }, { title: "SOURCE" }, { title: "" }];
        const rows = rules.map((rule) => [
          rule.effect,
          rule.rule,
          rule.source,
          rule.inert ? `inert: ${rule.inert}` : "",
        ]);
        return `${head}\n${renderTable(columns, rows, tableOptions(io))}`;
      },
    },
  );
}
