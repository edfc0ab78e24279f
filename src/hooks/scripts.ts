// The files hooks run. Whoever may write them decides what runs unasked and outside any sandbox at the next tool call,
// so writing one asks a person, whatever the mode.

import { isAbsolute, resolve } from "node:path";
import type { ConfiguredHook } from "./config.ts";

/** Absolute; existing or not. A word of a command counts when it looks like a file: it has a slash or an extension. */
export function hookScripts(
  hooks: readonly ConfiguredHook[],
  { cwd, projectRoot, home }: { cwd: string; projectRoot: string | null; home: string },
): string[] {
  const bases = [...new Set([cwd, projectRoot ?? cwd])];
  const words = hooks.flatMap(({ definition, inert }) =>
    definition.type === "command" && inert === undefined ? fileWords(definition.command) : [],
  );
  const expanded = words.map((word) =>
    word
      .replace(/^(?:~|\$\{?HOME\}?)(?=\/)/, () => home)
      .replace(/^\$\{?(?:LETTA_PROJECT_DIR)\}?(?=\/)/, () => projectRoot ?? cwd)
      .replace(/^\$\{?(?:LETTA_WORKING_DIR|USER_CWD|PWD)\}?(?=\/)/, () => cwd),
  );
  return [
    ...new Set(expanded.flatMap((word) => (isAbsolute(word) ? [word] : bases.map((base) => resolve(base, word))))),
  ];
}

function fileWords(command: string): string[] {
  // Quotes only glue: `"$LETTA_PROJECT_DIR"/check.sh` is one word.
  const words = command.replace(/["']/g, "").split(/[\s|&;()<>`=]+/);
  return words.filter((word) => !word.startsWith("-") && (word.includes("/") || /\w\.\w+$/.test(word)));
}
