// Git subcommands that only read. Which programs git starts meanwhile depends on the repository's configuration, so a
// `git: true` answer holds only together with `git-config.ts`: the caller must ask when that file finds the
// configuration of the repository not provably harmless.

import { type OptionTable, parseOptions } from "./options.ts";
import type { ReadOnlyResult } from "./read-only.ts";

const DIFF_LONG = [
  ..."stat=? shortstat numstat name-only name-status summary cached staged patch no-patch raw minimal color=? no-color word-diff=? unified=? no-ext-diff no-textconv no-renames find-renames=? full-index abbrev=? exit-code quiet ignore-all-space ignore-space-change ignore-blank-lines diff-filter=? check compact-summary dirstat=?".split(
    " ",
  ),
];
const LOG_LONG =
  "oneline graph all branches=? tags=? remotes=? decorate=? no-decorate format=? pretty=? date=? reverse first-parent merges no-merges follow abbrev-commit no-abbrev-commit since=? until=? after=? before=? author=? committer=? grep=? max-count=? skip=? all-match regexp-ignore-case topo-order date-order".split(
    " ",
  );

interface Subcommand extends OptionTable {
  /** `words`: revisions or paths; each is also checked as a path. `none`: any operand asks, it would change something. */
  operands: "words" | "none";
  max?: number;
  /** At least one of these options must be given. */
  needs?: string[];
}

const SUBCOMMANDS: Record<string, Subcommand> = {
  status: {
    operands: "words",
    flags: "sbzvu",
    long: ["short", "branch", "porcelain=?", "long", "show-stash", "ignored=?", "untracked-files=?", "no-renames"],
  },
  diff: { operands: "words", flags: "pwbRMCDz", valued: "GS", glued: "U", long: DIFF_LONG },
  log: {
    operands: "words",
    flags: "pwbiMCz",
    valued: "nGSL",
    glued: "U",
    number: true,
    long: [...DIFF_LONG, ...LOG_LONG],
  },
  show: {
    operands: "words",
    flags: "pwbsMCz",
    valued: "n",
    glued: "U",
    number: true,
    long: [...DIFF_LONG, ...LOG_LONG],
  },
  shortlog: { operands: "words", flags: "sne", long: ["summary", "numbered", "email", "since=?", "until=?"] },
  blame: { operands: "words", flags: "lswecfnb", valued: "L", long: ["porcelain", "date=?"] },
  "ls-files": {
    operands: "words",
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
  "rev-list": { operands: "words", valued: "n", long: ["count", "all", "max-count=?", "left-right", "no-merges"] },
  "count-objects": { operands: "none", flags: "vH" },
  branch: {
    operands: "none",
    flags: "arvl",
    long: "list all remotes show-current verbose sort=? no-color format=? contains=? no-contains=? merged=? no-merged=? points-at=?".split(
      " ",
    ),
  },
  tag: { operands: "none", flags: "ln", long: "list sort=? format=? contains=? merged=? points-at=?".split(" ") },
  remote: { operands: "none", flags: "v", long: ["verbose"] },
  "remote get-url": { operands: "words", long: ["all", "push"] },
  "stash list": { operands: "none" },
  "stash show": { operands: "words", flags: "pu", long: DIFF_LONG },
  "worktree list": { operands: "none", flags: "vz", long: ["porcelain", "verbose"] },
  reflog: { operands: "none", valued: "n", number: true },
  "reflog show": { operands: "words", valued: "n", number: true, long: ["oneline", "date=?"] },
  "cat-file": { operands: "words", flags: "tspe", needs: ["t", "s", "p", "e"] },
  "name-rev": { operands: "words", long: ["name-only", "tags", "all"] },
  "symbolic-ref": { operands: "words", flags: "q", max: 1, long: ["short", "quiet"] },
  "for-each-ref": {
    operands: "words",
    long: ["format=?", "sort=?", "count=?", "merged=?", "no-merged=?", "contains=?", "points-at=?"],
  },
  "show-ref": { operands: "words", flags: "sd", long: ["head", "heads", "tags", "hash", "verify"] },
  // Searches what is tracked.
  grep: {
    operands: "words",
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
    needs: ["e"],
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
/** Settings that are no secrets. `http.*` and `credential.*` may be. */
const OPEN_CONFIG = /^(?:user|core|branch|remote|init|pull|push|color|diff|merge|rebase)\.[\w./-]+$/;

export function findGitReads(args: string[]): ReadOnlyResult {
  let at = 0;
  let directory: string | undefined;
  for (; at < args.length; at++) {
    if (args[at] === "-C" && directory === undefined && args[at + 1]) directory = args[++at];
    else if (args[at] !== "--no-pager" && args[at] !== "--no-optional-locks") break;
  }
  const [name = "", ...rest] = args.slice(at);
  const found = findSubcommandReads(name, rest);
  if (!found.readOnly) return found;
  const run = [...args.slice(0, at), name, ...found.run];
  return { ...found, run, git: true, ...(directory !== undefined && { directory }) };
}

function no(why: string): ReadOnlyResult {
  return { readOnly: false, why };
}

function findSubcommandReads(name: string, args: string[]): ReadOnlyResult {
  if (name === "config") return findConfigReads(args);
  // These have subcommands of their own; without one, some of them change things.
  const nested: Record<string, string[]> = {
    stash: ["list", "show"],
    worktree: ["list"],
    reflog: ["show"],
    remote: ["get-url"],
  };
  const second = Object.hasOwn(nested, name) && nested[name]!.includes(args[0] ?? "") ? args[0]! : "";
  const key = second === "" ? name : `${name} ${second}`;
  const options = second === "" ? args : args.slice(1);
  const table = Object.hasOwn(SUBCOMMANDS, key) ? SUBCOMMANDS[key] : undefined;
  if (!table) return no(`\`git ${name}\` is not a known read-only command`);
  if (LISTS_COMMITS.has(name) && options.some((word) => RUNNING_FORMAT.test(word)))
    return no(`git ${name}: a format that starts programs`);
  const parsed = parseOptions(table, options);
  if ("why" in parsed) return no(`git ${key}: ${parsed.why}`);
  if (table.operands === "none" && parsed.operands.length > 0) return no(`git ${key}: an operand changes something`);
  if (parsed.operands.length > (table.max ?? Number.POSITIVE_INFINITY)) return no(`git ${key}: too many operands`);
  if (table.needs?.every((option) => !parsed.given.has(option))) return no(`git ${key}: without ${table.needs[0]}`);
  // `git diff /etc/passwd x` compares any two files. A revision resolves to a harmless name inside the folder; what
  // follows the colon of `HEAD:file` is a path again.
  const words = parsed.operands.flatMap((word) => [word, ...word.split(":").slice(1)]).filter((word) => word !== "");
  const injected = second === "list" ? [] : (INJECTED[name] ?? []);
  return {
    readOnly: true,
    reads: [".", ...words],
    run: [...(second === "" ? [] : [second]), ...injected, ...options],
  };
}

function findConfigReads(args: string[]): ReadOnlyResult {
  const rest = args.filter((word) => word !== "--show-origin");
  const [option, key = "", ...more] = rest;
  const get = option === "--get" || option === "--get-all";
  if (!get || more.length > 0 || !OPEN_CONFIG.test(key)) return no("git config: not just a harmless setting");
  return { readOnly: true, reads: ["."], run: args };
}
