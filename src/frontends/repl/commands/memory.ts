import { LettaError } from "@/lib/errors.ts";
import { requireMemory, withSessionMemory } from "../memory-scope.ts";
import type { ReplSession } from "../session.ts";
import type { ReplCommand } from "./command.ts";

export const memory: ReplCommand = {
  name: "memory",
  args: "[PATH|log|undo|view]",
  summary: "Look around in the agent's memory",
  async run(args, session) {
    if (args === "view") return viewMemory(session);
    if (args === "log") {
      return withSessionMemory(session, async (scope, io) => {
        const { runMemoryLog } = await import("@/commands/memory-log.ts");
        return runMemoryLog(scope, { format: "text", limit: "15" }, { ...io, isTty: true });
      });
    }
    if (args === "undo") {
      return withSessionMemory(session, async (scope, io) => {
        const { runMemoryUndo } = await import("@/commands/memory-change.ts");
        return runMemoryUndo(scope, { format: "text" }, { ...io, confirm: (question) => confirm(session, question) });
      });
    }
    const { browseMemory, showFile } = await import("../memory-browser.ts");
    const own = requireMemory(session);
    if (args === "") return browseMemory(session, own);
    const [{ findPath }, repository] = await Promise.all([import("@/commands/memory-log.ts"), own.ensure()]);
    await showFile(session, own, await findPath(repository, args, own.places.memory));
  },
};

export const palace: ReplCommand = {
  name: "palace",
  summary: "Open a page of the agent's memory and its history",
  whileBusy: true,
  run(args, session) {
    if (args) throw new LettaError("usage", "Usage: /palace");
    return viewMemory(session);
  },
};

async function viewMemory(session: ReplSession): Promise<void> {
  const own = requireMemory(session);
  const { readContext, writeView } = await import("@/commands/memory-view.ts");
  const context = await readContext(session.app, session.ref).catch(() => ({ shares: [], window: null }));
  const { path, opened, why } = await writeView(session.app, own, context, { open: true });
  session.say(opened ? `Opened ${path}` : `${path}${why ? ` (not opened ${why})` : ""}`);
}

export async function confirm(session: ReplSession, question: string): Promise<boolean> {
  const { ui } = session;
  const answer = await ui.choose({
    title: [ui.theme.bold(question)],
    items: [
      { value: true, label: "Yes", keys: ["y"] },
      { value: false, label: "No", keys: ["n"] },
    ],
  });
  return answer?.values[0] ?? false;
}
