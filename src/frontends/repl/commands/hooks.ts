import { hookLabel } from "@/hooks/config.ts";
import { escapeDeceptive, toPlainLine, truncate } from "@/lib/terminal-text.ts";
import type { ReplCommand } from "./command.ts";

export const hooks: ReplCommand = {
  name: "hooks",
  summary: "Hooks in force and where they come from",
  whileBusy: true,
  run(_args, session) {
    const { app, ui } = session;
    const { theme } = ui;
    const rows = app.hooks.list().map(({ event, matcher, definition, source, inert }) => {
      const tools = matcher === "" ? "" : ` ${theme.cyan(toPlainLine(escapeDeceptive(matcher)))}`;
      const note = inert ? theme.yellow(` inert: ${inert}`) : "";
      const label = toPlainLine(escapeDeceptive(hookLabel({ definition })));
      return truncate(`  ${event}${tools}  ${label} ${theme.dim(source)}${note}`, ui.columns() - 1);
    });
    const empty = ["No hooks. They are the `hooks` key of a settings file; `letta hooks test EVENT` tries them."];
    session.print(rows.length > 0 ? rows : empty);
  },
};
