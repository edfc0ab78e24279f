// Commands that provably only read. Every option must stand in the table, spelled in full: an option we do not know, an
// abbreviation, or a program that can write or run something under any option that is not listed, asks. Operands that
// name files come back as `reads`, so that the file rules decide about them.

import { findGitReads } from "./read-only-git.ts";

export interface OptionTable {
  /** Short options without a value, as letters: they may be clustered. */
  flags?: string;
  /** Short options with a value, as letters: `-n 5` or `-n5`. */
  valued?: string;
  /** Long options without a value (or with an optional `=value` when they end in `=?`). */
  long?: string[];
  /** Long options with a value: `--x=v` or `--x v`. */
  longValued?: string[];
  /** `-5`. */
  number?: boolean;
}

export interface ReadOnlyCommand extends OptionTable {
  /** What operands are. `none`: any operand asks. */
  operands: "paths" | "text" | "none" | "pattern-then-paths";
  max?: number;
  /** What every operand must start with. */
  prefix?: string;
  /** Reads the working directory when no path is given. */
  readsCwd?: boolean;
}

export type ReadOnlyResult = { readOnly: true; reads: string[]; git?: true } | { readOnly: false; why: string };

export function findReads(argv: string[]): ReadOnlyResult {
  const [name = "", ...args] = argv;
  if (EXACT.has(argv.join(" "))) return { readOnly: true, reads: [] };
  if (name === "git") return findGitReads(args);
  if (name === "find") return findFindReads(args);
  if (name === "sed") return findSedReads(args);
  const table = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
  if (!table) return no(`\`${name}\` is not a known read-only command`);
  const parsed = parseOptions(table, args);
  if ("why" in parsed) return no(`${name}: ${parsed.why}`);
  return toReads(name, table, parsed);
}

function toReads(name: string, table: ReadOnlyCommand, { operands, given }: ParsedOptions): ReadOnlyResult {
  if (operands.length > (table.max ?? Number.POSITIVE_INFINITY)) return no(`${name}: too many operands`);
  if (table.prefix !== undefined && operands.some((word) => !word.startsWith(table.prefix!)))
    return no(`${name}: an operand changes something`);
  if (table.operands === "text") return { readOnly: true, reads: [] };
  if (table.operands === "none") return operands.length ? no(`${name}: an operand`) : { readOnly: true, reads: [] };
  const patternGiven = given.has("e") || given.has("regexp") || given.has("files");
  const paths = table.operands === "paths" || patternGiven ? operands : operands.slice(1);
  return { readOnly: true, reads: paths.length === 0 && table.readsCwd ? ["."] : paths };
}

export interface ParsedOptions {
  operands: string[];
  /** Names of the options that were given. */
  given: Set<string>;
}

export function parseOptions(table: OptionTable, args: string[]): ParsedOptions | { why: string } {
  const operands: string[] = [];
  const given = new Set<string>();
  for (let index = 0; index < args.length; index++) {
    const arg = args[index]!;
    if (arg === "--") {
      operands.push(...args.slice(index + 1));
      break;
    }
    // `-` counts: `uniq - out` writes its second operand.
    if (!arg.startsWith("-") || arg === "-") {
      operands.push(arg);
      continue;
    }
    if (table.number && /^-\d+$/.test(arg)) continue;
    const known = arg.startsWith("--") ? parseLong(table, arg, given) : parseShort(table, arg, given);
    if (known === "unknown") return { why: `option ${arg}` };
    if (known === "value-follows") {
      index += 1;
      if (index >= args.length) return { why: `${arg} without its value` };
    }
  }
  return { operands, given };
}

type Known = "known" | "unknown" | "value-follows";

function parseLong(table: OptionTable, arg: string, given: Set<string>): Known {
  const [name = "", value] = splitOnce(arg.slice(2), "=");
  given.add(name);
  if (table.longValued?.includes(name)) return value === undefined ? "value-follows" : "known";
  if (table.long?.includes(`${name}=?`)) return "known";
  return value === undefined && table.long?.includes(name) ? "known" : "unknown";
}

function parseShort(table: OptionTable, arg: string, given: Set<string>): Known {
  for (let at = 1; at < arg.length; at++) {
    const letter = arg[at]!;
    given.add(letter);
    if (table.valued?.includes(letter)) return at === arg.length - 1 ? "value-follows" : "known";
    if (!table.flags?.includes(letter)) return "unknown";
  }
  return "known";
}

