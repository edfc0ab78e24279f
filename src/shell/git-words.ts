// Operands of git commands that print contents of files: which are revisions, which are paths, and the same command with
// pathspecs that keep secrets out of what it prints. Words behind `--` are paths whatever they look like, so what is left
// out is left out even where a word was misjudged.

import type { ParsedOptions } from "./options.ts";
import type { Exists, ReadOnlyResult } from "./read-only.ts";
import { GIT_EXCLUSIONS } from "./search-exclusions.ts";

export interface Print extends ParsedOptions {
  /** Options of ours. */
  injected: readonly string[];
  exists: Exists;
}

/** What takes the place of the ordinary answer. */
export type Limited = Partial<Extract<ReadOnlyResult, { readOnly: true }>> | { why: string };

/** Stands for the whole repository, also in a folder of it. */
const EVERYTHING = ":/";
/** With paths, git leaves out commits that do not touch them: these bring them back, without a diff. */
const ALL_COMMITS = ["--full-history", "--sparse"];
const FROM_REPOSITORY = { where: "repository", exclusions: GIT_EXCLUSIONS, behind: 0 } as const;

export function toLimited(name: string, print: Print): Limited {
  const { given, injected, options } = print;
  // It takes exactly one path.
  if (given.has("follow")) return { why: "contents under former names" };
  const pattern = name === "grep" && !given.has("e") ? print.operands.slice(0, 1) : [];
  if (name === "grep" && !given.has("e") && (pattern.length === 0 || print.beforeDashes === 0))
    return { why: "without a pattern" };
  const { revisions, paths } = splitOperands(print, pattern.length);
  const limited = revisions.map(toCommits);
  // `HEAD:folder`: names below it would be matched as if it were the root.
  if (!limited.every((revision) => revision !== null)) return { why: "of what is not a commit" };
  const all = paths.length === 0 && name !== "diff" && name !== "grep" ? ALL_COMMITS : [];
  const start = [name, ...injected, ...options, ...all, ...pattern, ...limited];
  const searches = name === "grep" ? ({ ...FROM_REPOSITORY, followsLinks: true } as const) : FROM_REPOSITORY;
  return { run: [...start, "--", ...orEverything(paths)], searches };
}

/** `git show` and `git cat-file -p`, which print whatever an operand is. `REVISION:PATH` is judged as that path. */
export function toShown(name: "show" | "cat-file", print: Print, printsContents: boolean): Limited {
  const { revisions, paths } = splitOperands(print, 0);
  const tracked: string[] = [];
  const shown: string[] = [];
  for (const word of revisions) {
    const path = pathOf(word);
    if (path !== undefined) tracked.push(path);
    const commits = path === undefined ? toCommits(word) : word;
    // A number alone may be that of any file; asked for its type, git would refuse what it would otherwise print.
    if (commits === null || (name === "cat-file" && commits !== word)) return { why: "of what is not a commit" };
    shown.push(commits);
  }
  if (name === "cat-file") return paths.length > 0 ? { why: "a path" } : { tracked };
  const { injected, options } = print;
  const start = [name, ...injected, ...options];
  if (!printsContents || (shown.length > 0 && shown.length === tracked.length))
    return { run: [...start, ...shown, ...(paths.length > 0 ? ["--", ...paths] : [])], tracked };
  const all = paths.length === 0 ? ALL_COMMITS : [];
  const run = [...start, ...all, ...shown, "--", ...orEverything(paths)];
  return { run, tracked, searches: FROM_REPOSITORY };
}

function orEverything(paths: string[]): string[] {
  return paths.length > 0 ? paths : [EVERYTHING];
}

/** Without `--`, paths begin with the first word that is a file or a pattern for files; git demands the same. */
function splitOperands({ operands, beforeDashes, exists }: Print, start: number) {
  const words = operands.slice(start);
  const isPath = (word: string) => exists(word) || (/[*?[]/.test(word) && !word.includes("{"));
  const found = beforeDashes === null ? words.findIndex(isPath) : beforeDashes - start;
  const count = found === -1 ? words.length : found;
  return { revisions: words.slice(0, count), paths: words.slice(count) };
}

/** What may be the number of an object, also as `git describe` writes it, before anything that goes on from there. */
const OBJECT = /^(\^?(?:[^~^@{}]*-g)?[0-9a-f]{4,64})(?=[~^@]|$)/i;

/** The same revision, or range, that cannot mean a file or a folder; null when that cannot be said. */
function toCommits(revision: string): string | null {
  if (revision === "" || revision.includes(":")) return null;
  return revision
    .split(/(\.{2,3})/)
    .map((part) => part.replace(OBJECT, "$1^{commit}"))
    .join("");
}

/** The path of `HEAD:path`, `:path`, `:0:path`. What is written with `:/` or `:(` is something else, and no path of ours. */
function pathOf(word: string): string | undefined {
  return /^(?::[0-3]|[^:{}]*(?:\{[^:{}]*\}[^:{}]*)?):([^/(!^:][\s\S]*|)$/.exec(word)?.[1];
}
