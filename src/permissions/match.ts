// Does a rule cover what a call wants to do? `strict` matching is for allow rules: everything must be covered, by name
// and in fact. `broad` matching is for deny, ask and alwaysAsk: anything that may be covered is.

import { join } from "node:path";
import { matchWildcards } from "@/lib/wildcard.ts";
import { expandGlob, matchesGlob } from "@/shell/expand-glob.ts";
import { withoutGitOptions } from "@/shell/git-options.ts";
import { baseName, unquoted } from "@/shell/loose-words.ts";
import { parseShell } from "@/shell/parser.ts";
import { type Plain, type PlainCommand, parsePlainWords, toPlain } from "@/shell/plain.ts";
import { type ShellScan, scanShell } from "@/shell/scan.ts";
import { expandBraces, matchName, matchSegments, splitPath } from "./glob.ts";
import { expandHome, fold, type Place, type Places, toPlace } from "./places.ts";
import { canonicalTool, type Rule } from "./rules.ts";
import type { PermissionTarget, TypedText } from "./types.ts";

type FileTarget = Extract<PermissionTarget, { kind: "file" }>;

// ── Files ───────────────────────────────────────────────────────────────────────────────────────────────────────────

/** Families a deny or ask rule also governs. Searching a folder reads it; editing and writing are one thing. */
const ALSO_GOVERNS: Record<string, string[]> = {
  Read: ["Grep", "Glob", "ListDir"],
  Edit: ["Write"],
  Write: ["Edit"],
};

export function allowsFile(rule: Rule, target: FileTarget, place: Place, places: Places): boolean {
  if (rule.tool !== target.family) return false;
  if (rule.payload === null) return true;
  const patterns = filePatterns(rule.payload, places, "strict");
  const covers = (path: string) => {
    const segments = splitPath(fold(path, places.caseInsensitive));
    return patterns.some((pattern) => matchSegments(pattern, segments));
  };
  return covers(place.lexical) && covers(place.real);
}

export function governsFile(rule: Rule, target: FileTarget, place: Place, places: Places): boolean {
  if (rule.tool !== target.family && !ALSO_GOVERNS[rule.tool]?.includes(target.family)) return false;
  const searches = target.family === "Grep" || target.family === "Glob" || target.family === "ListDir";
  return governsPlace(rule, place, places, searches);
}

/** `searches`: a rule about everything below a folder also stops a search of that folder. */
export function governsPlace(rule: Rule, place: Place, places: Places, searches = false): boolean {
  if (rule.payload === null || rule.payload === "**") return true;
  const patterns = filePatterns(rule.payload, places, "broad");
  const paths = place.lexical === place.real ? [place.lexical] : [place.lexical, place.real];
  return paths.some((path) => {
    const segments = splitPath(fold(path, places.caseInsensitive));
    const below = [...segments, "x"];
    return patterns.some((pattern) => matchSegments(pattern, segments) || (searches && matchSegments(pattern, below)));
  });
}