function splitOnce(text: string, separator: string): [string, string | undefined] {
  const at = text.indexOf(separator);
  return at === -1 ? [text, undefined] : [text.slice(0, at), text.slice(at + 1)];
}

function no(why: string): ReadOnlyResult {
  return { readOnly: false, why };
}

/** Whole commands. Not here: programs whose version switch reads the project (yarn, cargo, go, pnpm run what it names),
 *  and process lists with environments. */
const EXACT = new Set(
  "node --version|node -v|python3 --version|python --version|git --version|ps|ps -e|ps -ef|ps ax|ps aux".split("|"),
);

const HASH: ReadOnlyCommand = { operands: "paths", flags: "bt", long: ["binary", "text", "tag"] };
const PLAIN_TEXT: ReadOnlyCommand = { operands: "text" };

const COMMANDS: Record<string, ReadOnlyCommand> = {
  pwd: { operands: "none", flags: "LP" },
  whoami: { operands: "none" },
  true: PLAIN_TEXT,
  false: PLAIN_TEXT,
  arch: { operands: "none" },
  nproc: { operands: "none", long: ["all"] },
  tty: { operands: "none" },
  hostname: { operands: "none" },
  uptime: { operands: "none", flags: "ps" },
  id: { operands: "text", flags: "ugGnrz" },
  uname: { operands: "none", flags: "asrmnvpio" },
  date: {
    operands: "text",
    prefix: "+",
    flags: "uR",
    valued: "d",
    long: ["utc", "iso-8601=?", "rfc-email"],
    longValued: ["date"],
  },
  echo: { operands: "text", flags: "neE" },
  seq: { operands: "text", flags: "w", valued: "s" },
  which: { operands: "text", flags: "a" },
  type: { operands: "text", flags: "atp" },
  basename: { operands: "text", flags: "az", valued: "s" },
  dirname: { operands: "text", flags: "z" },
  realpath: { operands: "paths", flags: "emsqz" },
  readlink: { operands: "paths", flags: "femnqsvz" },
  ls: {
    operands: "paths",
    readsCwd: true,
    flags: "aAbBcCdfFgGhHiklLmnNopqQrRsStuUvwxXZ1",
    long: "all almost-all author classify=? color=? directory file-type full-time group-directories-first human-readable inode numeric-uid-gid recursive reverse size".split(
      " ",
    ),
    longValued: ["sort", "time", "time-style", "format", "hide", "ignore"],
  },
  tree: {
    operands: "paths",
    readsCwd: true,
    flags: "adfipsughDFqNrtxvCnJ",
    valued: "LPI",
    long: ["noreport", "dirsfirst", "gitignore"],
  },
  stat: {
    operands: "paths",
    flags: "Lft",
    valued: "c",
    long: ["dereference", "terse"],
    longValued: ["format", "printf"],
  },
  file: { operands: "paths", flags: "bhiLkprN", long: ["brief", "mime", "mime-type", "mime-encoding"] },
  du: {
    operands: "paths",
    readsCwd: true,
    flags: "abchkmsx",
    valued: "d",
    long: ["all", "summarize", "human-readable", "total", "apparent-size"],
    longValued: ["max-depth", "exclude"],
  },
  df: { operands: "paths", flags: "ahHiklPT", long: ["human-readable", "inodes", "total"] },
  wc: { operands: "paths", flags: "cmlLw", long: ["bytes", "chars", "lines", "words", "max-line-length"] },
  cat: {
    operands: "paths",
    flags: "AbeEnstTvu",
    long: ["number", "number-nonblank", "show-all", "show-ends", "show-tabs", "squeeze-blank"],
  },
  head: {
    operands: "paths",
    flags: "qvz",
    valued: "nc",
    number: true,
    long: ["quiet", "verbose"],
    longValued: ["lines", "bytes"],
  },
  tail: {
    operands: "paths",
    flags: "qvz",
    valued: "nc",
    number: true,
    long: ["quiet", "verbose"],
    longValued: ["lines", "bytes"],
  },
  nl: { operands: "paths", valued: "bnvws" },
  tac: { operands: "paths" },
  cmp: { operands: "paths", flags: "bls", valued: "n" },
  cksum: { operands: "paths" },
  md5sum: HASH,
  sha1sum: HASH,
  sha256sum: HASH,
  sha512sum: HASH,
  diff: {
    operands: "paths",
    max: 2,
    flags: "ucqwbBiysNaEt",
    valued: "U",
    long: ["unified=?", "brief", "color=?", "ignore-all-space", "ignore-case", "ignore-blank-lines", "side-by-side"],
  },
  // Not `-r`: a folder holds files that ask when read one by one (.env), and grep does not skip them.
  grep: {
    operands: "pattern-then-paths",
    flags: "EFGPivwxcnlLoqshHbaIzyT",
    valued: "eABCm",
    number: true,
    long: [
      "ignore-case",
      "invert-match",
      "count",
      "line-number",
      "files-with-matches",
      "only-matching",
      "no-filename",
      "with-filename",
      "color=?",
      "extended-regexp",
      "fixed-strings",
      "perl-regexp",
      "word-regexp",
    ],
    longValued: ["regexp", "after-context", "before-context", "context", "max-count"],
  },
  // Skips hidden and ignored files by default; the options that undo this (also `--glob`) are not here. `--pre` runs
  // programs.
  rg: {
    operands: "pattern-then-paths",
    readsCwd: true,
    flags: "FivwxcnNlosSHIPUqp0",
    valued: "eABCmtTjdM",
    number: true,
    long: [
      "ignore-case",
      "smart-case",
      "case-sensitive",
      "count",
      "count-matches",
      "files",
      "files-with-matches",
      "files-without-match",
      "fixed-strings",
      "heading",
      "no-heading",
      "json",
      "line-number",
      "no-line-number",
      "multiline",
      "no-config",
      "no-messages",
      "only-matching",
      "pcre2",
      "stats",
      "trim",
      "vimgrep",
      "with-filename",
      "no-filename",
      "word-regexp",
      "invert-match",
      "column",
      "type-list",
    ],
    longValued: [
      "regexp",
      "after-context",
      "before-context",
      "context",
      "max-count",
      "type",
      "type-not",
      "color",
      "max-columns",
      "max-depth",
      "sort",
      "sortr",
    ],
  },
  cut: {
    operands: "paths",
    flags: "ns",
    valued: "bcdf",
    long: ["complement", "only-delimited"],
    longValued: ["bytes", "characters", "delimiter", "fields", "output-delimiter"],
  },
  tr: { operands: "text", flags: "cCdst" },
  uniq: { operands: "paths", max: 1, flags: "cdiuz", valued: "fsw", long: ["count", "repeated", "unique"] },
  sort: {
    operands: "paths",
    flags: "bdfghiMnrRuVzs",
    valued: "kt",
    long: ["reverse", "unique", "numeric-sort", "human-numeric-sort", "version-sort"],
    longValued: ["key", "field-separator"],
  },
  fold: { operands: "paths", flags: "bs", valued: "w" },
  column: { operands: "paths", flags: "tx", valued: "sc" },
  expand: { operands: "paths", flags: "i", valued: "t" },
  paste: { operands: "paths", flags: "sz", valued: "d" },
};

