import { estimateTokens } from "@/backend/model.ts";
import { LettaError } from "@/lib/errors.ts";
import { shortCount } from "@/lib/text.ts";
import type { ReplCommand } from "./command.ts";
import { confirm } from "./memory.ts";

export const recompile: ReplCommand = {
  name: "recompile",
  summary: "Make the system prompt anew from memory, now",
  async run(args, session) {
    if (args) throw new LettaError("usage", "Usage: /recompile");
    const { backend } = session.app;
    const tokens =
      session.stats.contextTokens ?? estimateTokens(await backend.recompileConversation(session.ref, { dryRun: true }));
    session.say(
      `The provider keeps the beginning of a conversation and charges little for it. A new system prompt is another beginning: about ${shortCount(tokens)} tokens are charged in full once. Changes of memory reach the agent without it.`,
    );
    if (!(await confirm(session, "Make it anew?"))) return session.say("Nothing was changed.");
    await backend.recompileConversation(session.ref);
    session.say("The next message goes with a new system prompt.");
  },
};
