// Git subcommands that only read. Which programs git starts meanwhile depends on the repository's configuration, so a
// `git: true` answer holds only together with `git-config.ts`: the caller must ask when that file finds the
// configuration of the repository not provably harmless.
//
// Git prints files that nobody named: what changed, what matches, what once was there. A command whose output may hold
// contents runs with pathspecs that leave secrets out, or asks where git's grammar leaves no place for them.

import { isAbsolute } from "node:path";
import { type Limited, type Print, toLimited, toShown } from "./git-words.ts";
import { type OptionTable, parseOptions } from "./options.ts";
import type { Exists, ReadOnlyResult } from "./read-only.ts";

const DIFF_LONG = [
  ..."stat=? shortstat numstat name-only name-status summary cached staged patch no-patch raw minimal color=? no-color word-diff=? unified=? no-ext-diff no-textconv no-renames find-renames=? full-index abbrev=? exit-code quiet ignore-all-space ignore-space-change ignore-blank-lines check compact-summary dirstat=?".split(
    " ",
  ),
];
/** Their value may stand apart, also `--`. */
const DIFF_VALUED = ["diff-filter"];
const LOG_LONG =
  "oneline graph all branches=? tags=? remotes=? decorate=? no-decorate format=? pretty=? reverse first-parent merges no-merges follow abbrev-commit no-abbrev-commit all-match regexp-ignore-case topo-order date-order".split(
    " ",
  );

const LOG_VALUED = [...DIFF_VALUED, ..."date since until after before author committer grep max-count skip".split(" ")];

export interface Subcommand extends OptionTable {
  /** `words`: revisions or paths; each is also checked as a path. `names`: paths inside the repository, of which only
   *  names are shown. `none`: any operand asks, it would change something. */
  operands: "words" | "names" | "none";
  max?: number;
  /** At least one of these options must be given. */
  needs?: string[];
  /** With one of these, operands are patterns for what is listed. */
  lists?: string[];
  /** Whether contents of files are printed: `always`, unless only names are asked for, or when they are asked for. */
  contents?: "always" | "default" | "asked";
  addresses?: true;
}

/** Of what is listed: which commits it has. */
const REACHES = ["contains", "no-contains", "merged", "no-merged", "points-at"];

