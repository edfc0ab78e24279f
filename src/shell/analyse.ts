// What a shell command is, as far as we can prove it: one plain command, several, or something we do not claim to
// understand. `opaque` never means "fine": it asks, and deny rules look at it through `loose-words.ts`.

import { parsePlain } from "./plain-words.ts";
import { findReads } from "./read-only.ts";

export interface PlainCommand {
  argv: string[];
  /** Provably only reads, if `reads` may be read and, with `git`, the repository's configuration starts nothing. */
  readOnly: boolean;
  /** Why it is not read-only; "" when it is. */
  why: string;
  /** Operands that name files or folders, relative to the command's directory. */
  reads: string[];
  git: boolean;
}

export type CommandAnalysis =
  | ({ kind: "simple" } & PlainCommand)
  | { kind: "compound"; commands: PlainCommand[] }
  | { kind: "opaque"; why: string };

export function analyseCommand(command: string): CommandAnalysis {
  const parsed = parsePlain(command);
  if (!parsed.ok) return { kind: "opaque", why: parsed.why };
  const commands = parsed.commands.map(analyseArgv);
  return commands.length === 1 ? { kind: "simple", ...commands[0]! } : { kind: "compound", commands };
}

function analyseArgv(argv: string[]): PlainCommand {
  const result = findReads(argv);
  if (!result.readOnly) return { argv, readOnly: false, why: result.why, reads: [], git: false };
  return { argv, readOnly: true, why: "", reads: result.reads, git: result.git ?? false };
}
