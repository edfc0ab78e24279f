// Searches that walk folders, and git, meet files that ask when they are read one by one. What is allowed without asking
// leaves them out: these options are added to the command that runs. The last option that matches wins, so they stand
// behind what was given.

import { shellQuote } from "@/lib/text.ts";
import { SECRET_NAMES } from "./secret-names.ts";

export interface Exclusions {
  /** For what is secret by its name: words, and the same as shell text, which is long and always the same. */
  always: readonly string[];
  text: string;
  /** For a name that a rule of the user hides, at any depth, and all below it. */
  forName(name: string): string[];
}

/** grep knows names only, so a longer one is left out by a part of it: the first, unless projects use that name, too. */
const COMMON_NAMES = new Set(["library"]);
const NAMES = [
  ...new Set(SECRET_NAMES.map((name) => name.split("/").find((segment) => !COMMON_NAMES.has(segment)) ?? name)),
];

export const GREP_EXCLUSIONS = exclusions(NAMES, (name) => {
  const folded = name.replace(/[a-z]/gi, (letter) => `[${letter.toLowerCase()}${letter.toUpperCase()}]`);
  return [`--exclude=${folded}`, `--exclude-dir=${folded}`];
});

export const RIPGREP_EXCLUSIONS = exclusions(SECRET_NAMES, (name) => [
  `--iglob=!${name.includes("/") ? `**/${name}` : name}`,
]);

/** Pathspecs: they hold for the whole repository, wherever git is started, and for what it was in history. */
export const GIT_EXCLUSIONS = exclusions(SECRET_NAMES, (name) => [
  `:(top,exclude,icase,glob)**/${name}`,
  `:(top,exclude,icase,glob)**/${name}/**`,
]);

/** A glob for ripgrep that leaves files out, or names files by an ending: neither brings hidden ones back. */
export function isModestGlob(glob: string): boolean {
  return glob.startsWith("!") || /^(?:\*\*\/|[A-Za-z0-9_-]+\/)*\*\.(?:\w+|\{\w+(?:,\w+)*\})$/.test(glob);
}

function exclusions(names: readonly string[], forName: (name: string) => string[]): Exclusions {
  const always = names.flatMap(forName);
  return { always, text: always.map(shellQuote).join(" "), forName };
}
