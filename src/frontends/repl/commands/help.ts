import { textWidth, wrap } from "@/lib/terminal-text.ts";
import { listCustomCommands, toReplCommand } from "../custom-commands.ts";
import type { ReplCommand } from "./command.ts";
import { COMMANDS } from "./registry.ts";

const LEFT_CELLS = 28;

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
    const own = listCustomCommands(session.app).map(toReplCommand);
    const commands = [...COMMANDS, ...own].map(({ name, args, summary }): [string, string] => [
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

/** Two columns, the second one wrapped; a long left side stands alone on its row. */
function rows(pairs: [string, string][], columns: number, paint: (text: string) => string): string[] {
  const width = Math.min(LEFT_CELLS, Math.max(...pairs.map(([left]) => textWidth(left))));
  const indent = columns < width + 30 ? 4 : width + 4;
  return pairs.flatMap(([left, right]) => {
    const meaning = wrap(right, Math.max(10, columns - indent - 1));
    const pad = " ".repeat(indent);
    const room = indent - 2 - textWidth(left);
    if (room < 2) return [`  ${paint(left)}`, ...meaning.map((line) => pad + line)];
    return meaning.map((line, index) => (index === 0 ? `  ${paint(left)}${" ".repeat(room)}${line}` : pad + line));
  });
}
