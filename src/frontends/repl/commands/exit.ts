import type { ReplCommand } from "./command.ts";

export const exit: ReplCommand = {
  name: "exit",
  aliases: ["quit"],
  summary: "Leave",
  whileBusy: true,
  run: (_args, session) => session.exit(),
};
