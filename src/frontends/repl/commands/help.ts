import { textWidth, truncate } from "@/lib/terminal-text.ts";
import type { ReplCommand } from "./command.ts";
import { COMMANDS } from "./registry.ts";

const KEYS: [keys: string, meaning: string][] = [
  ["Enter", "send; while the agent works: queue for after the turn"],
  ["Ctrl-Enter", "send into the running turn (/steer works in every terminal)"],
  ["Ctrl-J, \\ Enter, Alt-Enter", "new line"],
  ["Esc, Ctrl-C", "stop the agent or the command; clear the line; Ctrl-C twice leaves"],
  ["Ctrl-D", "leave, on an empty line"],
  ["Up, Down, Ctrl-R", "history, search it"],
  ["Tab", "complete /commands and @files"],
  ["Shift-Tab", "next permission mode"],
  ["!", "on an empty line: run a command in your own shell"],
  ["Ctrl-O", "show the last shortened output whole"],
  ["Ctrl-L, Ctrl-Z", "clear the screen, suspend"],
];

export const help: ReplCommand = {
  name: "help",
  aliases: ["?"],
  summary: "Commands and keys",
  whileBusy: true,
  run(_args, session) {
    const { theme } = session.ui;
    const commands = COMMANDS.map(({ name, args, summary }): [string, string] => [
      `/${name}${args ? ` ${args}` : ""}`,
      summary,
    ]);
    const columns = session.ui.columns();
    session.print([
      theme.bold("Commands"),
      ...rows(commands, columns, theme.cyan),
      "",
      theme.bold("Keys"),
      ...rows(KEYS, columns, theme.cyan),
    ]);
  },
};

/** Two columns; one below the other where there is no room. */
function rows(pairs: [string, string][], columns: number, paint: (text: string) => string): string[] {
  const width = Math.max(...pairs.map(([left]) => textWidth(left)));
  if (columns < width + 24) return pairs.flatMap(([left, right]) => [`  ${paint(left)}`, `    ${right}`]);
  return pairs.map(([left, right]) =>
    truncate(`  ${paint(left)}${" ".repeat(width - left.length)}  ${right}`, columns - 1),
  );
}
