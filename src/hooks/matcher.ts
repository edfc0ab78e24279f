// Which tools a hook's matcher means.

/** Empty or `*` is every tool; else a case-sensitive regular expression for the whole name, or the name itself when it
 *  is no expression. A tool has the name it is known by here and the one the model calls it by; either will do. */
export function matchesTool(matcher: string, names: readonly string[]): boolean {
  if (matcher === "" || matcher === "*") return true;
  const expression = compile(matcher);
  return names.some((name) => expression?.test(name) ?? name === matcher);
}

function compile(matcher: string): RegExp | null {
  try {
    return new RegExp(`^(?:${matcher})$`);
  } catch {
    return null; // Not an expression: compared as it is.
  }
}
