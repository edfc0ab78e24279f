// Our own program in an agent's commands. What only looks at the agent's own memory and conversations is read-only; what
// commits to its own memory may be done without asking, too, as the memory tools may. AGENT_ID and MEMORY_DIR, which are
// ours, say whose it is: an option that names another agent, conversation or place is not in these tables, and asks.

import { type OptionTable, parseOptions } from "./options.ts";
import type { ReadOnlyResult } from "./read-only.ts";

const OUTPUT = ["json"];
const FORMAT = ["format"];
const DATES = ["start-date", "end-date"];

const looking = (long: string[] = [], table: OptionTable = {}): OptionTable => ({
  ...table,
  long: OUTPUT,
  longValued: [...FORMAT, ...long],
});

/** By the words before the options. */
const READS: Record<string, OptionTable> = {
  "memory status": looking(),
  "memory diff": looking(["from", "to"]),
  "memory log": looking(["limit", "from"], { valued: "n" }),
  "memory show": looking(),
  "memory blame": looking(["from"]),
  "memory why": looking(),
  "memory tokens": { ...looking(["top"]), long: [...OUTPUT, "quiet"] },
  "memory backups": looking(),
  "memory fsck": looking(),
  "skills list": looking(),
  "skills show": looking(),
  "skills verify": looking(),
  "messages search": looking(["query", "mode", "limit", ...DATES]),
  "messages list": looking(["after", "before", "order", "limit", ...DATES]),
  "messages transcript": looking(["limit", "max-pages"]),
};

/** Each adds a commit with the agent's name on it, or drops what was never committed. */
const CHANGES: Record<string, OptionTable> = {
  "memory commit": looking(["message"], { valued: "m" }),
  "memory restore": looking(["from", "message"], { valued: "m" }),
  "memory revert": looking(),
  "memory undo": { ...looking(), flags: "y", long: [...OUTPUT, "yes"] },
};

export function findLettaReads(args: string[]): ReadOnlyResult {
  const [group = "", verb = "", ...rest] = args;
  const name = `${group} ${verb}`;
  const reads = Object.hasOwn(READS, name) ? READS[name] : undefined;
  const changes = Object.hasOwn(CHANGES, name) ? CHANGES[name] : undefined;
  const table = reads ?? changes;
  if (!table) return no(`\`letta ${name.trim()}\` is not a known read-only command`);
  const parsed = parseOptions(table, rest);
  if ("why" in parsed) return no(`letta ${name}: ${parsed.why}`);
  return { readOnly: true, reads: [], run: args, ...(changes && { changesMemory: true }) };
}

function no(why: string): ReadOnlyResult {
  return { readOnly: false, why };
}
