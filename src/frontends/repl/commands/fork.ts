import { copyToolset } from "@/agent/toolset.ts";
import type { ReplCommand } from "./command.ts";

export const fork: ReplCommand = {
  name: "fork",
  args: "[title]",
  summary: "Copy the conversation up to here and go on in the copy",
  async run(args, session) {
    const { backend } = session.app;
    const { agentId } = session.ref;
    const copy = await backend.forkConversation(session.ref);
    await copyToolset(session.app, session.ref, copy.id);
    if (args) await backend.updateConversation({ agentId, conversationId: copy.id }, { summary: args });
    await session.switchTo({ agentId, conversationId: copy.id });
    session.say("Now in a copy; the original stays as it is.");
  },
};
