// `letta memory …`: an agent's memory from the shell.

import { defineCommand } from "citty";
import { withStore } from "./context.ts";
import { outputArgs } from "./output.ts";
import { agentArgs } from "./scope.ts";

const tokens = defineCommand({
  meta: { name: "tokens", description: "What the part of memory that is in every request costs" },
  args: {
    "memory-dir": { type: "string", valueHint: "DIR", description: "A memory directory (default: $MEMORY_DIR)" },
    top: { type: "string", valueHint: "N", description: "Show the N largest files (default 20)" },
    quiet: { type: "boolean", description: "Only the total" },
    ...agentArgs,
    ...outputArgs,
  },
  run: ({ args, data }) =>
    withStore(data, async (app, io) => {
      const { runMemoryTokens } = await import("./memory-tokens.ts");
      return runMemoryTokens(app, args, io);
    }),
});

export const command = defineCommand({ subCommands: { tokens } });
