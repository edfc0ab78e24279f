import type { ReplCommand } from "./command.ts";

export const pin: ReplCommand = {
  name: "pin",
  summary: "Offer this agent first, and find it with --name",
  whileBusy: true,
  async run(_args, session) {
    await setPinned(session, true);
    session.say(`${session.agent.name} is pinned.`);
  },
};

export const unpin: ReplCommand = {
  name: "unpin",
  summary: "Undo /pin",
  whileBusy: true,
  async run(_args, session) {
    await setPinned(session, false);
    session.say(`${session.agent.name} is no longer pinned.`);
  },
};

async function setPinned(session: Parameters<ReplCommand["run"]>[1], pinned: boolean): Promise<void> {
  const { app, agent } = session;
  await app.settings.updateUser((settings) => {
    const entries = settings.agents ?? [];
    const entry = entries.find(({ agentId, baseUrl }) => agentId === agent.id && baseUrl === app.serverKey);
    if (entry) entry.pinned = pinned;
    else if (pinned) settings.agents = [...entries, { agentId: agent.id, baseUrl: app.serverKey, pinned }];
  });
}
