// Commands that can destroy a machine, or that write where one write means that code runs later. They ask a person in
// every mode. Works on the over-approximation of `shell/scan.ts`: rather once too often.

import { posix } from "node:path";
import { enteredDirectories } from "@/shell/entered-directories.ts";
import { withoutGitOptions } from "@/shell/git-options.ts";
import { baseName, type LooseCommand } from "@/shell/loose-words.ts";
import { findReads } from "@/shell/read-only.ts";
import { openWrapper } from "@/shell/wrappers.ts";
import { expandHome, isInside, type Places, toPlace } from "./places.ts";
import { isProtected } from "./protected.ts";

/** Why a command must be put to a person in every mode; null when nothing of the kind is in it. */
export function findBreaker(commands: LooseCommand[], cwd: string, places: Places): string | null {
  let looked = 0;
  const directories = directoriesOf(commands, cwd, places);
  for (const command of commands) {
    const { argv, writes } = command;
    const names = mayWrite(command) ? [...new Set(targetWords(argv))] : [];
    looked += (writes.length + names.length) * directories.length;
    if (looked > MAX_LOOKED) return "it names more files than are looked at";
    for (const directory of directories) {
      for (const file of writes)
        if (isWordProtected(file, directory, places)) return `writes the protected path ${file}`;
      const reason = argv.length === 0 ? null : breakerOf(baseName(argv[0]!), argv.slice(1), directory, places);
      if (reason) return reason;
      const target = names.find((name) => isWordProtected(name, directory, places));
      if (target !== undefined) return `${baseName(argv[0]!)} may write the protected path ${target}`;
    }
  }
  return null;
}

/** A relative name means a file of the directory a command went to. */
export function directoriesOf(commands: readonly LooseCommand[], cwd: string, places: Places): string[] {
  return enteredDirectories(
    commands,
    [cwd],
    (word, from) => toPlace(expandHome(word, places.home), from, places).lexical,
  );
}

