// `letta pin`, `letta unpin`: pinned agents are offered first and can be named with `--name`.

import { type ArgsDef, defineCommand } from "citty";
import { setPinned } from "@/agent/pins.ts";
import { type StoreApp, withStore } from "./context.ts";
import type { Io } from "./io.ts";
import { type OutputArgs, outputArgs, present } from "./output.ts";
import { findAgent, resolveAgent, type ScopeArgs } from "./scope.ts";

export const pinArgs = {
  agent: { type: "positional", required: false, description: "Agent id or unique name (default: the last one used)" },
  ...outputArgs,
} as const satisfies ArgsDef;

export const command = defineCommand({
  args: pinArgs,
  run: ({ args, data }) => withStore(data, (app, io) => runPin(app, args, io, true)),
});

export async function runPin(app: StoreApp, args: ScopeArgs & OutputArgs, io: Io, pinned: boolean): Promise<number> {
  return present(
    io,
    args,
    async () => {
      const agent = args.agent ? await findAgent(app.backend, args.agent) : await resolveAgent(app, args);
      await setPinned(app, agent.id, pinned);
      return { agentId: agent.id, name: agent.name, pinned };
    },
    { text: (data) => `${pinned ? "Pinned" : "Unpinned"} ${data.name} (${data.agentId})\n` },
  );
}
