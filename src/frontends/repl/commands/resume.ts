import { conversationChoice } from "../pickers.ts";
import { showBackfill } from "../start.ts";
import type { ReplCommand } from "./command.ts";

export const resume: ReplCommand = {
  name: "resume",
  aliases: ["conversations"],
  args: "[id]",
  summary: "Go on with another conversation",
  async run(args, session) {
    const { app, ui, agent } = session;
    if (args) {
      const conversation = await app.backend.retrieveConversation(args, agent.id);
      await session.switchTo({ agentId: conversation.agent_id ?? agent.id, conversationId: conversation.id });
    } else {
      const choice = await conversationChoice(app.backend, agent, session.now());
      if (choice.items.length === 0) return session.say("This agent has no other conversation yet.");
      const picked = (await ui.choose(choice))?.values[0];
      if (!picked) return;
      await session.switchTo({ agentId: agent.id, conversationId: picked });
    }
    await showBackfill(session);
  },
};
