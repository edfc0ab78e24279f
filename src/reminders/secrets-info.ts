// Which secrets the agent's commands can use. Names only: no value ever reaches the model.

import type { Reminder } from "./registry.ts";

export const secretsInfo: Reminder = {
  id: "secrets-info",
  async build({ secretNames }, previous) {
    const names = secretNames();
    const fingerprint = names.join(" ");
    if (names.length === 0) {
      return previous ? { text: "There are no secrets for shell commands any more.", fingerprint } : null;
    }
    const list = names.map((name) => `\`$${name}\``).join(", ");
    const text = `Shell commands may use these secrets by writing their names: ${list}. Each command gets only those it names; you never see the values, and in output they read \`NAME=<REDACTED>\`. Do not try to print, encode or store them.`;
    return { text, fingerprint };
  },
};
