import type { ReplCommand } from "./command.ts";

export const clear: ReplCommand = {
  name: "clear",
  summary: "New conversation on an empty screen",
  async run(_args, session) {
    await session.newConversation();
    session.ui.clear();
    session.renderer.reset();
    session.say("New conversation.");
  },
};
