import { LettaError } from "@/lib/errors.ts";
import type { ReplCommand } from "./command.ts";

const USAGE = "Usage: /secret set NAME [VALUE] | list | unset NAME";

export const secret: ReplCommand = {
  name: "secret",
  args: "[set NAME VALUE|unset NAME]",
  summary: "Values that commands may use by name and the model never sees",
  whileBusy: true,
  echo: (args) => args.replace(/^(set\s+\S+)\s[\s\S]*$/, "$1 …"),
  async run(args, session) {
    const { agentSecrets } = session.app;
    const [, verb = "list", name, value] = /^(\S+)(?:\s+(\S+)(?:\s([\s\S]*))?)?$/.exec(args) ?? [];
    if (verb === "list" && name === undefined) {
      const names = agentSecrets.names(session.agent.id);
      return session.say(names.length > 0 ? names.map((each) => `  $${each}`).join("\n") : "No secrets.");
    }
    if (name === undefined || (verb !== "set" && verb !== "unset") || (verb === "unset" && value !== undefined)) {
      throw new LettaError("usage", USAGE);
    }
    if (verb === "unset") {
      if (!(await agentSecrets.unset(session.agent.id, name))) {
        throw new LettaError("not_found", `There is no secret ${name}`);
      }
      return session.say(`${name} is forgotten.`);
    }
    // All of the rest of the line is the value, inner spaces included.
    const given = value || (await session.ui.askLine(`Value of ${name}:`, { hidden: true }));
    if (given === null) return;
    await agentSecrets.set(session.agent.id, name, given);
    session.say(`${name} is kept (${agentSecrets.location}). Commands that name $${name} get it.`);
  },
};
