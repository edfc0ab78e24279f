// Text of `letta --help`, derived from the flag table and the command registry. Uncoloured, so that it pipes.

import { FLAG_GROUPS, FLAGS, type FlagDef, type FlagGroup } from "./flags.ts";
import { COMMANDS } from "./registry.ts";
import { section } from "./run-command.ts";

export function renderUsage(): string {
  const commands = Object.entries(COMMANDS).map(([name, { summary }]): [string, string] => [name, summary]);
  return `${[INTRO, ...FLAG_GROUPS.map(renderGroup), section("Commands", commands), EXIT_TEXT].join("\n\n")}\n`;
}

function renderGroup(group: FlagGroup): string {
  const flags = (Object.entries(FLAGS) as [string, FlagDef][]).filter(
    ([, flag]) => flag.group === group && !flag.hidden,
  );
  const allHeadless = flags.every(([, flag]) => flag.mode === "headless");
  return section(
    allHeadless ? `${group} (with -p)` : group,
    flags.map(([name, flag]) => [label(name, flag), text(flag, !allHeadless)]),
  );
}

const INTRO = `letta: a coding agent for the terminal that remembers

Usage:
  letta                        talk in this terminal
  letta -p "question"          answer once and exit; also reads what is piped in
  git diff | letta -p review   both the prompt and the piped text are sent
  letta <command> [options]    see below; letta help <command> explains one`;

const EXIT_TEXT = `Exit codes:
  0 done                       5 a limit was reached
  1 agent or runtime error     6 a tool was denied and the agent stopped
  2 wrong usage                7 rate limit or quota of the provider
  3 no valid key or provider   130 interrupted (Ctrl-C)
  4 not found                  143 terminated (SIGTERM)`;

function label(name: string, flag: FlagDef): string {
  const letter = flag.alias ? `-${flag.alias}, ` : "    ";
  return `${letter}--${name}${flag.hint ? ` ${flag.hint}` : ""}`;
}

const MAX_VALUES_CHARS = 50;

function text(flag: FlagDef, sayMode: boolean): string {
  const values = flag.values?.join("|") ?? "";
  const notes = [
    // A longer list would not fit a line; its flag names the usual ones.
    ...(flag.values && flag.values.length > 1 && values.length <= MAX_VALUES_CHARS ? [values] : []),
    ...(sayMode && flag.mode === "headless" && flag.alias !== "p" ? ["with -p"] : []),
  ];
  return notes.length > 0 ? `${flag.help} [${notes.join("; ")}]` : flag.help;
}
