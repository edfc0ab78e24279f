import { defineCommand } from "citty";
import { withStore } from "./context.ts";
import { outputArgs } from "./output.ts";
import { runPin } from "./pin.ts";

export const command = defineCommand({
  meta: { name: "unpin", description: "Take an agent's pin away" },
  args: {
    agent: { type: "positional", required: false, description: "Agent id or unique name (default: the last one used)" },
    ...outputArgs,
  },
  run: ({ args, data }) => withStore(data, (app, io) => runPin(app, args, io, false)),
});
