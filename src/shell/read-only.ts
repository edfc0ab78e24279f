// Commands that provably only read. Every option must stand in the table, spelled in full: an option we do not know, an
// abbreviation, or a program that can write or run something under any option that is not listed, asks. Operands that
// name files come back as `reads`, so that the file rules decide about them.

import { parseOptions } from "./options.ts";
import { findGitReads } from "./read-only-git.ts";
import { findLettaReads } from "./read-only-letta.ts";
import {
  findDockerReads,
  findFindReads,
  findJqReads,
  findKubectlReads,
  findSedReads,
  findTestReads,
} from "./read-only-special.ts";
import { COMMANDS, EXACT, type ReadOnlyCommand } from "./read-only-table.ts";
import { type Exclusions, GREP_EXCLUSIONS, isModestGlob, RIPGREP_EXCLUSIONS } from "./search-exclusions.ts";

export type ReadOnlyResult =
  | {
      readOnly: true;
      /** Files and folders it reads, relative to its directory. */
      reads: string[];
      /** What runs in its place, with options that close what configuration could open. */
      run: string[];
      /** Starts what the repository's configuration names, so that must be harmless. */
      git?: true;
      /** Of `git -C`. */
      directory?: string;
      /** Paths that git may take from the root of its repository. */
      tracked?: string[];
      /** Prints the addresses of remotes. */
      addresses?: true;
      /** Would read what is in folders, if one is named. */
      filesOnly?: true;
      /** Reads files that are not named. */
      searches?: Search;
      /** Commits to the memory of the agent whose command it is, and does nothing else. */
      changesMemory?: true;
    }
  | { readOnly: false; why: string };

export interface Search {
  /** Below the folders it names, or all that the repository holds and ever held. */
  where: "folders" | "repository";
  /** What leaves secrets out, and further names. `run` is only harmless with it. */
  exclusions: Exclusions;
  /** How many words of `run` stand behind where that belongs. */
  behind: number;
  /** Reads through folders that have become links. */
  followsLinks?: true;
}

/** Is there a file of this name, seen from where the command runs? Decides only how words are understood. */
export type Exists = (path: string) => boolean;

type Finder = (args: string[], exists: Exists) => ReadOnlyResult;

const FINDERS: Record<string, Finder> = {
  git: findGitReads,
  find: findFindReads,
  sed: findSedReads,
  jq: findJqReads,
  docker: findDockerReads,
  podman: findDockerReads,
  kubectl: findKubectlReads,
  test: findTestReads,
  "[": (args) => (args.at(-1) === "]" ? withName("[", findTestReads(args.slice(0, -1)), "]") : no("[: no `]`")),
  printf: findPrintfReads,
  npm: findNpmReads,
  xargs: findXargsReads,
  letta: findLettaReads,
};

export function findReads(argv: string[], exists: Exists): ReadOnlyResult {
  const [name = "", ...args] = argv;
  if (EXACT.has(argv.join(" "))) return { readOnly: true, reads: [], run: argv };
  const finder = Object.hasOwn(FINDERS, name) ? FINDERS[name] : undefined;
  if (finder) return name === "[" ? finder(args, exists) : withName(name, finder(args, exists));
  const table = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
  return table ? findTableReads(name, table, args) : no(`\`${name}\` is not a known read-only command`);
}

export function no(why: string): ReadOnlyResult {
  return { readOnly: false, why };
}

/** Finders return the arguments to run; here the name comes before them. */
function withName(name: string, result: ReadOnlyResult, ...last: string[]): ReadOnlyResult {
  return result.readOnly ? { ...result, run: [name, ...result.run, ...last] } : result;
}

