import { LettaError } from "@/lib/errors.ts";
import { formatAge } from "@/lib/relative-time.ts";
import { toPlainLine, truncate } from "@/lib/terminal-text.ts";
import type { DreamRecord } from "@/memory/reflection/journal.ts";
import { formatChange, formatDiff } from "../diff-view.ts";
import type { ReplSession } from "../session.ts";
import type { ReplCommand } from "./command.ts";

const SHOWN = 10;

export const dreams: ReplCommand = {
  name: "dreams",
  args: "[show|accept|reject ID]",
  summary: "What became of looks back; decide about changes that wait",
  async run(args, session) {
    const { app, agent } = session;
    const [verb, id, ...rest] = args.split(/\s+/).filter(Boolean);
    if (verb === undefined) return list(session);
    if (rest.length > 0 || id === undefined || !["show", "accept", "reject"].includes(verb)) {
      throw new LettaError("usage", "Usage: /dreams [show|accept|reject ID]");
    }
    if (verb === "show") return show(session, id);
    if (verb === "reject") {
      const record = await app.reflection.reject(agent.id, id);
      return session.say(`${record.id} is left out of the memory.`);
    }
    const { record, paths } = await app.reflection.accept(agent.id, id);
    session.say(`${record.id} is part of the memory now: ${paths.join(", ")}`);
  },
};

async function list(session: ReplSession): Promise<void> {
  const { app, agent, ui } = session;
  const { stateOf } = await import("@/memory/reflection/describe.ts");
  const records = (await app.reflection.list(agent.id)).slice(0, SHOWN);
  if (records.length === 0) return session.say("The agent has not looked back yet. /reflect does it now.");
  const rows = records.map((record) => {
    const state = stateOf(record);
    const paint = state === "waits" ? ui.theme.yellow : ui.theme.dim;
    const what = toPlainLine([record.committed?.subject, reasonOf(record)].filter(Boolean).join("; "));
    return truncate(
      `  ${record.id}  ${paint(state)}  ${formatAge(record.startedAt, session.now())}  ${what}`,
      ui.columns() - 1,
    );
  });
  session.print(rows);
}

async function show(session: ReplSession, id: string): Promise<void> {
  const { app, agent, ui } = session;
  const [{ stateOf }, { diffFile }] = await Promise.all([
    import("@/memory/reflection/describe.ts"),
    import("@/tools/diff.ts"),
  ]);
  const { record, files } = await app.reflection.show(agent.id, id);
  const reason = reasonOf(record);
  session.print([ui.theme.bold(`${record.id}: ${stateOf(record)}`)]);
  if (reason) session.say(`Why: ${reason}`);
  const bytes = (text: string | null) => (text === null ? null : Buffer.from(text));
  for (const { path, before, after } of files) {
    const diff = await diffFile(path, bytes(before), bytes(after));
    session.print([
      `${toPlainLine(path)} ${formatChange(diff, ui.theme)}`,
      ...formatDiff(diff, { theme: ui.theme, columns: ui.columns(), review: true }),
    ]);
  }
}

function reasonOf({ proposed, reason }: DreamRecord): string | null {
  return proposed?.reason ?? reason;
}
