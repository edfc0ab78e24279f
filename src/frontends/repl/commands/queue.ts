import { shownText } from "@/engine/queue.ts";
import { LettaError } from "@/lib/errors.ts";
import { toPlainLine, truncate } from "@/lib/terminal-text.ts";
import { plural } from "@/lib/text.ts";
import type { ReplCommand } from "./command.ts";

export const queue: ReplCommand = {
  name: "queue",
  args: "[edit N TEXT|drop N|clear]",
  summary: "Messages waiting for the turn to end",
  whileBusy: true,
  run(args, session) {
    const waiting = session.queue;
    const [, verb = "list", number, text] = /^(\w+)(?:\s+(\d+)(?:\s+([\s\S]+))?)?$/.exec(args || "list") ?? [];
    const item = number === undefined ? undefined : waiting.list()[Number(number) - 1];
    if (number !== undefined && !item) throw new LettaError("usage", `There is no queued message ${number}`);
    switch (verb) {
      case "list": {
        const rows = waiting.list().map((queued, index) => {
          const shown = queued.shown ?? (typeof queued.content === "string" ? queued.content : "[message with images]");
          return truncate(`  ${index + 1}. ${toPlainLine(shown)}`, session.ui.columns() - 1);
        });
        const held = waiting.held ? " Held: Enter sends them." : "";
        return session.print(
          rows.length > 0 ? [`${plural(rows.length, "message")} queued.${held}`, ...rows] : ["Nothing is queued."],
        );
      }
      case "drop":
        if (!item) break;
        waiting.remove(item.id);
        return session.say("Dropped.");
      case "edit":
        if (!item) break;
        if (text) {
          waiting.edit(item.id, text.trim());
          return;
        }
        if (item.shown === undefined && typeof item.content !== "string") return;
        if (waiting.remove(item.id)) session.ui.setInput(shownText(item));
        return;
      case "clear":
        return session.say(`${plural(waiting.clear().length, "message")} dropped.`);
    }
    throw new LettaError("usage", "Usage: /queue [edit N [TEXT] | drop N | clear]");
  },
};