/** The files and folders a rule names without wildcards, a final `/**` aside; `isPattern`: it may mean others as well. */
export function namedPlaces({ payload }: Rule, places: Places): { paths: string[]; isPattern: boolean } {
  if (payload === null) return { paths: [], isPattern: false };
  const patterns = filePatterns(payload, places, "broad").map((pattern) =>
    pattern.at(-1) === "**" ? pattern.slice(0, -1) : pattern,
  );
  const named = patterns.filter((pattern) => pattern.every((part) => !/[*?[]/.test(part.replace(/\\./g, ""))));
  return {
    paths: named.filter(({ length }) => length > 0).map((parts) => `/${parts.join("/").replace(/\\(.)/g, "$1")}`),
    isPattern: named.length < patterns.length,
  };
}

/** Names at any depth that the rule is about, when it is about nothing else; null otherwise. */
export function findNames(payload: string): string[] | null {
  const names = expandBraces(payload)?.map((name) => /^(?:\*\*\/)?([\w.*@+-]+)\/?$/.exec(name)?.[1]);
  return names?.every((name) => name !== undefined && name !== "**") ? (names as string[]) : null;
}

/** Could the rule be about something in this folder? */
export function mayGovernBelow(rule: Rule, { lexical, real }: Place, places: Places): boolean {
  if (rule.payload === null) return true;
  const patterns = filePatterns(rule.payload, places, "broad");
  return [lexical, real].some((path) => {
    const segments = splitPath(fold(path, places.caseInsensitive));
    return patterns.some((pattern) => {
      const differs = pattern.findIndex(
        (part, at) => part === "**" || at >= segments.length || !matchName(part, segments[at]!),
      );
      return differs === -1 || differs >= segments.length || pattern[differs] === "**";
    });
  });
}

/** Absolute patterns of a payload: relative ones from cwd and the project root; without a slash, at any depth. */
function filePatterns(payload: string, places: Places, side: "strict" | "broad"): string[][] {
  const key = `${side} ${payload}`;
  const known = places.patterns.get(key);
  if (known) return known;
  // Too many alternatives: an allow rule covers nothing, a deny rule everything.
  const alternatives = expandBraces(payload) ?? (side === "broad" ? ["/**"] : []);
  const patterns = alternatives
    .flatMap((alternative) => absolutePatterns(alternative, places, side))
    .map((pattern) => splitPath(fold(pattern, places.caseInsensitive)));
  places.patterns.set(key, patterns);
  return patterns;
}

function absolutePatterns(pattern: string, places: Places, side: "strict" | "broad"): string[] {
  if (pattern.startsWith("//")) return withLinks(pattern.slice(1), places);
  if (pattern.startsWith("~/") || pattern === "~") return withLinks(expandHome(pattern, places.home), places);
  const bases = places.bases.map(escapeGlob);
  if (pattern.startsWith("/") || /^[A-Z]:\//.test(pattern))
    // Absolute; a deny rule may also have meant "from the project root", as .gitignore does.
    return [...withLinks(pattern, places), ...(side === "broad" ? bases.map((base) => base + pattern) : [])];
  const relative = pattern.replace(/^(?:\.\/)+/, "");
  const anyDepth = !relative.replace(/\/$/, "").includes("/") && !pattern.startsWith("./");
  if (anyDepth && side === "broad") return [`/**/${relative}`];
  return bases.map((base) => (anyDepth && relative !== "**" ? `${base}/**/${relative}` : join(base, relative)));
}

/** An absolute pattern names a place that may be reached through a link: its fixed part is resolved, too. */
function withLinks(pattern: string, places: Places): string[] {
  const segments = pattern.split("/");
  const fixed = segments.findIndex((segment) => /[*?[\\]/.test(segment));
  const head = segments.slice(0, fixed === -1 ? undefined : fixed).join("/") || "/";
  const tail = fixed === -1 ? [] : segments.slice(fixed);
  const { real } = toPlace(head, "/", places);
  return [pattern, [escapeGlob(real), ...tail].join("/")];
}

function escapeGlob(path: string): string {
  return path.replace(/[*?[\\]/g, "\\$&");
}

// ── Shell ───────────────────────────────────────────────────────────────────────────────────────────────────────────

/** What one command is, worked out once for all rules. */
export interface ShellCall {
  readonly command: string;
  /** Its commands, when it is plain. */
  readonly plain: Plain;
  /** Everything that may run. */
  readonly scan: ShellScan;
  /** Text without quotes, for what is not certain. */
  readonly flat: string;
  readonly typed?: TypedText | undefined;
}

/** The scan is only made when a rule or a program needs it; most checks do not. */
export function toShellCall(command: string, typed?: TypedText): ShellCall {
  const parse = parseShell(command);
  let [scan, flat]: [ShellScan | undefined, string | undefined] = [undefined, undefined];
  return {
    command,
    typed,
    plain: typed ? TYPED : toPlain(parse),
    get scan() {
      scan ??= scanShell(command, parse);
      // A program that is no shell may run what no shell would see in the text.
      if (typed) scan = { ...scan, uncertain: true, dynamic: scan.dynamic || typed.reshaped };
      return scan;
    },
    get flat() {
      flat ??= unquoted(command);
      return flat;
    },
  };
}

const TYPED: Plain = { ok: false, why: "typed into a running program" };

export function allowsEveryCommand(rule: Rule): boolean {
  return rule.tool === "Bash" && (rule.payload === null || [":*", "*", "**"].includes(rule.payload));
}

/** One simple command of the call. What is only known when it runs is covered by a wildcard, never by a word. */
export function allowsCommand(rule: Rule, { words }: PlainCommand): boolean {
  if (rule.tool !== "Bash") return false;
  const pattern = findShellPattern(rule);
  return (
    pattern !== null &&
    matchWords(
      pattern,
      words.map(({ kind, text }) => (kind === "literal" ? text : `\u0000${text}`)),
    )
  );
}

/** The identical text was allowed, whatever it means. */
export function allowsText(rule: Rule, command: string): boolean {
  return rule.tool === "Bash" && rule.payload !== null && rule.payload.trim() === command.trim();
}

export function governsShell(rule: Rule, call: ShellCall): boolean {
  if (rule.tool !== "Bash") return false;
  if (allowsEveryCommand(rule) || allowsText(rule, call.command)) return true;
  const pattern = findShellPattern(rule) ?? { words: looseWords(rule.payload), rest: true };
  if (pattern.words.length === 0) return true;
  const { commands, uncertain, globs } = call.scan;
  if (commands.some(({ argv }) => matchesByAnyName(pattern, argv) || renames(pattern, argv))) return true;
  if (uncertain && isMentioned(pattern, call.flat)) return true;
  // A file may be called `push`, and `git p*` mean `git push`.
  const spelled = pattern.words.slice(1).some((word) => globs.some((glob) => matchesGlob(glob, word)));
  return spelled && isMentioned(pattern, call.flat);
}

interface ShellPattern {
  words: string[];
  /** Further words may follow. */
  rest: boolean;
  /** The words as expressions that find them in any text; made when first needed. */
  mentions?: RegExp[];
}

/** Rules do not change: each is taken apart once. */
const shellPatterns = new WeakMap<Rule, { pattern: ShellPattern | null }>();

function findShellPattern(rule: Rule): ShellPattern | null {
  let known = shellPatterns.get(rule);
  if (!known) {
    known = { pattern: parseShellPattern(rule.payload) };
    shellPatterns.set(rule, known);
  }
  return known.pattern;
}

/** Null when the payload is not made of plain words. */
function parseShellPattern(payload: string | null): ShellPattern | null {
  if (payload === null) return { words: [], rest: true };
  const prefix = payload.endsWith(":*");
  const text = prefix ? payload.slice(0, -2) : payload;
  if (text.trim() === "") return { words: [], rest: true };
  const words = parsePlainWords(markWildcards(text))?.map((word) => word.replaceAll(STAR, "*"));
  return words ? { words, rest: prefix } : null;
}

/** `*` is no plain character: it is carried through the lexer as letters that no command contains. */
const STAR = "\ua66e\ua66e\ua66e";
/** What a quoted or escaped star becomes: literal, and kept apart from the wildcard. */
const LITERAL_STAR = "\ua66d\ua66d\ua66d";

function markWildcards(text: string): string {
  return text.replace(/'[^']*'|"[^"]*"|\\\*|\*/g, (piece) =>
    piece === "*" ? STAR : piece.replace(/\\?\*/g, LITERAL_STAR),
  );
}

function looseWords(payload: string | null): string[] {
  return unquoted(payload ?? "")
    .replace(/:\*$/, "")
    .split(/\s+/)
    .filter(Boolean);
}

/** `*` alone stands for any run of words, inside a word for any characters. */
function matchWords({ words, rest }: ShellPattern, argv: string[]): boolean {
  return matchWildcards(words, argv, {
    isWildcard: (word) => word === "*",
    matches: matchWord,
    prefix: rest,
    emptyEnd: true,
  });
}

function matchWord(pattern: string, word: string): boolean {
  if (!pattern.includes("*")) return pattern.replaceAll(LITERAL_STAR, "*") === word;
  return matchStars(pattern, word);
}

function matchStars(pattern: string, word: string): boolean {
  return matchName(pattern.replace(/[?[\\]/g, "\\$&").replaceAll(LITERAL_STAR, "\\*"), word);
}

function matchesByAnyName(pattern: ShellPattern, argv: string[]): boolean {
  if (matchWords(pattern, argv)) return true;
  const [name = "", ...args] = argv;
  const base = baseName(name);
  const plain = base === name ? argv : [base, ...args];
  if (base !== name && matchWords(pattern, plain)) return true;
  return base === "git" && args[0]?.startsWith("-") === true && matchWords(pattern, withoutGitOptions(plain));
}

/** A copy or a link under another name would run as what the rule is about: `ln -s /bin/rm x && ./x`. */
function renames({ words: [first = ""] }: ShellPattern, [name = "", ...args]: string[]): boolean {
  if (!/^(?:ln|cp|mv|install|hash)$/.test(baseName(name))) return false;
  return args.some((word) => /(?:^|\/)s?bin\/[^/]+$/.test(word) && matchWord(first, baseName(word)));
}

/** All words of the rule in order, or its first one where expansions could spell the rest. */
function isMentioned(pattern: ShellPattern, flat: string): boolean {
  pattern.mentions ??= pattern.words
    .filter((word) => word !== "*")
    .map((word) => new RegExp(`(?<![\\w.-])${RegExp.escape(word)}(?![\\w-])`));
  const [first] = pattern.mentions;
  if (!first?.test(flat)) return first === undefined;
  if (/[$`*?[{]/.test(flat)) return true;
  let rest = flat;
  return pattern.mentions.every((mention) => {
    const found = mention.exec(rest);
    if (found) rest = rest.slice(found.index + found[0].length);
    return found !== null;
  });
}

/** More words, and nobody looks at them one by one. */
const MAX_PATH_WORDS = 512;
const MAX_GLOBS = 16;

/** Words of a command that may name files: operands, values of options, redirect targets. Null when there are too many. */
export function pathWords({ scan, plain, flat }: ShellCall): string[] | null {
  const words = new Set<string>();
  for (const { argv, writes } of scan.commands) {
    for (let at = 1; at < argv.length; at++) addPathWord(words, argv[at]!);
    for (const file of writes) addPathWord(words, file);
    if (words.size > MAX_PATH_WORDS) return null;
  }
  // A file that is read from: `cat <.env`.
  if (plain.ok)
    for (const { commands } of plain.items)
      for (const { redirects } of commands) for (const { target } of redirects) addPathWord(words, target.text);
  if (scan.uncertain || !plain.ok) for (const word of flat.split(/[\s;|&<>()`]+/)) addPathWord(words, word);
  return words.size > MAX_PATH_WORDS ? null : [...words];
}

/** The files its globs stand for in a directory. Null when there are too many. */
export function globWords({ scan }: ShellCall, directory: string): string[] | null {
  const globs = [...new Set(scan.globs)];
  if (globs.length > MAX_GLOBS) return null;
  const words = new Set<string>();
  for (const pattern of globs) {
    const names = expandGlob(pattern, directory);
    if (!names) return null;
    for (const name of names) addPathWord(words, name);
    if (words.size > MAX_PATH_WORDS) return null;
  }
  return [...words];
}

function addPathWord(words: Set<string>, word: string): void {
  for (const part of splitOptionValue(word)) if (part !== "") words.add(part);
}

function splitOptionValue(word: string): string[] {
  // A long option's value stands behind `=`, a short one's may be glued to it.
  const parts = word.startsWith("--") ? [] : [word.startsWith("-") ? word.slice(2) : word];
  for (const separator of ["=", ":", "@"])
    if (word.includes(separator)) parts.push(word.slice(word.indexOf(separator) + 1));
  return parts;
}

// ── Everything else ─────────────────────────────────────────────────────────────────────────────────────────────────

/** `WebFetch(domain:example.com)`, `WebFetch(domain:*.example.com)`, `WebFetch(https://example.com/docs/*)`. */
export function coversUrl(rule: Rule, url: string, side: "strict" | "broad"): boolean {
  if (rule.tool !== "WebFetch") return rule.tool === "*" && rule.payload === null;
  if (rule.payload === null || rule.payload === "*") return true;
  const parsed = URL.canParse(url) ? new URL(url) : null;
  if (!parsed) return side === "broad";
  const domain = /^domain:(.+)$/.exec(rule.payload)?.[1]?.toLowerCase();
  const host = parsed.hostname.toLowerCase().replace(/\.$/, "");
  if (domain === undefined) return matchStarsIn(rule.payload, parsed.href) || rule.payload === parsed.href;
  return domain.startsWith("*.") ? host.endsWith(domain.slice(1)) : host === domain;
}

/** A `*` after the host only: `https://host/*` must not match `https://host.evil/`. */
function matchStarsIn(pattern: string, href: string): boolean {
  return /^[a-z]+:\/\/[^*/]+\//.test(pattern) && pattern.endsWith("*") && href.startsWith(pattern.slice(0, -1));
}

/** Tool names may use `*`; a payload is a subject (`Task(recall)`) or `key:value` on a top-level argument. */
export function coversTool(rule: Rule, target: Extract<PermissionTarget, { kind: "tool" }>): boolean {
  const named =
    rule.tool === canonicalTool(target.name) ||
    (rule.tool.includes("*") && matchStars(rule.tool, target.name)) ||
    (/^mcp__[^_]+(?:_[^_]+)*$/.test(rule.tool) && target.name.startsWith(`${rule.tool}__`));
  if (!named) return false;
  if (rule.payload === null || rule.payload === "*" || rule.payload === target.payload) return true;
  const [, key = "", value] = /^([\w-]+):([\s\S]*)$/.exec(rule.payload) ?? [];
  return value !== undefined && Object.hasOwn(target.args, key) && target.args[key] === value;
}
