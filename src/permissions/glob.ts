// Path globs of rules, in the manner of .gitignore: `*` and `?` stay inside one name, `**` crosses names, dotfiles are
// ordinary, a pattern that matches a directory covers what is below it. Matching takes at most the product of both
// lengths in time, whatever the pattern: rules may come from a repository nobody has looked at.

import { matchWildcards } from "@/lib/wildcard.ts";

/** Alternatives a pattern may have after `{a,b}` is written out. */
const MAX_ALTERNATIVES = 64;

/** Null when a brace expression has too many alternatives. */
export function expandBraces(pattern: string): string[] | null {
  const done: string[] = [];
  const open = [pattern];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const match =
      /^([^{}]*)\{([^{}]*,[^{}]*)\}([\s\S]*)$/.exec(next) ?? /^([\s\S]*)\{([^{}]*,[^{}]*)\}([\s\S]*)$/.exec(next);
    if (!match) done.push(next);
    else for (const option of match[2]!.split(",")) open.push(match[1]! + option + match[3]!);
    if (done.length + open.length > MAX_ALTERNATIVES) return null;
  }
  return done;
}

/** Both absolute and slash-separated. */
export function matchPath(pattern: string, path: string): boolean {
  return matchSegments(splitPath(pattern), splitPath(path));
}

export function splitPath(path: string): string[] {
  return path.split("/").filter((segment) => segment !== "" && segment !== ".");
}

/** The same for patterns and paths that `splitPath` took apart. */
export function matchSegments(pattern: string[], path: string[]): boolean {
  return matchWildcards(pattern, path, {
    isWildcard: (segment) => segment === "**",
    matches: matchName,
    // What a used-up pattern matched is a directory above, but `dir/**` is not `dir` itself.
    prefix: true,
    emptyEnd: false,
  });
}

/** One name without slashes. */
export function matchName(pattern: string, name: string): boolean {
  if (!/[*?[\\]/.test(pattern)) return pattern === name;
  return matchWildcards(tokenise(pattern), name, {
    isWildcard: (token) => token === "*",
    matches: (token, char) => token !== "*" && token.matches(char),
    prefix: false,
    emptyEnd: true,
  });
}

type Token = "*" | { matches(char: string): boolean };

function tokenise(pattern: string): Token[] {
  const tokens: Token[] = [];
  for (let at = 0; at < pattern.length; at++) {
    const char = pattern[at]!;
    if (char === "*") {
      if (tokens.at(-1) !== "*") tokens.push("*");
    } else if (char === "?") tokens.push({ matches: () => true });
    else if (char === "[") {
      const end = pattern.indexOf("]", at + 2);
      if (end === -1) tokens.push(literal("["));
      else {
        tokens.push(characterClass(pattern.slice(at + 1, end)));
        at = end;
      }
    } else tokens.push(literal(char === "\\" && at + 1 < pattern.length ? pattern[++at]! : char));
  }
  return tokens;
}

function literal(expected: string): Token {
  return { matches: (char) => char === expected };
}

function characterClass(body: string): Token {
  const negated = body[0] === "!" || body[0] === "^";
  const members = negated ? body.slice(1) : body;
  return { matches: (char) => isMember(members, char) !== negated };
}

function isMember(members: string, char: string): boolean {
  for (let at = 0; at < members.length; at++) {
    if (members[at + 1] === "-" && at + 2 < members.length) {
      if (members[at]! <= char && char <= members[at + 2]!) return true;
      at += 2;
    } else if (members[at] === char) return true;
  }
  return false;
}
