// Options of a command against its table. Every option must stand in the table, spelled in full: GNU abbreviations and
// anything unknown are refused.

export interface OptionTable {
  /** Short options without a value, as letters: they may be clustered. */
  flags?: string;
  /** Short options that need a value, as letters: `-n 5` or `-n5`. A separate value must not look like an option. */
  valued?: string;
  /** Short options whose value may be left out, as letters: only as `-U5`, alone and with a number. After a bare `-U` the
   *  next word is an option again. */
  glued?: string;
  /** Long options without a value (or with an optional `=value` when they end in `=?`). */
  long?: string[];
  /** Long options with a value: `--x=v` or `--x v`. */
  longValued?: string[];
  /** Long options that take the next word, or nothing when they are the last one. */
  longLast?: string[];
  /** How short options may be joined: as getopt does (the default), `flags` and at the end one that takes a value, or
   *  `none`. Some programs read what we would take for a glued value as further options, or leave it unread. */
  clusters?: "flags" | "none";
  /** `-5`. */
  number?: boolean;
  /** Single dash options whose value is glued and one of few, spelled in full: `-uno`. */
  whole?: string[];
}

export interface ParsedOptions {
  operands: string[];
  /** How many of the operands stand before `--`; null without one. */
  beforeDashes: number | null;
  /** Everything else in its order, without `--`. */
  options: string[];
  /** Names of the options that were given. */
  given: Set<string>;
}

export function parseOptions(table: OptionTable, args: string[]): ParsedOptions | { why: string } {
  const operands: string[] = [];
  const options: string[] = [];
  let beforeDashes: number | null = null;
  const given = new Set<string>();
  for (let index = 0; index < args.length; index++) {
    const arg = args[index]!;
    if (arg === "--") {
      beforeDashes = operands.length;
      operands.push(...args.slice(index + 1));
      break;
    }
    // `-` counts: `uniq - out` writes its second operand.
    if (!arg.startsWith("-") || arg === "-") {
      operands.push(arg);
      continue;
    }
    options.push(arg);
    if (table.number && /^-\d+$/.test(arg)) continue;
    if (table.whole?.includes(arg)) continue;
    if (table.glued?.includes(arg[1] ?? "") && /^-[A-Za-z]\d+$/.test(arg)) {
      given.add(arg[1]!);
      continue;
    }
    const known = arg.startsWith("--") ? parseLong(table, arg, given) : parseShort(table, arg, given);
    if (known === "unknown") return { why: `option ${arg}` };
    if (known === "value-may-follow" && index === args.length - 1) continue;
    if (known === "value-follows" || known === "value-may-follow") {
      index += 1;
      if (index >= args.length) return { why: `${arg} without its value` };
      // Our idea of what takes a value must not be able to hide an option from us.
      if (args[index]!.startsWith("-")) return { why: `${arg} with a value that looks like an option` };
      options.push(args[index]!);
    }
  }
  return { operands, beforeDashes, options, given };
}

type Known = "known" | "unknown" | "value-follows" | "value-may-follow";

function parseLong(table: OptionTable, arg: string, given: Set<string>): Known {
  const [name = "", value] = splitOnce(arg.slice(2), "=");
  given.add(name);
  if (table.longValued?.includes(name)) return value === undefined ? "value-follows" : "known";
  if (table.longLast?.includes(name)) return value === undefined ? "value-may-follow" : "known";
  if (table.long?.includes(`${name}=?`)) return "known";
  return value === undefined && table.long?.includes(name) ? "known" : "unknown";
}

function parseShort(table: OptionTable, arg: string, given: Set<string>): Known {
  if (table.clusters === "none" && arg.length > 2 && !/^-[A-Za-z]\d+$/.test(arg)) return "unknown";
  for (let at = 1; at < arg.length; at++) {
    const letter = arg[at]!;
    given.add(letter);
    if (table.valued?.includes(letter)) {
      if (at === arg.length - 1) return "value-follows";
      return table.clusters === "flags" ? "unknown" : "known";
    }
    if (!table.flags?.includes(letter)) return "unknown";
  }
  return "known";
}

function splitOnce(text: string, separator: string): [string, string | undefined] {
  const at = text.indexOf(separator);
  return at === -1 ? [text, undefined] : [text.slice(0, at), text.slice(at + 1)];
}
