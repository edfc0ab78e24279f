import { DEFAULT_CONVERSATION } from "@/backend/backend.ts";
import { agentChoice } from "../pickers.ts";
import { showBackfill } from "../start.ts";
import type { ReplCommand } from "./command.ts";
import { pickPersonality } from "./personality.ts";

export const agents: ReplCommand = {
  name: "agents",
  aliases: ["agent"],
  summary: "Choose another agent, or make a new one",
  async run(_args, session) {
    const { app, ui } = session;
    const { pinnedAgentIds } = await import("@/agent/pins.ts");
    const pinned = pinnedAgentIds(app.settings.user, app.serverKey);
    const all = (await app.backend.listAgents({ limit: 200 })).items;
    const choice = agentChoice(all, { pinned, current: session.agent.id, now: session.now() });
    choice.items.push({ value: null, label: "New agent", hint: "with a personality of your choice" });
    const answer = await ui.choose(choice);
    if (!answer) return;
    const picked = answer.values[0] ?? null;
    if (picked === session.agent.id) return session.say(`${session.agent.name} is the current agent.`);
    const agentId = picked ?? (await create(session))?.id;
    if (!agentId) return;
    await session.switchTo({ agentId, conversationId: DEFAULT_CONVERSATION });
    session.say(`Now talking to ${session.agent.name}.`);
    await showBackfill(session);
  },
};

/** Undefined when the person thought better of it. */
async function create(session: Parameters<ReplCommand["run"]>[1]) {
  const personality = await pickPersonality(session, undefined);
  if (!personality) return undefined;
  const { defaultAgent } = await import("@/agent/default-agent.ts");
  return session.app.backend.createAgent(defaultAgent({ model: session.model, personality }));
}
