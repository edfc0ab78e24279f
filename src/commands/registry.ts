// Every subcommand: its one-line summary for help and completion, and where it is loaded from when used.

import type { AnyCommand } from "./run-command.ts";

export interface CommandEntry {
  summary: string;
  /** Other names. */
  also?: readonly string[];
  load: () => Promise<{ command: AnyCommand }>;
}

/** In the order help shows them. */
export const COMMANDS: Record<string, CommandEntry> = {
  agents: { summary: "List, create, show, rename and delete agents", load: () => import("./agents.ts") },
  pin: { summary: "Pin an agent, so that --name finds it", load: () => import("./pin.ts") },
  unpin: { summary: "Unpin an agent", load: () => import("./unpin.ts") },
};

/** The entry of a name or of one of its other names. */
export function findCommand(typed: string): { name: string; entry: CommandEntry } | undefined {
  for (const [name, entry] of Object.entries(COMMANDS)) {
    if (name === typed || entry.also?.includes(typed)) return { name, entry };
  }
  return undefined;
}

export function commandNames(): string[] {
  return Object.entries(COMMANDS).flatMap(([name, { also = [] }]) => [name, ...also]);
}
