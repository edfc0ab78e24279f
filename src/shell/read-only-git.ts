// Git subcommands that only read. Which programs git starts meanwhile depends on the repository's configuration, so a
// `git: true` answer holds only together with `git-config.ts`: the caller must ask when that file finds the
// configuration of the repository not provably harmless.

import { type OptionTable, parseOptions, type ReadOnlyResult } from "./read-only.ts";

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
}

const SUBCOMMANDS: Record<string, Subcommand> = {
  status: {
    operands: "words",
    flags: "sbzvu",
    long: ["short", "branch", "porcelain=?", "long", "show-stash", "ignored=?", "untracked-files=?", "no-renames"],
  },
  diff: { operands: "words", flags: "pwbRMCDz", valued: "UGS", long: DIFF_LONG },
  log: { operands: "words", flags: "pwbiMCz", valued: "nUGSL", number: true, long: [...DIFF_LONG, ...LOG_LONG] },
  show: { operands: "words", flags: "pwbsMCz", valued: "nU", number: true, long: [...DIFF_LONG, ...LOG_LONG] },
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
    flags: "arv",
    long: ["list", "all", "remotes", "show-current", "verbose", "sort=?", "no-color"],
  },
  tag: { operands: "none", flags: "l", long: ["list", "sort=?"] },
  remote: { operands: "none", flags: "v", long: ["verbose"] },
};

export function findGitReads(args: string[]): ReadOnlyResult {
  const rest = args[0] === "--no-pager" || args[0] === "--no-optional-locks" ? args.slice(1) : args;
  const [name = "", ...options] = rest;
  if (name === "stash" && options.join(" ") === "list") return { readOnly: true, reads: ["."], git: true };
  const table = Object.hasOwn(SUBCOMMANDS, name) ? SUBCOMMANDS[name] : undefined;
  if (!table) return { readOnly: false, why: `\`git ${name}\` is not a known read-only command` };
  const parsed = parseOptions(table, options);
  if ("why" in parsed) return { readOnly: false, why: `git ${name}: ${parsed.why}` };
  if (table.operands === "none" && parsed.operands.length > 0)
    return { readOnly: false, why: `git ${name}: an operand changes something` };
  // `git diff /etc/passwd x` compares any two files. A revision resolves to a harmless name inside the folder; what
  // follows the colon of `HEAD:file` is a path again.
  const words = parsed.operands.flatMap((word) => [word, ...word.split(":").slice(1)]).filter((word) => word !== "");
  return { readOnly: true, reads: [".", ...words], git: true };
}
