// Strict parsing of the global flags: every value is checked here, before anything is opened or created.

import { parseDuration } from "@/lib/duration.ts";
import { LettaError } from "@/lib/errors.ts";
import { findNearest } from "@/lib/nearest.ts";
import { parseRuleList } from "@/permissions/rules.ts";
import { CONFLICTS, FLAGS, type FlagDef, type FlagName, type GlobalFlags } from "./flags.ts";

export interface ParsedArgv {
  flags: GlobalFlags;
  positionals: string[];
}

/** Throws `usage`, naming the flag and the nearest valid spelling. */
export function parseGlobalFlags(argv: string[]): ParsedArgv {
  const values = new Map<FlagName, unknown>();
  const positionals: string[] = [];
  for (let index = 0; index < argv.length; index++) {
    const token = argv[index]!;
    if (token === "--") {
      positionals.push(...argv.slice(index + 1));
      break;
    }
    if (!looksLikeFlag(token)) {
      positionals.push(token);
      continue;
    }
    for (const { name, value: attached } of splitToken(token)) {
      const flag: FlagDef = FLAGS[name];
      if (flag.missing) throw usage(`this version of letta does not have ${flag.missing} yet (--${name})`);
      if (flag.type === "boolean") {
        if (attached !== undefined) throw usage(`--${name} takes no value`);
        values.set(name, true);
        continue;
      }
      const text = attached ?? takeValue(argv, ++index, name);
      const value = parseValue(name, flag, text);
      const earlier = values.get(name);
      values.set(name, flag.type === "list" && Array.isArray(earlier) ? [...earlier, text] : value);
    }
  }
  // Every key was looked up in the table and every value parsed by its entry.
  return { flags: Object.fromEntries(values) as GlobalFlags, positionals };
}

/** The rules between flags. Throws `usage` for the first broken one. */
export function checkConflicts(flags: GlobalFlags, mode: "headless" | "interactive"): void {
  const given = Object.keys(flags) as FlagName[];
  for (const name of given) {
    const { mode: needed } = FLAGS[name];
    if (needed === "both" || needed === mode) continue;
    if (mode === "headless") throw usage(`--${name} needs a terminal and does not go with -p`);
    const hint = name === "continue" ? "letta alone goes on with this folder's last conversation." : undefined;
    throw usage(`--${name} works only with -p`, hint);
  }
  for (const { flag, not = [], needs } of CONFLICTS) {
    if (!(flag in flags)) continue;
    const other = not.find((name) => name in flags && !(flag === "conversation" && flags.conversation === "default"));
    if (other) throw usage(`--${flag} does not go with --${other}`);
    if (needs && !needs.some((name) => name in flags)) {
      throw usage(`--${flag} needs ${needs.map((name) => `--${name}`).join(" or ")}`);
    }
  }
  checkConversation(flags);
}

/** A prompt such as `- first point` or `--verbose is broken` is text: flags have no white space in their name. */
export function looksLikeFlag(token: string): boolean {
  return /^--[A-Za-z][\w-]*(=|$)/.test(token) || /^-[A-Za-z](\S*$|=)/.test(token);
}

interface TokenPart {
  name: FlagName;
  value?: string;
}

/** `--name`, `--name=value`, `-n value`, `-nvalue`, `-ab`. */
function splitToken(token: string): TokenPart[] {
  const [typed = "", ...rest] = token.replace(/^--?/, "").split("=");
  const value = rest.length > 0 ? { value: rest.join("=") } : {};
  const long = FLAG_NAMES.get(typed);
  if (token.startsWith("--")) {
    if (!long) throw unknownFlag(typed, `--${typed}`);
    return [{ name: long, ...value }];
  }
  if (long && typed.length > 2) throw usage(`unknown option -${typed}`, `Long options take two dashes: --${typed}`);
  const parts: TokenPart[] = [];
  for (let index = 1; index < token.length; index++) {
    const name = FLAG_LETTERS.get(token[index]!);
    if (!name) throw unknownFlag(typed, `-${typed}`);
    const tail = token.slice(index + 1);
    if (FLAGS[name].type === "boolean" && !tail.startsWith("=")) {
      parts.push({ name });
      continue;
    }
    parts.push({ name, ...(tail && { value: tail.replace(/^=/, "") }) });
    break;
  }
  return parts;
}