/** Tests that take no value, tests that take one, and nothing that runs, writes, deletes or follows links. */
const FIND_PLAIN = new Set(
  "-not ! -o -or -a -and ( ) -prune -print -print0 -ls -quit -empty -true -false -depth -mount -xdev -readable -writable -executable".split(
    " ",
  ),
);
const FIND_VALUED = new Set(
  "-name -iname -path -ipath -wholename -iwholename -regex -iregex -type -maxdepth -mindepth -size -mtime -mmin -atime -amin -ctime -cmin -perm -user -group -links".split(
    " ",
  ),
);

function findFindReads(args: string[]): ReadOnlyResult {
  const firstTest = args.findIndex((arg) => arg.startsWith("-") || arg === "!" || arg === "(");
  const roots = firstTest === -1 ? args : args.slice(0, firstTest);
  for (let at = roots.length; at < args.length; at++) {
    const arg = args[at]!;
    if (FIND_VALUED.has(arg)) at += 1;
    else if (!FIND_PLAIN.has(arg)) return no(`find: ${arg}`);
  }
  return { readOnly: true, reads: roots.length ? roots : ["."] };
}

/** Only `sed -n 'N,Mp' file…`: sed scripts can write files and run programs. */
function findSedReads(args: string[]): ReadOnlyResult {
  const [quiet, script = "", ...files] = args;
  const printsLines = /^(?:(?:\d+|\$)(?:,(?:\d+|\$))?p)(?:;(?:\d+|\$)(?:,(?:\d+|\$))?p)*$/.test(script);
  if (quiet !== "-n" || !printsLines || files.some((file) => file.startsWith("-")))
    return no("sed: not just printing lines");
  return { readOnly: true, reads: files };
}
