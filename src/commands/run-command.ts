// Runs a citty command strictly. citty's own runner exits by itself, lets unknown flags through and loses the result of
// nested commands; so the definition is citty's, the parsing and the dispatch are ours.

import type { ArgDef, ArgsDef } from "citty";
import { LettaError } from "@/lib/errors.ts";
import { findNearest } from "@/lib/nearest.ts";
import { wrap } from "@/lib/terminal-text.ts";
import type { CommandContext } from "./context.ts";
import { looksLikeFlag } from "./parse-flags.ts";

/** What `defineCommand` returns, whatever its arguments are. */
export interface AnyCommand {
  meta?: unknown;
  args?: unknown;
  subCommands?: unknown;
  /** Name of the sub-command used when none is given. */
  default?: unknown;
  /** What follows its name is another program's: it reaches `run` unread, as `rawArgs`. */
  passThrough?: boolean;
  run?: (context: never) => unknown;
}

export interface CommandMeta {
  name: string;
  description?: string;
  alias: string[];
  hidden: boolean;
}

/** Runs `command` with what follows its name in argv. The number its `run` returns is the exit code; nothing is 0. */
export async function runCommand(
  path: string[],
  command: AnyCommand,
  argv: string[],
  data: CommandContext,
): Promise<number> {
  const subCommands = await commandsOf(command);
  if (subCommands.size > 0) {
    // A word behind a flag may be the flag's value: only a known name counts there.
    const index = argv.findIndex((token) => !looksLikeFlag(token));
    const typed = argv[index];
    const found = typed === undefined ? undefined : await findSubCommand(subCommands, typed);
    if (found) return runCommand([...path, found.name], found.command, argv.toSpliced(index, 1), data);
    if (index === 0 && typed !== "help" && !command.run) throw unknownCommand(path, typed!, [...subCommands.keys()]);
  }
  const own = command.passThrough ? argv.slice(0, 1) : argv;
  if (own.some((token) => token === "--help" || token === "-h") || argv[0] === "help") {
    return showHelp(path, command, data);
  }
  const fallback = await defaultCommand(command, subCommands);
  if (fallback) return runCommand([...path, fallback], subCommands.get(fallback)!, argv, data);
  if (!command.run) {
    if (argv.length > 0) throw unknownFlag(path, argv[0]!, {});
    return showHelp(path, command, data);
  }
  const args = parseCommandArgs(path, await argsOf(command), own);
  // The context is what citty hands to `run`; `never` only forgets the type of the arguments.
  const result = await command.run({ rawArgs: argv, args, cmd: command, data } as never);
  return typeof result === "number" ? result : 0;
}

/** Typed by citty where the command is defined; here only names and types of values are known. */
function parseCommandArgs(path: string[], defs: ArgsDef, argv: string[]): Record<string, unknown> {
  const named = new Map<string, string>();
  for (const [name, def] of Object.entries(defs)) {
    if (def.type === "positional") continue;
    for (const spelling of [name, kebab(name), ...aliases(def)]) named.set(spelling, name);
  }
  const values: Record<string, unknown> = {};
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
    const flag = readFlag(token, named, defs);
    if (flag === null) throw unknownFlag(path, token, defs);
    const { name, attached } = flag;
    if (!isText(defs[name])) {
      if (attached !== undefined) throw usage(`--${name} takes no value`, path);
      values[name] = !flag.negated;
      continue;
    }
    const value: string | undefined = attached ?? argv[++index];
    if (value === undefined || (attached === undefined && looksLikeFlag(value))) {
      throw usage(`--${name} needs a value`, path);
    }
    values[name] = value;
  }
  return finishArgs(path, defs, values, positionals);
}

interface TypedFlag {
  name: string;
  /** `--flag=value`, `-fvalue`. */
  attached: string | undefined;
  /** `--no-flag`. */
  negated: boolean;
}

