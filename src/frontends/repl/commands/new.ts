import type { ReplCommand } from "./command.ts";

export const newConversation: ReplCommand = {
  name: "new",
  args: "[title]",
  summary: "New conversation with the same agent",
  async run(args, session) {
    await session.newConversation(args);
    session.say("New conversation.");
  },
};
