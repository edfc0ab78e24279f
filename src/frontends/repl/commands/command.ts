// A slash command: one file defines it, one line in registry.ts registers it, `/help` and completion are derived.

import type { ReplSession } from "../session.ts";

export interface ReplCommand {
  name: string;
  aliases?: string[];
  /** Arguments for people, for example `[id]`. */
  args?: string;
  summary: string;
  /** Arguments as they stand in the scrollback. Default: as typed. */
  echo?(args: string): string;
  /** It sends a message that is shown as what was typed: the line is not shown twice. */
  isMessage?: boolean;
  /** May run while a turn does. Others are refused then, and what was typed is kept. */
  whileBusy?: boolean;
  /** Throws LettaError for what the user should read. */
  run(args: string, session: ReplSession): Promise<void> | void;
}
