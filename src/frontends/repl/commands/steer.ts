import { LettaError } from "@/lib/errors.ts";
import type { ReplCommand } from "./command.ts";

export const steer: ReplCommand = {
  name: "steer",
  args: "TEXT",
  summary: "Say something inside the running turn",
  whileBusy: true,
  run(args, session) {
    if (!args) throw new LettaError("usage", "Usage: /steer TEXT");
    session.steer(args);
  },
};
