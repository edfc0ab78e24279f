import { LettaError } from "@/lib/errors.ts";
import type { ReplCommand } from "./command.ts";

const WAYS = ["all", "sliding_window", "self_compact_all", "self_compact_sliding_window"] as const;

export const compact: ReplCommand = {
  name: "compact",
  args: "[all|sliding_window|undo]",
  summary: "Summarise the history now; undo takes it back",
  async run(args, session) {
    const { engine, backend } = session.app;
    if (args === "undo") {
      const undone = await backend.undoCompaction(session.ref);
      return session.say(undone ? "The history is back as it was." : "There is nothing to take back.");
    }
    const mode = WAYS.find((way) => way === args);
    if (args && !mode) throw new LettaError("usage", `Usage: /compact [${WAYS.join("|")}|undo]`);
    const result = await engine.compact(session.ref, mode && { mode });
    session.stats.contextTokens = null;
    session.say(
      `${result.num_messages_before} messages are now ${result.num_messages_after}. /compact undo takes it back.`,
    );
  },
};