/** Null when no argument is called so. */
function readFlag(token: string, named: Map<string, string>, defs: ArgsDef): TypedFlag | null {
  const equals = token.indexOf("=");
  const typed = token.slice(token.startsWith("--") ? 2 : 1, equals === -1 ? undefined : equals);
  const attached = equals === -1 ? undefined : token.slice(equals + 1);
  const name = named.get(typed);
  if (name !== undefined) return { name, attached, negated: false };
  const letter = token.startsWith("--") ? undefined : named.get(typed[0]!);
  if (letter !== undefined && isText(defs[letter]))
    return { name: letter, attached: token.slice(2).replace(/^=/, ""), negated: false };
  const denied = typed.startsWith("no-") ? named.get(typed.slice(3)) : undefined;
  if (denied !== undefined && attached === undefined && defs[denied]?.type === "boolean")
    return { name: denied, attached, negated: true };
  return null;
}

/** Text of `letta help <command>`: usage line, commands, options. */
export async function renderCommandHelp(path: string[], command: AnyCommand): Promise<string> {
  const meta = await metaOf(command, path.at(-1) ?? "");
  const defs = await argsOf(command);
  const subCommands = await commandsOf(command);
  const positionals = Object.entries(defs).filter(([, def]) => def.type === "positional");
  const options = Object.entries(defs).filter(([, def]) => def.type !== "positional");
  const usageLine = [
    "letta",
    ...path,
    ...(subCommands.size > 0
      ? [command.run || (await defaultCommand(command, subCommands)) ? "[command]" : "<command>"]
      : []),
    ...positionals.map(([name, def]) => (isRequired(def) ? `<${name}>` : `[${name}]`)),
    ...(options.length > 0 ? ["[options]"] : []),
  ].join(" ");
  const commandRows: [string, string][] = [];
  for (const [name, sub] of subCommands) {
    const { description = "", hidden } = await metaOf(sub, name);
    if (!hidden) commandRows.push([name, description]);
  }
  const sections = [
    ...(meta.description ? [meta.description] : []),
    `Usage: ${usageLine}`,
    section("Commands", commandRows),
    section(
      "Arguments",
      positionals.map(([name, def]) => [name, describe(def)]),
    ),
    section(
      "Options",
      options.map(([name, def]) => [optionLabel(name, def), describe(def)]),
    ),
  ];
  return `${sections.filter(Boolean).join("\n\n")}\n`;
}

/** Help reads the same in a pipe and in a terminal of the usual width. */
const HELP_COLUMNS = 80;

/** Two aligned columns under a heading; empty when there are no rows. */
export function section(heading: string, rows: [string, string][]): string {
  if (rows.length === 0) return "";
  const width = Math.max(...rows.map(([label]) => label.length));
  const lines = rows.flatMap(([label, text]) =>
    wrap(text, HELP_COLUMNS - width - 4).map((line, index) =>
      `  ${(index === 0 ? label : "").padEnd(width)}  ${line}`.trimEnd(),
    ),
  );
  return [`${heading}:`, ...lines].join("\n");
}

export async function commandsOf(command: AnyCommand): Promise<Map<string, AnyCommand>> {
  const subCommands = await resolve(command.subCommands);
  const found = new Map<string, AnyCommand>();
  if (typeof subCommands !== "object" || subCommands === null) return found;
  for (const [name, sub] of Object.entries(subCommands)) found.set(name, (await resolve(sub)) as AnyCommand);
  return found;
}

export async function argsOf(command: AnyCommand): Promise<ArgsDef> {
  return ((await resolve(command.args)) ?? {}) as ArgsDef;
}

export async function metaOf(command: AnyCommand, name: string): Promise<CommandMeta> {
  const meta = ((await resolve(command.meta)) ?? {}) as { description?: string; alias?: unknown; hidden?: boolean };
  return {
    name,
    ...(meta.description && { description: meta.description }),
    alias: [meta.alias ?? []].flat().map(String),
    hidden: meta.hidden ?? false,
  };
}

async function showHelp(path: string[], command: AnyCommand, data: CommandContext): Promise<number> {
  data.io.stdout(await renderCommandHelp(path, command));
  return 0;
}