export const SUBCOMMANDS: Record<string, Subcommand> = {
  status: {
    operands: "names",
    flags: "sbzu",
    whole: ["-uno", "-unormal", "-uall"],
    long: ["short", "branch", "porcelain=?", "long", "show-stash", "ignored=?", "untracked-files=?", "no-renames"],
  },
  diff: {
    operands: "words",
    contents: "default",
    flags: "pwbRMCDz",
    valued: "GS",
    glued: "U",
    long: DIFF_LONG,
    longValued: DIFF_VALUED,
  },
  log: {
    operands: "words",
    contents: "asked",
    flags: "pwbiMCz",
    // Not `-L`: it follows lines into files of other names, and takes no pathspec.
    valued: "nGS",
    glued: "U",
    number: true,
    long: [...DIFF_LONG, ...LOG_LONG],
    longValued: LOG_VALUED,
  },
  show: {
    operands: "words",
    contents: "default",
    flags: "pwbsMCz",
    valued: "n",
    glued: "U",
    number: true,
    long: [...DIFF_LONG, ...LOG_LONG],
    longValued: LOG_VALUED,
  },
  shortlog: { operands: "words", flags: "sne", long: ["summary", "numbered", "email"], longValued: ["since", "until"] },
  blame: { operands: "words", flags: "lswecfnb", valued: "L", long: ["porcelain"], longValued: ["date"] },
  "ls-files": {
    operands: "names",
    flags: "cdmoiszuv",
    long: ["cached", "deleted", "modified", "others", "ignored", "stage", "exclude-standard", "full-name"],
  },
  "ls-tree": {
    operands: "words",
    flags: "rdtlz",
    long: ["name-only", "name-status", "full-name", "full-tree", "long"],
  },
  "rev-parse": {
    operands: "words",
    flags: "q",
    long: "abbrev-ref verify short=? show-toplevel git-dir is-inside-work-tree show-prefix quiet all symbolic".split(
      " ",
    ),
  },
  describe: { operands: "words", long: ["tags", "all", "always", "long", "abbrev=?", "exact-match", "contains"] },
  "merge-base": { operands: "words", flags: "a", long: ["all", "is-ancestor"] },
  "rev-list": {
    operands: "words",
    valued: "n",
    long: ["count", "all", "left-right", "no-merges"],
    longValued: ["max-count"],
  },
  "count-objects": { operands: "none", flags: "vH" },
  branch: {
    operands: "none",
    // Not `-l`, which once meant something else.
    lists: ["list"],
    flags: "arvl",
    long: "list all remotes show-current verbose no-color".split(" "),
    longValued: ["sort", "format"],
    longLast: REACHES,
  },
  tag: {
    operands: "none",
    lists: ["l", "list"],
    flags: "ln",
    long: ["list"],
    longValued: ["sort", "format"],
    longLast: REACHES,
  },
  remote: { operands: "none", addresses: true, flags: "v", long: ["verbose"] },
  "remote get-url": { operands: "words", addresses: true, long: ["all", "push"] },
  "stash list": { operands: "none" },
  "stash show": {
    operands: "words",
    contents: "default",
    max: 1,
    flags: "p",
    glued: "U",
    long: DIFF_LONG,
    longValued: DIFF_VALUED,
  },
  "worktree list": { operands: "none", flags: "vz", long: ["porcelain", "verbose"] },
  reflog: { operands: "none", valued: "n", number: true },
  "reflog show": { operands: "words", valued: "n", number: true, long: ["oneline"], longValued: ["date"] },
  "cat-file": { operands: "words", flags: "tspe", needs: ["t", "s", "p", "e"] },
  "check-ignore": { operands: "names", flags: "qvn", long: ["quiet", "verbose", "non-matching", "no-index"] },
  cherry: { operands: "words", max: 3, flags: "v", long: ["verbose", "abbrev=?"] },
  "name-rev": { operands: "words", long: ["name-only", "tags", "all"] },
  "symbolic-ref": { operands: "words", flags: "q", max: 1, long: ["short", "quiet"] },
  "for-each-ref": {
    operands: "words",
    longValued: ["format", "sort", "count"],
    longLast: REACHES,
  },
  "show-ref": { operands: "words", flags: "sd", long: ["head", "heads", "tags", "hash", "verify"] },
  // Searches what is tracked.
  grep: {
    operands: "words",
    contents: "always",
    flags: "nilcwhHEFPv",
    valued: "eABCm",
    long: [
      "line-number",
      "ignore-case",
      "name-only",
      "count",
      "cached",
      "heading",
      "break",
      "show-function",
      "color=?",
    ],
  },
};

