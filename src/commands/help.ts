// `letta help [command…]`: the same texts as `--help`.

import { defineCommand } from "citty";
import { LettaError } from "@/lib/errors.ts";
import { findNearest } from "@/lib/nearest.ts";
import { commandContext } from "./context.ts";
import type { Io } from "./io.ts";

export const command = defineCommand({
  meta: { name: "help", description: "Explain letta, or one command" },
  args: {
    command: {
      type: "positional",
      required: false,
      valueHint: "...",
      description: "The command, for example: agents list",
    },
  },
  run: ({ args, data }) => runHelp(args._, commandContext(data).io),
});

export async function runHelp(path: string[], io: Io): Promise<number> {
  const [first, ...rest] = path;
  if (first === undefined) {
    const { renderUsage } = await import("./usage.ts");
    io.stdout(renderUsage());
    return 0;
  }
  const [{ commandNames, findCommand }, { commandsOf, metaOf, renderCommandHelp }] = await Promise.all([
    import("./registry.ts"),
    import("./run-command.ts"),
  ]);
  const found = findCommand(first);
  if (!found) throw unknown(first, commandNames());
  let { command } = await found.entry.load();
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
  io.stdout(await renderCommandHelp(names, command));
  return 0;
}

function unknown(typed: string, names: string[]): LettaError {
  const near = findNearest(typed, names);
  return new LettaError("usage", `there is no command "${typed}"`, {
    hint: near ? `Did you mean: letta help ${near}` : "See: letta help",
  });
}
