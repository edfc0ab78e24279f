// The files hooks run. Whoever may write them decides what runs unasked and outside any sandbox at the next tool call,
// so writing one asks a person, whatever the mode. Rather a file too many: what such a file runs in turn (tests, a
// Makefile) is for its owner to think of.

import { isAbsolute, resolve } from "node:path";
import { enteredDirectories } from "@/shell/entered-directories.ts";
import { parseShell } from "@/shell/parser.ts";
import { scanShell } from "@/shell/scan.ts";
import type { ConfiguredHook } from "./config.ts";

export interface ScriptPlaces {
  cwd: string;
  projectRoot: string | null;
  home: string;
}

/** Absolute; existing or not. Every word of a command may be a file, in each directory the command may be in. */
export function hookScripts(hooks: readonly ConfiguredHook[], places: ScriptPlaces): string[] {
  const files = hooks.flatMap(({ definition, inert }) =>
    definition.type === "command" && inert === undefined ? scriptsOf(definition.command, places) : [],
  );
  return [...new Set(files)];
}

function scriptsOf(command: string, { cwd, projectRoot, home }: ScriptPlaces): string[] {
  const bases = [...new Set([cwd, projectRoot ?? cwd])];
  const below = (word: string, directories: string[]): string[] => {
    const path = expand(word, home);
    return isAbsolute(path) ? [path] : directories.map((base) => resolve(base, path));
  };
  const { commands } = scanShell(command, parseShell(command));
  const directories = enteredDirectories(commands, bases, (word, from) => below(word, [from])[0]!);
  const words = [...commands.flatMap(({ argv }) => wordsOf(argv)), ...looseWords(command)];
  return words.flatMap((word) => below(word, directories));
}

/** A program of PATH has no slash; what stands behind it is a file when it could be one. */
function wordsOf([name = "", ...args]: string[]): string[] {
  const values = args.flatMap((word) => (word.startsWith("-") ? (/^-[^=]*=(.+)$/.exec(word)?.[1] ?? []) : word));
  return [...(name.includes("/") ? [name] : []), ...values.filter((word) => FILE_NAME.test(word))];
}

const FILE_NAME = /^[^\n*?<>|;]{1,255}$/;

/** What the scan may see otherwise: pieces between quotes, assignments, redirects. */
function looseWords(command: string): string[] {
  const words = command.replace(/["']/g, "").split(/[\s|&;()<>`=]+/);
  return words.filter((word) => !word.startsWith("-") && (word.includes("/") || /\w\.\w+$/.test(word)));
}

/** A path that begins with the value of a variable or a command may be in any of the known directories. */
function expand(word: string, home: string): string {
  if (/^(?:~|\$\{?HOME\}?)(?=\/)/.test(word)) return word.replace(/^[^/]+/, () => home);
  return /^(?:\$\{?\w+[^/]*|\$\(.*\)|`.*`)\/(.+)$/s.exec(word)?.[1] ?? word;
}
