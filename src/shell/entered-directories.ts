// Where the commands of a text may go before they do something.

import { baseName, type LooseCommand } from "./loose-words.ts";

/** More are not followed. */
const MAX_DIRECTORIES = 16;
const OPTION = /^(?:-C|--(?:directory|prefix|cwd|dir|chdir))$/;
const GLUED = /^--(?:directory|prefix|cwd|dir|chdir)=(.+)$/s;

/** `cwd` and every directory that some `cd`, or an option of the kind, may lead to, in any order. `enter` resolves a word
 *  from a directory. Rather too many: whether a `cd` runs, and before what, is not looked at. */
export function enteredDirectories(
  commands: readonly LooseCommand[],
  starts: readonly string[],
  enter: (word: string, from: string) => string,
): string[] {
  const directories = new Set(starts);
  for (const word of commands.flatMap(({ argv }) => directoryWords(argv)))
    for (const from of [...directories]) {
      if (directories.size >= MAX_DIRECTORIES) return [...directories];
      directories.add(enter(word, from));
    }
  return [...directories];
}

function directoryWords([name = "", ...args]: readonly string[]): string[] {
  if (/^(?:cd|pushd|chdir)$/.test(baseName(name))) return args.filter((word) => !/^[-+]/.test(word));
  return args.flatMap((word, index) => (OPTION.test(word) ? (args[index + 1] ?? []) : (GLUED.exec(word)?.[1] ?? [])));
}
