import { LettaError } from "@/lib/errors.ts";
import { plural } from "@/lib/text.ts";
import { plainPath } from "../diff-view.ts";
import type { ReplCommand } from "./command.ts";

export const undo: ReplCommand = {
  name: "undo",
  summary: "Take back the file changes of the last turn",
  async run(args, session) {
    if (args) throw new LettaError("usage", "Usage: /undo");
    const { app, ui } = session;
    const { shadow } = app;
    const turn = shadow.listTurns(session.conversation.id, 50).find((entry) => !entry.undone && entry.undoOf === null);
    if (!turn) return session.say("No file changes of this conversation are left to take back.");
    const names = turn.files.map((file) => `  ${file.kind} ${plainPath(file.path, app.cwd)}`);
    session.print([ui.theme.bold(`Take back ${plural(turn.files.length, "change")}?`), ...names]);
    const answer = await ui.choose({
      title: [],
      items: [
        { value: true, label: "Yes", keys: ["y"] },
        { value: false, label: "No", keys: ["n"] },
      ],
    });
    if (!answer?.values[0]) return;
    const result = await shadow.undoTurn(turn.turnId);
    session.print(
      result.files.map((file) => {
        const fine = ["restored", "removed", "unchanged"].includes(file.outcome);
        const detail =
          file.outcome === "conflict" ? " (changed since, left alone)" : file.detail ? ` (${file.detail})` : "";
        const line = `  ${file.outcome.replace("_", " ")} ${plainPath(file.path, app.cwd)}${detail}`;
        return fine ? line : ui.theme.yellow(line);
      }),
    );
  },
};
