import type { ReplCommand } from "./command.ts";

export const connect: ReplCommand = {
  name: "connect",
  args: "[provider [key]]",
  summary: "Connect a model provider",
  echo: () => "…",
  async run(args, session) {
    const { connectInteractively } = await import("../connect.ts");
    await connectInteractively(args, session);
  },
};
