import { LettaError } from "@/lib/errors.ts";
import { toPlainLine, truncate } from "@/lib/terminal-text.ts";
import type { RuleEffect, RuleSuggestion } from "@/permissions/types.ts";
import type { ReplCommand } from "./command.ts";

const EFFECTS: RuleEffect[] = ["allow", "ask", "deny", "alwaysAsk"];
const SCOPES: RuleSuggestion["scope"][] = ["session", "local", "project", "user"];

export const permissions: ReplCommand = {
  name: "permissions",
  args: "[allow|ask|deny RULE | explain CALL]",
  summary: "Rules in force and where they come from; add one; say why a call would be asked",
  whileBusy: true,
  async run(args, session) {
    if (!args) return list(session);
    const [, effect, rest] = /^(\S+)\s+(\S[\s\S]*)$/.exec(args) ?? [];
    if (effect?.toLowerCase() === "explain" && rest) return explain(rest, session);
    const chosen = EFFECTS.find((candidate) => candidate.toLowerCase() === effect?.toLowerCase());
    if (!chosen || !rest) {
      throw new LettaError("usage", "Usage: /permissions allow|ask|deny RULE [--scope session|local|project|user]", {
        hint: "For example: /permissions allow Bash(npm test), or /permissions explain npm test | tail -5",
      });
    }
    const [, rule = rest, name] = /^([\s\S]*?)\s+--scope[ =](\S+)$/.exec(rest) ?? [];
    const scope = name === undefined ? "session" : SCOPES.find((candidate) => candidate === name);
    if (!scope) throw new LettaError("usage", `There is no scope "${name}"; choose ${SCOPES.join(", ")}`);
    await session.app.permissions.addRule(chosen, rule, scope);
    session.say(`${chosen} ${rule} (${scope})`);
  },
};

async function explain(call: string, session: Parameters<ReplCommand["run"]>[1]): Promise<void> {
  const { describeExplanation, explainCall } = await import("@/permissions/explain-text.ts");
  session.print(
    describeExplanation(await explainCall(session.app, call))
      .trimEnd()
      .split("\n"),
  );
}

function list(session: Parameters<ReplCommand["run"]>[1]): void {
  const { app, ui } = session;
  const { theme } = ui;
  const rules = app.permissions.listRules();
  const rows = rules.map(({ effect, rule, source, inert }) => {
    const note = inert ? theme.yellow(` inert: ${toPlainLine(inert)}`) : "";
    return truncate(`  ${effect.padEnd(9)} ${toPlainLine(rule)} ${theme.dim(source)}${note}`, ui.columns() - 1);
  });
  session.print([
    `${theme.bold(`Mode: ${app.permissions.mode}`)} ${theme.dim(`(${app.permissions.modeSource})`)}`,
    ...(rows.length > 0 ? rows : ["  No rules."]),
  ]);
}