function findTableReads(name: string, table: ReadOnlyCommand, args: string[]): ReadOnlyResult {
  const parsed = parseOptions(table, args);
  if ("why" in parsed) return no(`${name}: ${parsed.why}`);
  const { operands, given } = parsed;
  if (operands.length > (table.max ?? Number.POSITIVE_INFINITY)) return no(`${name}: too many operands`);
  if (table.prefix !== undefined && operands.some((word) => !word.startsWith(table.prefix!)))
    return no(`${name}: an operand changes something`);
  if (table.notPrefix !== undefined && operands.some((word) => word.startsWith(table.notPrefix!)))
    return no(`${name}: an operand that is no file`);
  const run = [name, ...args];
  if (table.operands === "text") return { readOnly: true, reads: [], run };
  if (table.operands === "none")
    return operands.length ? no(`${name}: an operand`) : { readOnly: true, reads: [], run };
  const patternGiven = given.has("e") || given.has("regexp") || given.has("files");
  const paths = table.operands === "paths" || patternGiven ? operands : operands.slice(1);
  if (name === "rg") return search("rg", args, paths, ["--no-config"], RIPGREP_EXCLUSIONS);
  if (given.has("r") || given.has("recursive"))
    if (name.endsWith("grep")) return search(name, args, paths, [], GREP_EXCLUSIONS);
  const reads = paths.length === 0 && table.readsCwd ? ["."] : paths;
  // Two folders are compared file by file.
  return { readOnly: true, reads, run, ...(name === "diff" && { filesOnly: true }) };
}

function search(
  name: string,
  args: string[],
  paths: string[],
  first: readonly string[],
  exclusions: Exclusions,
): ReadOnlyResult {
  const globs = args.flatMap((arg, at) =>
    arg === "-g" || arg === "--glob" ? (args[at + 1] ?? "") : (/^(?:-g|--glob=)(.+)$/.exec(arg)?.[1] ?? []),
  );
  // Also a cluster such as `-ng`: what it names is not looked for.
  if (name === "rg" && args.some((arg) => /^-[^-g]+g/.test(arg))) return no("rg: -g in a cluster");
  if (name === "rg" && !globs.every(isModestGlob)) return no("rg: a glob that may bring hidden files back");
  const end = args.indexOf("--");
  const options = end === -1 ? args : args.slice(0, end);
  const rest = end === -1 ? [] : args.slice(end);
  return {
    readOnly: true,
    reads: paths.length === 0 ? ["."] : paths,
    run: [name, ...first, ...options, ...rest],
    searches: { where: "folders", exclusions, behind: rest.length },
  };
}

/** `%n` assigns a variable, whose subscript would be evaluated. */
function findPrintfReads(args: string[]): ReadOnlyResult {
  const [format = ""] = args;
  if (format.startsWith("-")) return no(`printf: option ${format}`);
  if (/%(?!%|[-0-9.# +]*[sdiuxXofeEgGcbq])/.test(format.replaceAll("%%", ""))) return no("printf: an unusual format");
  return { readOnly: true, reads: [], run: args };
}

const NPM_LS = { flags: "ag", long: ["all", "global", "json", "long", "parseable"], longValued: ["depth", "omit"] };

function findNpmReads(args: string[]): ReadOnlyResult {
  if (!/^(?:ls|list)$/.test(args[0] ?? "")) return no(`\`npm ${args[0] ?? ""}\` is not a known read-only command`);
  const parsed = parseOptions(NPM_LS, args.slice(1));
  if ("why" in parsed) return no(`npm: ${parsed.why}`);
  // Operands are names of packages; npm may take a path for one.
  return { readOnly: true, reads: [".", ...parsed.operands.filter((word) => /^[./~]/.test(word))], run: args };
}

const XARGS = { flags: "0rt", valued: "nLP", long: ["null", "no-run-if-empty"] };

/** Only in front of what is harmless whatever words it gets. */
function findXargsReads(args: string[], exists: Exists): ReadOnlyResult {
  let at = 0;
  while (at < args.length && args[at]!.startsWith("-")) at += /^-[0rt]*[nLP]$/.test(args[at]!) ? 2 : 1;
  const parsed = parseOptions(XARGS, args.slice(0, at));
  if ("why" in parsed) return no(`xargs: ${parsed.why}`);
  const inner = args.slice(at);
  const table = Object.hasOwn(COMMANDS, inner[0] ?? "") ? COMMANDS[inner[0]!] : undefined;
  // Without a command it is `echo`.
  if (inner.length > 0 && !table?.anyWords) return no(`xargs: \`${inner[0]}\` may do anything with the words it gets`);
  const result = findReads(inner.length > 0 ? inner : ["echo"], exists);
  return result.readOnly ? { ...result, run: args } : result;
}
