// Arguments a person writes behind a command's name, and their places in a text.

/** Quotes group words, as people expect; nothing else is special. */
export function splitWords(args: string): string[] {
  return [...args.matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g)].map((match) => match[1] ?? match[2] ?? match[3] ?? "");
}

/** What stands for `$ARGUMENTS` or `$1` to `$9`. */
export function expandPlaceholder(token: string, args: string, words: readonly string[]): string {
  return token === "$ARGUMENTS" ? args : (words[Number(token[1]) - 1] ?? "");
}