const LISTS_COMMITS = new Set(["log", "show", "rev-list", "for-each-ref", "branch", "tag", "shortlog", "reflog"]);
/** Formats that start programs: signature checks and computed trailers. */
const RUNNING_FORMAT = /%[-+ ]?G|%[-+ ]?\(trailers|\bsignature\b/;
/** What keeps these from starting what attributes name. */
const INJECTED: Record<string, string[]> = {
  diff: ["--no-ext-diff", "--no-textconv"],
  log: ["--no-ext-diff", "--no-textconv"],
  show: ["--no-ext-diff", "--no-textconv"],
  stash: ["--no-ext-diff", "--no-textconv"],
  blame: ["--no-textconv"],
  grep: ["--no-textconv"],
};
/** Print no contents, not even with the default format. */
const NAMES_ONLY =
  "stat shortstat numstat name-only name-status summary raw no-patch s dirstat compact-summary quiet".split(" ");
/** Print contents, or tell something about them. */
const CONTENTS = "p patch U unified word-diff check G S".split(" ");
/** Settings that are no secrets. `http.*` and `credential.*` may be. */
const OPEN_CONFIG =
  /^(?:user\.(?:name|email|signingkey)|(?:core|branch|init|pull|push|color|diff|merge|rebase)\.[\w./-]+)$/i;
const REMOTE_ADDRESS = /^remote\.[\w./-]+\.(?:url|pushurl)$/i;

export function findGitReads(args: string[], exists: Exists): ReadOnlyResult {
  let at = 0;
  let directory: string | undefined;
  for (; at < args.length; at++) {
    if (args[at] === "-C" && directory === undefined && args[at + 1]) directory = args[++at];
    else if (args[at] !== "--no-pager" && args[at] !== "--no-optional-locks") break;
  }
  const [name = "", ...rest] = args.slice(at);
  const found = findSubcommandReads(name, rest, (path) =>
    exists(directory === undefined || isAbsolute(path) ? path : `${directory}/${path}`),
  );
  if (!found.readOnly) return found;
  const run = [...args.slice(0, at), ...found.run];
  return { ...found, run, git: true, ...(directory !== undefined && { directory }) };
}

function no(why: string): ReadOnlyResult {
  return { readOnly: false, why };
}

/** These have subcommands of their own; without one, some of them change things. */
const NESTED: Record<string, string[]> = {
  stash: ["list", "show"],
  worktree: ["list"],
  reflog: ["show"],
  remote: ["get-url"],
};

function findSubcommandReads(name: string, args: string[], exists: Exists): ReadOnlyResult {
  if (name === "config") return findConfigReads(args);
  const second = Object.hasOwn(NESTED, name) && NESTED[name]!.includes(args[0] ?? "") ? args[0]! : "";
  const key = second === "" ? name : `${name} ${second}`;
  const words = second === "" ? args : args.slice(1);
  const table = Object.hasOwn(SUBCOMMANDS, key) ? SUBCOMMANDS[key] : undefined;
  if (!table) return no(`\`git ${name}\` is not a known read-only command`);
  if (LISTS_COMMITS.has(name) && words.some((word) => RUNNING_FORMAT.test(word)))
    return no(`git ${name}: a format that starts programs`);
  const parsed = parseOptions(table, words);
  if ("why" in parsed) return no(`git ${key}: ${parsed.why}`);
  const { operands, given } = parsed;
  const isPattern = table.lists?.some((option) => given.has(option)) ?? false;
  if (table.operands === "none" && operands.length > 0 && !isPattern)
    return no(`git ${key}: an operand changes something`);
  if (operands.length > (table.max ?? Number.POSITIVE_INFINITY)) return no(`git ${key}: too many operands`);
  if (table.needs?.every((option) => !given.has(option))) return no(`git ${key}: without ${table.needs[0]}`);
  const injected = second === "list" ? [] : (INJECTED[name] ?? []);
  const limited = limit(key, table, { ...parsed, injected, exists });
  if ("why" in limited) return no(`git ${key}: ${limited.why}`);
  return {
    readOnly: true,
    // `git diff /etc/passwd x` compares any two files. A revision resolves to a harmless name inside the folder.
    reads: [".", ...(isPattern || table.operands === "names" ? [] : operands.filter((word) => word !== ""))],
    run: [...key.split(" "), ...injected, ...words],
    ...(table.addresses && { addresses: true }),
    ...limited,
  };
}

/** What keeps secrets out of what it prints; what it returns takes the place of the ordinary answer. */
function limit(key: string, table: Subcommand, print: Print): Limited {
  const { given, operands, injected, options } = print;
  if (key === "cat-file") return given.has("p") ? toShown(key, print, true) : {};
  if (table.contents === undefined) return {};
  const asked = CONTENTS.some((option) => given.has(option));
  const printsContents =
    table.contents === "always" ||
    asked ||
    (table.contents === "default" && !NAMES_ONLY.some((name) => given.has(name)));
  if (key === "stash show") {
    // What follows without options is the user's setting.
    if (options.length === 0) return { run: ["stash", "show", ...injected, "--stat", ...operands] };
    if (!printsContents) return {};
    const stash = /^(?:stash@\{)?(\d+)\}?$/.exec(operands[0] ?? "0")?.[1];
    if (stash === undefined) return { why: "not one of the stashes" };
    // The same with a command that takes pathspecs.
    const operandsOfDiff = [`stash@{${stash}}^1`, `stash@{${stash}}`];
    return toLimited("diff", { ...print, operands: operandsOfDiff, beforeDashes: 2 });
  }
  if (key === "show") return toShown(key, print, printsContents);
  return printsContents ? toLimited(key, print) : {};
}

function findConfigReads(args: string[]): ReadOnlyResult {
  const rest = args.filter((word) => word !== "--show-origin");
  // One word is a question, two are an answer.
  const [key = "", ...more] = rest[0] === "--get" || rest[0] === "--get-all" ? rest.slice(1) : rest;
  const addresses = REMOTE_ADDRESS.test(key);
  if (more.length > 0 || !(OPEN_CONFIG.test(key) || addresses)) return no("git config: not just a harmless setting");
  return { readOnly: true, reads: ["."], run: ["config", ...args], ...(addresses && { addresses }) };
}
