// `letta help [command…]`: the same texts as `--help`.

import { defineCommand } from "citty";
import { LettaError } from "@/lib/errors.ts";
import { findNearest } from "@/lib/nearest.ts";
import { commandContext } from "./context.ts";
import type { Io } from "./io.ts";
import { type OutputArgs, outputArgs, present } from "./output.ts";

export const command = defineCommand({
  args: {
    command: {
      type: "positional",
      required: false,
      valueHint: "...",
      description: "The command, for example: agents list",
    },
    ...outputArgs,
  },
  run: ({ args, data }) => runHelp(args._, args, commandContext(data).io),
});

export async function runHelp(path: string[], args: OutputArgs, io: Io): Promise<number> {
  return present(io, args, async () => ({ help: await helpText(path) }), { text: ({ help }) => help });
}

async function helpText(path: string[]): Promise<string> {
  const [first, ...rest] = path;
  if (first === undefined) return (await import("./usage.ts")).renderUsage();
  const [{ commandNames, findCommand, loadCommand }, { commandsOf, metaOf, renderCommandHelp }] = await Promise.all([
    import("./registry.ts"),
    import("./run-command.ts"),
  ]);
  const found = findCommand(first);
  if (!found) throw unknown(first, commandNames());
  let command = await loadCommand(found);
  const names = [found.name];
  for (const word of rest) {
    const subCommands = await commandsOf(command);
    let next: typeof command | undefined;
    for (const [name, sub] of subCommands) {
      if (name !== word && !(await metaOf(sub, name)).alias.includes(word)) continue;
      next = sub;
      names.push(name);
      break;
    }
    if (!next)
      throw unknown(
        [...names, word].join(" "),
        [...subCommands.keys()].map((name) => [...names, name].join(" ")),
      );
    command = next;
  }
  return renderCommandHelp(names, command);
}

function unknown(typed: string, names: string[]): LettaError {
  const near = findNearest(typed, names);
  return new LettaError("usage", `there is no command "${typed}"`, {
    hint: near ? `Did you mean: letta help ${near}` : "See: letta help",
  });
}