/** `:(){ :|:& };:` and its cousins: a function that calls itself through a pipe. */
export function isForkBomb(command: string): boolean {
  const text = command.slice(0, 4_096);
  for (const { index, 0: opening } of text.matchAll(/\(\)\s*\{/g)) {
    const end = endOfName(text, index);
    let start = end;
    while (start > 0 && /[\w:.]/.test(text[start - 1]!)) start -= 1;
    const name = RegExp.escape(text.slice(start, end));
    const body = text.slice(index + opening.length).split("}", 1)[0]!;
    if (start < end && new RegExp(`${name}\\s*\\|\\s*${name}`).test(body)) return true;
  }
  return false;
}

/** Before blanks. */
function endOfName(text: string, from: number): number {
  let at = from;
  while (at > 0 && /\s/.test(text[at - 1]!)) at -= 1;
  return at;
}

/** Programs that give a copy the name of what they copy. */
const COPIERS = new Set("cp mv ln install rsync scp".split(" "));
/** Programs that save what they fetch under the last part of its address. */
const FETCHERS = new Set(["curl", "wget"]);
/** They only change the shell, or make an empty directory. */
const WRITES_NO_FILE = new Set(
  "cd pushd popd chdir export declare typeset local readonly set unset alias mkdir echo".split(" "),
);
/** Their first operand is a script, which is read. */
const RUNS_SCRIPT = /^(?:source|\.|(?:ba|z|da|k|a)?sh|python[\d.]*|node|bun|deno|ruby|perl|php)$/;
/** Their words may be programs that name files. */
const HAS_PROGRAM = /^(?:sed|[gmn]?awk|ed|ex|vim?|python[\d.]*|node|bun|deno|ruby|perl|php)$/;

/** Which option of which program names an output file is not looked up: whatever is not proven to only read may write
 *  every file it names. */
function mayWrite({ argv, suffix }: LooseCommand): boolean {
  if (suffix || argv.length < 2) return false;
  const name = baseName(argv[0]!);
  if (WRITES_NO_FILE.has(name)) return false;
  if (name === "git" && /^(?:add|stage|commit)$/.test(withoutGitOptions(argv)[1] ?? "")) return false;
  let proven = [name, ...argv.slice(1)];
  for (let opened = openWrapper(proven); opened; opened = openWrapper(proven)) proven = opened.inner;
  return !findReads(proven, () => false).readOnly;
}

/** Words of a command that may name files it writes: operands, values of options, what is glued to a short one. */
function targetWords(argv: readonly string[]): string[] {
  const name = baseName(argv[0]!);
  const script = RUNS_SCRIPT.test(name) && !argv[1]!.startsWith("-");
  const words = argv.slice(script ? 2 : 1);
  const targets = words.flatMap((word) => namedIn(word));
  if (HAS_PROGRAM.test(name))
    for (const word of words)
      targets.push(...word.split(/[\s'"`(),;>|{}]+/).flatMap((part) => [part, part.replace(/^.*?w/, "")]));
  if (FETCHERS.has(name))
    for (const word of words) if (word.includes("/")) targets.push(lastPart(word.replace(/[?#].*$/s, "")));
  if (COPIERS.has(name))
    for (const directory of [
      ".",
      ...words.slice(-1),
      ...words.flatMap((word) => /^(?:-t|--target-directory=)(.+)/.exec(word)?.[1] ?? []),
    ])
      targets.push(...words.map((word) => `${directory}/${lastPart(word)}`));
  return targets.filter((word) => word !== "" && word !== "-" && word !== "--");
}

function namedIn(word: string): string[] {
  // Where programs look for programs.
  if (word.includes("://") || /^[A-Z_]*PATH=/.test(word)) return [];
  const parts = [word];
  if (/^-[^-]/.test(word)) {
    parts.push(word.slice(2));
    // The last of a cluster: `-so.envrc`.
    const path = word.search(/[./~$]/);
    if (path > 2) parts.push(word.slice(path));
  }
  for (const separator of ["=", ":", "@"])
    if (word.includes(separator))
      parts.push(word.slice(word.indexOf(separator) + 1), word.slice(word.lastIndexOf(separator) + 1));
  return parts.filter((part) => !/^-/.test(part));
}

function lastPart(word: string): string {
  return word.replace(/\/+$/, "").replace(/^.*\//s, "");
}

/** Paths that are looked at for one call. */
const MAX_LOOKED = 1_024;

function breakerOf(name: string, args: string[], cwd: string, places: Places): string | null {
  if (name === "rm" || name === "rmdir" || name === "shred" || (name === "find" && args.includes("-delete"))) {
    const target = args.find((arg) => !arg.startsWith("-") && isVital(arg, cwd, places));
    if (target !== undefined) return `${name} of ${target}`;
  }
  if (name.startsWith("mkfs") || name === "wipefs" || name === "fdisk" || name === "parted")
    return `${name} formats disks`;
  if (name === "dd" && args.some((arg) => /^of=\/dev\/(?!null$|stdout$|stderr$)/.test(arg))) return "dd to a device";
  if (name === "git") return gitBreaker(args, cwd, places);
  if (name === "crontab" && !args.includes("-l")) return "crontab installs scheduled commands";
  return null;
}

function gitBreaker(args: string[], cwd: string, places: Places): string | null {
  const words = args.filter((arg) => !arg.startsWith("-"));
  if (args.includes("push")) {
    const forced = args.some((arg) => /^(?:-[a-z]*f[a-z]*|--force|--mirror)$/.test(arg) || /^\+/.test(arg));
    const refs = words.slice(words.indexOf("push") + 2);
    if (forced && (refs.length === 0 || refs.some((ref) => /(?:^|[:+/])(?:main|master|trunk|HEAD)$/.test(ref))))
      return "git push --force may rewrite the default branch";
  }
  if (args.includes("clean") && args.some((arg) => /^-[a-zA-Z]*[xX]/.test(arg))) {
    const target = words.slice(1).find((word) => isVital(word, cwd, places));
    if (target !== undefined) return `git clean of ${target}`;
  }
  return null;
}

/** The root, a top-level directory, the home directory, a direct child of it, or an ancestor of cwd; also as a glob. */
function isVital(word: string, cwd: string, places: Places): boolean {
  const path = expandHome(word, places.home)
    .replace(/\/(?:\.?\*+|\{.*\})$/, "")
    .replace(/^\*+$/, ".");
  if (/^[A-Za-z]:[/\\]?$/.test(path)) return true;
  const { lexical, real } = toPlace(path === "" ? "/" : path, cwd, places);
  const home = toPlace(places.home, "/", places).real;
  // `rm -rf *` in a project is ordinary; in the home directory it is not.
  return [lexical, real].some(
    (place) =>
      place === "/" ||
      posix.dirname(place) === "/" ||
      place === home ||
      (posix.dirname(place) === home && !word.includes("*")) ||
      (place !== cwd && isInside(cwd, place)),
  );
}

function isWordProtected(word: string, cwd: string, places: Places): boolean {
  return isProtected(toPlace(expandHome(word, places.home), cwd, places), places);
}
