// `letta secret`: what an agent's commands may use by name. A value comes from standard input or a hidden question, never
// from the command line, and is never printed.

import { defineCommand } from "citty";
import type { App } from "@/app.ts";
import { LettaError } from "@/lib/errors.ts";
import { toPlainLine } from "@/lib/terminal-text.ts";
import { withStore } from "./context.ts";
import type { Io } from "./io.ts";
import { type OutputArgs, outputArgs, present } from "./output.ts";
import { agentArgs, resolveAgent, type ScopeApp, type ScopeArgs } from "./scope.ts";
import { type Asking, processAsking } from "./secret-input.ts";

const name = { type: "positional", description: "Name of the variable: capital letters, digits and _" } as const;

const set = defineCommand({
  meta: { name: "set", description: "Keep a secret; its value is asked for, or read from standard input" },
  args: { name, ...agentArgs, ...outputArgs },
  run: ({ args, data }) => withStore(data, (app, io) => runSecretSet(app, args, { ...io, ...processAsking() })),
});

const list = defineCommand({
  meta: { name: "list", description: "Names of the agent's secrets" },
  args: { ...agentArgs, ...outputArgs },
  run: ({ args, data }) => withStore(data, (app, io) => runSecretList(app, args, io)),
});

const unset = defineCommand({
  meta: { name: "unset", description: "Forget a secret" },
  args: { name, ...agentArgs, ...outputArgs },
  run: ({ args, data }) => withStore(data, (app, io) => runSecretUnset(app, args, io)),
});

export const command = defineCommand({ subCommands: { set, list, unset }, default: "list" });

type SecretApp = ScopeApp & Pick<App, "agentSecrets">;

export interface SecretArgs extends ScopeArgs, OutputArgs {
  name?: string;
}

export async function runSecretSet(app: SecretApp, args: SecretArgs, io: Io & Asking): Promise<number> {
  return present(
    io,
    args,
    async () => {
      const { id, name: agent } = await resolveAgent(app, args);
      const secret = args.name ?? "";
      const value = io.askSecret ? await io.askSecret(`Value of ${secret}: `) : await io.readStdin();
      // The line break of `echo` does not belong to it.
      await app.agentSecrets.set(id, secret, value.replace(/\r?\n$/, ""));
      return { name: secret, agent_id: id, agent, stored_in: app.agentSecrets.location };
    },
    {
      text: ({ name: secret, agent, stored_in }) =>
        `${secret} is kept for ${toPlainLine(agent)} (${stored_in}). Commands that name $${secret} get it.\n`,
    },
  );
}

export async function runSecretList(app: SecretApp, args: SecretArgs, io: Io): Promise<number> {
  return present(
    io,
    args,
    async () => {
      const { id } = await resolveAgent(app, args);
      return { agent_id: id, names: app.agentSecrets.names(id) };
    },
    { text: ({ names }) => (names.length === 0 ? "No secrets.\n" : names.map((each) => `${each}\n`).join("")) },
  );
}

export async function runSecretUnset(app: SecretApp, args: SecretArgs, io: Io): Promise<number> {
  return present(
    io,
    args,
    async () => {
      const { id } = await resolveAgent(app, args);
      const secret = args.name ?? "";
      if (!(await app.agentSecrets.unset(id, secret))) {
        throw new LettaError("not_found", `there is no secret ${secret}`, { hint: "See: letta secret list" });
      }
      return { name: secret, agent_id: id };
    },
    { text: ({ name: secret }) => `${secret} is forgotten.\n` },
  );
}
