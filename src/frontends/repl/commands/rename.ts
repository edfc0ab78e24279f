import { LettaError } from "@/lib/errors.ts";
import type { ReplCommand } from "./command.ts";

/** Names end up in commands and file names. */
const AGENT_NAME = /^[\p{L}\p{N}_ '-]{1,100}$/u;

export const rename: ReplCommand = {
  name: "rename",
  args: "agent|convo NAME",
  summary: "Rename the agent or this conversation",
  whileBusy: true,
  async run(args, session) {
    const [, what, name] = /^(agent|convo|conversation)\s+(\S.*)$/i.exec(args) ?? [];
    if (!what || !name) throw new LettaError("usage", "Usage: /rename agent NAME, or /rename convo TITLE");
    const { backend } = session.app;
    if (what.toLowerCase() === "agent") {
      if (!AGENT_NAME.test(name))
        throw new LettaError("usage", "A name has letters, digits, spaces, _, ' and -, at most 100 of them");
      session.agent = await backend.updateAgent(session.agent.id, { name });
      return session.say(`The agent is now called ${name}.`);
    }
    session.conversation = await backend.updateConversation(session.ref, { summary: name });
    session.say(`This conversation is now called ${name}.`);
  },
};
