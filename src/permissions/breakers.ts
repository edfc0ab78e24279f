// Commands that can destroy a machine, or that write where one write means that code runs later. They ask a person in
// every mode. Works on the over-approximation of `shell/scan.ts`: rather once too often.

import { posix } from "node:path";
import { enteredDirectories } from "@/shell/entered-directories.ts";
import { baseName, type LooseCommand } from "@/shell/loose-words.ts";
import { expandHome, isInside, type Places, toPlace } from "./places.ts";
import { isProtected } from "./protected.ts";

/** Why a command must be put to a person in every mode; null when nothing of the kind is in it. */
export function findBreaker(commands: LooseCommand[], cwd: string, places: Places): string | null {
  let looked = 0;
  const directories = directoriesOf(commands, cwd, places);
  for (const { argv, writes } of commands) {
    const names = writes.length + (argv.length > 1 && LOOKED_AT.has(baseName(argv[0]!)) ? argv.length : 0);
    looked += names * directories.length;
    if (looked > MAX_LOOKED) return "it names more files than are looked at";
    for (const directory of directories) {
      for (const file of writes)
        if (isWordProtected(file, directory, places)) return `writes the protected path ${file}`;
      const reason = argv.length === 0 ? null : breakerOf(baseName(argv[0]!), argv.slice(1), directory, places);
      if (reason) return reason;
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

const WRITERS = new Set(
  "cp mv tee ln install rsync truncate touch chmod chown sed perl patch curl wget rm unlink".split(" "),
);

const LOOKED_AT = new Set([...WRITERS, "rmdir", "shred", "find", "git"]);
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
  if (WRITERS.has(name)) {
    const target = args.find((arg) => !/^-|:\/\//.test(arg) && isWordProtected(arg.replace(/^of=/, ""), cwd, places));
    // Reading a protected file with `sed -n` or copying it elsewhere looks the same; a person can tell.
    if (target !== undefined && !(name === "sed" && !args.some((arg) => /^-[a-zA-Z]*i|^--in-place/.test(arg))))
      return `${name} may write the protected path ${target}`;
  }
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
