// .gitignore and info/exclude, as git reads them. Matching never backtracks over more than one star at a time: a pattern
// made to take long does not.

import { join } from "node:path";
import { readSmall } from "@/store/git-root.ts";

interface Rule {
  /** Of the pattern, between slashes. */
  segments: string[];
  /** Compared with the whole path, not with the last name only. */
  anchored: boolean;
  folderOnly: boolean;
  /** `!`: not ignored after all. */
  negated: boolean;
}

/** The rules of one file, for what is below its folder. */
export interface IgnoreRules {
  /** Ends with `/`, or is empty. */
  prefix: string;
  rules: Rule[];
}

/** Null when there is nothing in it. */
export function readIgnoreRules(file: string, prefix: string): IgnoreRules | null {
  const rules = parseIgnoreRules(readSmall(file) ?? "");
  return rules.length > 0 ? { prefix, rules } : null;
}

export function readFolderIgnoreRules(dir: string, prefix: string): IgnoreRules | null {
  return readIgnoreRules(join(dir, prefix, ".gitignore"), prefix);
}

/** `sources` from the outermost to the innermost; the last rule that matches decides. Whoever asks has asked about the
 *  folders above before: nothing in an ignored folder can be taken out of it. */
export function isIgnored(sources: readonly IgnoreRules[], path: string, isFolder: boolean): boolean {
  for (const { prefix, rules } of sources.toReversed()) {
    const names = path.slice(prefix.length).split("/");
    const decided = rules.findLast((rule) => (isFolder || !rule.folderOnly) && matchesRule(rule, names));
    if (decided) return !decided.negated;
  }
  return false;
}

function parseIgnoreRules(text: string): Rule[] {
  const rules: Rule[] = [];
  for (const raw of text.replace(/^\ufeff/, "").split(/\r?\n/)) {
    if (raw.startsWith("#")) continue;
    // Spaces at the end count only when escaped.
    let line = raw.replace(/(?<!\\) +$/, "").replace(/(?:\\ ) +$/, "\\ ");
    const negated = line.startsWith("!");
    if (negated) line = line.slice(1);
    const folderOnly = line.endsWith("/");
    if (folderOnly) line = line.slice(0, -1);
    const anchored = line.includes("/");
    if (line.startsWith("/")) line = line.slice(1);
    if (line === "" || line.length > 4_096) continue;
    rules.push({ segments: line.split("/"), anchored, folderOnly, negated });
  }
  return rules;
}

function matchesRule({ segments, anchored }: Rule, names: readonly string[]): boolean {
  return anchored ? matchesPath(segments, names) : matchesName(segments[0]!, names.at(-1)!);
}

/** `**` stands for any number of names; as the last one, for at least one. */
function matchesPath(segments: readonly string[], names: readonly string[]): boolean {
  let at = 0;
  let name = 0;
  let retry: { at: number; name: number } | null = null;
  while (name < names.length) {
    const segment = segments[at];
    if (segment === "**") {
      if (at === segments.length - 1) return true;
      retry = { at: ++at, name };
    } else if (segment !== undefined && matchesName(segment, names[name]!)) {
      at++;
      name++;
    } else if (retry) {
      at = retry.at;
      name = ++retry.name;
    } else return false;
  }
  return at === segments.length;
}

/** One name against one glob: `*`, `?`, `[a-z]`, `[!a]`, `\x`. */
function matchesName(glob: string, name: string): boolean {
  let at = 0;
  let index = 0;
  let retry: { at: number; index: number } | null = null;
  while (index < name.length) {
    const token = glob[at];
    if (token === "*") {
      while (glob[at] === "*") at++;
      retry = { at, index };
      continue;
    }
    const end = token === undefined ? -1 : matchOne(glob, at, name[index]!);
    if (end !== -1) {
      at = end;
      index++;
    } else if (retry) {
      at = retry.at;
      index = ++retry.index;
    } else return false;
  }
  while (glob[at] === "*") at++;
  return at === glob.length;
}

/** Where the glob goes on when its token at `at` takes the character; -1: it does not. */
function matchOne(glob: string, at: number, char: string): number {
  const token = glob[at]!;
  if (token === "?") return at + 1;
  if (token === "\\") return glob[at + 1] === char ? at + 2 : -1;
  if (token !== "[") return token === char ? at + 1 : -1;
  return matchClass(glob, at, char);
}

const CLASSES: Record<string, RegExp> = {
  alnum: /[A-Za-z0-9]/,
  alpha: /[A-Za-z]/,
  digit: /\d/,
  lower: /[a-z]/,
  upper: /[A-Z]/,
  punct: /[!-/:-@[-`{-~]/,
  space: /\s/,
  xdigit: /[0-9A-Fa-f]/,
};

function matchClass(glob: string, from: number, char: string): number {
  let at = from + 1;
  const negated = glob[at] === "!" || glob[at] === "^";
  if (negated) at++;
  let found = false;
  for (let first = true; glob[at] !== "]" || first; first = false) {
    if (at >= glob.length) return -1;
    const named = /^\[:([a-z]+):\]/.exec(glob.slice(at, at + 12));
    if (named) {
      found ||= CLASSES[named[1]!]?.test(char) ?? false;
      at += named[0].length;
      continue;
    }
    if (glob[at] === "\\") at++;
    const low = glob[at++] ?? "";
    let high = low;
    if (glob[at] === "-" && glob[at + 1] !== "]" && glob[at + 1] !== undefined) {
      at++;
      if (glob[at] === "\\") at++;
      high = glob[at++] ?? "";
    }
    found ||= low <= char && char <= high;
  }
  return found === negated ? -1 : at + 1;
}
