// File names a glob stands for. What is allowed without asking runs with these names in the place of the glob, so that
// every one of them has been judged, options included: a file may be called `-o`.

import { readdirSync, statSync } from "node:fs";
import { isAbsolute } from "node:path";
import { matchWildcards, type WildcardOptions } from "@/lib/wildcard.ts";

/** More names, or more directories to look into, and nothing is proven. */
const MAX_NAMES = 500;
const MAX_DIRECTORIES = 200;

/** Sorted by name; empty when nothing matches; null when there is too much to look at. */
export function expandGlob(pattern: string, cwd: string): string[] | null {
  if (pattern.includes("//")) return null;
  let found = [isAbsolute(pattern) ? "/" : ""];
  const foldersOnly = pattern.endsWith("/");
  let directories = 0;
  const segments = pattern.split("/").filter((segment) => segment !== "");
  for (const [index, segment] of segments.entries()) {
    const last = index === segments.length - 1;
    const suffix = last && !foldersOnly ? "" : "/";
    if (!isGlob(segment)) {
      found = found.map((prefix) => prefix + segment.replace(/\\([\s\S])/g, "$1") + suffix);
      continue;
    }
    const matches = toMatcher(segment);
    const next: string[] = [];
    for (const prefix of found) {
      if (++directories > MAX_DIRECTORIES) return null;
      for (const entry of list(isAbsolute(prefix) ? prefix : `${cwd}/${prefix}`))
        if (
          matches(entry) &&
          (!last || !foldersOnly || isFolder(prefix + entry, cwd)) &&
          next.push(prefix + entry + suffix) > MAX_NAMES
        )
          return null;
    }
    found = next;
  }
  return found.sort();
}

/** Also behind a link, as for a shell. */
function isFolder(path: string, cwd: string): boolean {
  try {
    return statSync(isAbsolute(path) ? path : `${cwd}/${path}`).isDirectory();
  } catch {
    return false; // A link to nowhere.
  }
}

function isGlob(segment: string): boolean {
  return /(?:^|[^\\])(?:\\\\)*[*?]/.test(segment);
}

/** Could this one name replace the glob? */
export function matchesGlob(pattern: string, name: string): boolean {
  if (name.includes("/") || pattern.includes("/")) return false;
  // What stands before and behind everything special must be there as it is.
  const start = pattern.search(/[*?\\]/);
  if (start === -1) return pattern === name;
  const end = Math.max(pattern.lastIndexOf("*"), pattern.lastIndexOf("?"), pattern.lastIndexOf("\\") + 1);
  if (!name.startsWith(pattern.slice(0, start)) || !name.endsWith(pattern.slice(end + 1))) return false;
  return toMatcher(pattern)(name);
}

type Token = { char: string } | "*" | "?";

/** As without `dotglob`: a leading dot must be written. Not a regular expression: every command brings its own globs, and
 *  compiling takes longer than matching. */
function toMatcher(segment: string): (name: string) => boolean {
  const tokens: Token[] = [];
  let escaped = false;
  for (const char of segment) {
    if (!escaped && char === "\\") {
      escaped = true;
      continue;
    }
    tokens.push(!escaped && (char === "*" || char === "?") ? char : { char });
    escaped = false;
  }
  const dot = segment.startsWith(".");
  return (name) => (dot || !name.startsWith(".")) && matchWildcards(tokens, Array.from(name), MATCHING);
}

const MATCHING: WildcardOptions<Token, string> = {
  isWildcard: (token) => token === "*",
  matches: (token, char) => token === "?" || (token !== "*" && token.char === char),
  prefix: false,
  emptyEnd: true,
};

function list(directory: string): string[] {
  try {
    return readdirSync(directory);
  } catch {
    return []; // Not a directory, or not ours to read: the glob matches nothing in it.
  }
}