const ENTRIES = Object.entries(FLAGS) as [FlagName, FlagDef][];
const FLAG_NAMES: ReadonlyMap<string, FlagName> = new Map(
  ENTRIES.flatMap(([name, { also = [] }]) => [name, ...also].map((spelling): [string, FlagName] => [spelling, name])),
);
const FLAG_LETTERS: ReadonlyMap<string, FlagName> = new Map(
  ENTRIES.flatMap(([name, { alias }]) => (alias ? [[alias, name] as const] : [])),
);

function unknownFlag(typed: string, shown: string): LettaError {
  const near = findNearest(
    typed,
    ENTRIES.filter(([, flag]) => !flag.hidden).flatMap(([name, { also = [] }]) => [name, ...also]),
  );
  if (near) return usage(`unknown option ${shown}`, `Did you mean --${near}? See letta --help.`);
  return usage(`unknown option ${shown}`, "See letta --help. A prompt that starts with a dash goes after --.");
}

function takeValue(argv: string[], index: number, name: FlagName): string {
  const value = argv[index];
  if (value === undefined) throw usage(`--${name} needs a value`);
  if (looksLikeFlag(value)) {
    throw usage(`--${name} needs a value, but ${value} follows`, `If that is the value, write --${name}=${value}`);
  }
  return value;
}

function parseValue(name: FlagName, flag: FlagDef, text: string): unknown {
  if (flag.values) return parseChoice(name, flag, text);
  switch (flag.type) {
    case "csv":
      return text
        .split(",")
        .map((entry) => entry.trim())
        .filter(Boolean);
    case "rules":
      return parseRuleList(text);
    case "list":
      return [text];
    case "integer": {
      const value = Number(text);
      if (!/^\d+$/.test(text) || !Number.isSafeInteger(value) || value < 1) {
        throw usage(`--${name} needs a whole number of 1 or more, not "${text}"`);
      }
      return value;
    }
    case "number": {
      const value = Number(text.replace(/^\$/, ""));
      if (!text.trim() || !Number.isFinite(value) || value <= 0) {
        throw usage(`--${name} needs a number above 0, not "${text}"`);
      }
      return value;
    }
    case "duration": {
      const value = parseDuration(text, "s");
      if (!value) throw usage(`--${name} needs a time such as 90s, 10m or 1h30m, not "${text}"`);
      return value;
    }
    default:
      if (!text.trim()) throw usage(`--${name} needs a value that is not empty`);
      return text;
  }
}

function parseChoice(name: FlagName, flag: FlagDef, text: string): string {
  const values = flag.values ?? [];
  const value = flag.legacy?.[text] ?? text;
  if (values.includes(value)) return value;
  if (flag.noop) throw usage(`this version of letta has only --${name} ${values.join("|")}`);
  const near = findNearest(text, values);
  throw usage(
    `--${name} must be one of ${values.join(", ")}, not "${text}"`,
    near ? `Did you mean ${near}?` : name === "system" ? "For a prompt of your own use --system-custom." : undefined,
  );
}

function checkConversation({ conversation, agent, "new-agent": newAgent }: GlobalFlags): void {
  if (conversation === undefined) return;
  if (conversation === "default" && !agent && !newAgent) throw usage("--conv default needs --agent");
  if (conversation.startsWith("agent-")) {
    if (agent && agent !== conversation) throw usage(`--conv ${conversation} does not go with --agent ${agent}`);
  } else if (conversation !== "default" && agent) {
    throw usage("--conversation does not go with --agent: a conversation has only one agent");
  }
}

function usage(message: string, hint?: string): LettaError {
  return new LettaError("usage", message, { ...(hint && { hint }) });
}