/** The one named as default, else the only one there is. */
async function defaultCommand(command: AnyCommand, subCommands: Map<string, AnyCommand>): Promise<string | undefined> {
  if (command.run) return undefined;
  const named = await resolve(command.default);
  if (typeof named === "string" && subCommands.has(named)) return named;
  return subCommands.size === 1 ? [...subCommands.keys()][0] : undefined;
}

async function findSubCommand(
  subCommands: Map<string, AnyCommand>,
  typed: string,
): Promise<{ name: string; command: AnyCommand } | undefined> {
  for (const [name, command] of subCommands) {
    const { alias } = await metaOf(command, name);
    if (name === typed || alias.includes(typed)) return { name, command };
  }
  return undefined;
}

function finishArgs(
  path: string[],
  defs: ArgsDef,
  given: Record<string, unknown>,
  positionals: string[],
): Record<string, unknown> {
  const args: Record<string, unknown> = { ...given, _: positionals };
  const rest = [...positionals];
  let takesRest = false;
  for (const [name, def] of Object.entries(defs)) {
    if (def.type === "positional") {
      const value = rest.shift() ?? def.default;
      if (value === undefined && isRequired(def))
        throw usage(`${name.toUpperCase()} is missing (${def.description})`, path);
      if (value !== undefined) args[name] = value;
      takesRest ||= def.valueHint?.endsWith("...") === true;
    } else if (args[name] === undefined && def.default !== undefined) {
      args[name] = def.default;
    } else if (args[name] === undefined && def.required) {
      throw usage(`--${name} is missing`, path);
    }
    if (def.type === "enum" && args[name] !== undefined && !def.options?.includes(String(args[name]))) {
      throw usage(`--${name} must be one of ${def.options?.join(", ")}, not "${args[name]}"`, path);
    }
  }
  if (rest.length > 0 && !takesRest) throw usage(`unexpected argument "${rest[0]}"`, path);
  return args;
}

function unknownCommand(path: string[], typed: string, names: string[]): LettaError {
  const near = findNearest(typed, names);
  const hint = near ? `Did you mean: letta ${[...path, near].join(" ")}` : `It has: ${names.join(", ")}`;
  return new LettaError("usage", `unknown command "${[...path, typed].join(" ")}"`, { hint });
}

function unknownFlag(path: string[], token: string, defs: ArgsDef): LettaError {
  const shown = token.split("=")[0]!;
  const near = findNearest(
    shown.replace(/^-+/, ""),
    Object.entries(defs).flatMap(([name, def]) => (def.type === "positional" ? [] : [name])),
  );
  if (!near) return usage(`unknown option ${shown}`, path);
  return new LettaError("usage", `unknown option ${shown}`, { hint: `Did you mean --${near}?` });
}

function usage(message: string, path: string[]): LettaError {
  return new LettaError("usage", message, { hint: `See: letta help ${path.join(" ")}` });
}

async function resolve(value: unknown): Promise<unknown> {
  return typeof value === "function" ? value() : value;
}

function aliases(def: ArgDef): string[] {
  return "alias" in def ? [def.alias ?? []].flat() : [];
}

function isText(def: ArgDef | undefined): boolean {
  return def?.type === "string" || def?.type === "enum";
}

function isRequired(def: ArgDef): boolean {
  if (def.type === "positional") return def.required !== false && def.default === undefined;
  return def.required === true;
}

function optionLabel(name: string, def: ArgDef): string {
  const letters = aliases(def).filter((alias) => alias.length === 1);
  const hint = def.type === "enum" ? def.options?.join("|") : (def.valueHint ?? (isText(def) ? "VALUE" : undefined));
  return `${letters.map((letter) => `-${letter}, `).join("")}--${name}${hint ? ` ${hint}` : ""}`;
}

function describe(def: ArgDef): string {
  const fallback = def.default !== undefined && def.default !== false ? ` (default ${def.default})` : "";
  return `${def.description ?? ""}${fallback}`;
}

function kebab(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}
