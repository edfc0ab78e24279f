import type { ReplCommand } from "./command.ts";

export const usage: ReplCommand = {
  name: "usage",
  aliases: ["cost"],
  summary: "Time, steps, tokens and cost so far",
  whileBusy: true,
  run: (_args, session) => session.print(session.stats.lines(session.now())),
};
