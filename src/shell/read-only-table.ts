// Programs that only read, as data: for each the options that may be given and what its operands are. An option that is
// not here asks. Nothing in these tables writes a file, starts a program, or reaches the network under any listed option.

import type { OptionTable } from "./options.ts";

export interface ReadOnlyCommand extends OptionTable {
  /** What operands are. `none`: any operand asks. */
  operands: "paths" | "text" | "none" | "pattern-then-paths";
  max?: number;
  /** What every operand must start with. */
  prefix?: string;
  /** What no operand may start with. */
  notPrefix?: string;
  /** Reads the working directory when no path is given. */
  readsCwd?: boolean;
  /** Harmless with any further words: names from elsewhere may be added (`xargs`). */
  anyWords?: boolean;
}

/** Whole commands. Not here: programs whose version switch reads the project (yarn, cargo, rustc), and process lists with
 *  environments. Their environment is scrubbed (hardened-env.ts). */
export const EXACT = new Set([
  ..."node --version|node -v|python3 --version|python --version|python3 -V|git --version|bun --version|deno --version|npm --version|npm -v|go version|go env GOVERSION|make --version|gcc --version|g++ --version|clang --version|bash --version|jq --version|rg --version|tar --version|docker --version|kubectl version --client|gh --version|java --version|ruby --version".split(
    "|",
  ),
  ..."ps|ps -e|ps -ef|ps ax|ps aux|docker version|docker info|npm ls|npm ls --all|npm list|nproc".split("|"),
  ..."letta --version|letta --help|letta agents list|letta tools list|letta permissions list".split("|"),
]);

const HASH: ReadOnlyCommand = { operands: "paths", flags: "bt", long: ["binary", "text", "tag"] };
const PLAIN_TEXT: ReadOnlyCommand = { operands: "text", anyWords: true };

// With `-r` it gets the exclusions of search-exclusions.ts: a folder holds files that ask when read one by one.
const GREP: ReadOnlyCommand = {
  operands: "pattern-then-paths",
  flags: "EFGPivwxcnlLoqshHbaIzyTr",
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
    "recursive",
  ],
  longValued: [
    "regexp",
    "after-context",
    "before-context",
    "context",
    "max-count",
    "include",
    "exclude",
    "exclude-dir",
  ],
};

export const COMMANDS: Record<string, ReadOnlyCommand> = {
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
  groups: { operands: "none" },
  free: { operands: "none", flags: "bkmghtw", long: ["human", "mega", "giga", "total", "wide"] },
  uname: { operands: "none", flags: "asrmnvpio" },
  date: {
    operands: "text",
    prefix: "+",
    flags: "uR",
    valued: "d",
    long: ["utc", "iso-8601=?", "rfc-email"],
    longValued: ["date"],
  },
  echo: { operands: "text", flags: "neE", anyWords: true },
  seq: { operands: "text", flags: "w", valued: "s" },
  sleep: { operands: "text", max: 1 },
  which: { operands: "text", flags: "a" },
  type: { operands: "text", flags: "atp" },
  whereis: { operands: "text", flags: "b" },
  basename: { operands: "text", flags: "az", valued: "s", anyWords: true },
  dirname: { operands: "text", flags: "z", anyWords: true },
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
    clusters: "flags",
    long: ["noreport", "dirsfirst", "gitignore"],
  },
  stat: {
    operands: "paths",
    flags: "Lft",
    valued: "c",
    long: ["dereference", "terse"],
    longValued: ["format", "printf"],
  },
  file: { operands: "paths", flags: "bhiLkrN", long: ["brief", "mime", "mime-type", "mime-encoding"] },
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
  rev: { operands: "paths" },
  cmp: { operands: "paths", max: 2, flags: "bls", valued: "n" },
  comm: { operands: "paths", max: 2, flags: "123iz", long: ["check-order", "nocheck-order", "total"] },
  od: { operands: "paths", flags: "abcdfovx", valued: "AtNj" },
  hexdump: { operands: "paths", flags: "bCcdovx", valued: "ns" },
  // A second operand is written.
  xxd: { operands: "paths", max: 1, clusters: "none", flags: "bpu", valued: "clsg" },
  // `@FILE` reads options and names of files from a file.
  strings: { operands: "paths", notPrefix: "@", flags: "af", valued: "n" },
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
  grep: GREP,
  egrep: GREP,
  fgrep: GREP,
  // Gets the exclusions, too: options bring hidden and ignored files back. `--pre` runs programs.
  rg: {
    operands: "pattern-then-paths",
    readsCwd: true,
    flags: "FivwxcnNlosSHIPUqp0u.",
    valued: "eABCmtTjdMg",
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
      "hidden",
      "no-heading",
      "no-ignore",
      "no-ignore-vcs",
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
      "glob",
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
  unexpand: { operands: "paths", flags: "a", valued: "t" },
  paste: { operands: "paths", flags: "sz", valued: "d" },
};
