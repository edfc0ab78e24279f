// `letta permissions`: the rules in force here, where each comes from, and what they say about a call.

import { defineCommand } from "citty";
import { renderTable } from "@/lib/table.ts";
import type { PermissionChecker } from "@/permissions/types.ts";
import { withApp } from "./context.ts";
import type { Io } from "./io.ts";
import { type OutputArgs, outputArgs, present, tableOptions } from "./output.ts";

const list = defineCommand({
  meta: { name: "list", description: "The permission mode and rules in force here, with their sources" },
  args: outputArgs,
  run: ({ args, data }) => withApp(data, (app, io) => runPermissionsList(app, args, io)),
});

const explain = defineCommand({
  meta: { name: "explain", description: "What would happen with a call, why, and what would change it" },
  args: {
    call: {
      type: "positional",
      required: true,
      description: "A shell command, a call such as Read(a.txt), or JSON",
    },
    ...outputArgs,
  },
  run: ({ args, data }) =>
    withApp(data, async (app, io) => {
      const { runPermissionsExplain } = await import("./permissions-explain.ts");
      return runPermissionsExplain(app, args, io);
    }),
});

const test = defineCommand({
  meta: { name: "test", description: "Check a file of expectations; exit code 1 when one is not met" },
  args: {
    file: { type: "positional", required: true, description: "Lines such as: deny cat .env" },
    ...outputArgs,
  },
  run: ({ args, data }) =>
    withApp(data, async (app, io) => {
      const { runPermissionsTest } = await import("./permissions-explain.ts");
      return runPermissionsTest(app, args, io);
    }),
});

export const command = defineCommand({
  subCommands: { list, explain, test },
  default: "list",
});

export async function runPermissionsList(
  app: { permissions: PermissionChecker },
  args: OutputArgs,
  io: Io,
): Promise<number> {
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
