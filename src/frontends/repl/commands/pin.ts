import type { ReplCommand } from "./command.ts";

export const pin: ReplCommand = {
  name: "pin",
  summary: "Offer this agent first, and find it with --name",
  whileBusy: true,
  run: (_args, session) => setPinned(session, true, "is pinned"),
};

export const unpin: ReplCommand = {
  name: "unpin",
  summary: "Undo /pin",
  whileBusy: true,
  run: (_args, session) => setPinned(session, false, "is no longer pinned"),
};

async function setPinned(session: Parameters<ReplCommand["run"]>[1], pinned: boolean, outcome: string): Promise<void> {
  const pins = await import("@/agent/pins.ts");
  await pins.setPinned(session.app, session.agent.id, pinned);
  session.say(`${session.agent.name} ${outcome}.`);
}
