// What "don't ask again" offers, and which flag would have answered a headless run. The narrowest rule that covers the
// call; never a prefix for programs that run other programs. All suggestions of one scope belong together: choosing a
// scope adds every rule of it.

import { dirname } from "node:path";
import { shellQuote } from "@/lib/text.ts";
import type { Word } from "@/shell/ast.ts";
import { baseName } from "@/shell/loose-words.ts";
import { parseShell } from "@/shell/parser.ts";
import { isHarmlessRedirect, type PlainCommand, toPlain } from "@/shell/plain.ts";
import { quoteIfNeeded } from "@/shell/quote.ts";
import { scanShell } from "@/shell/scan.ts";
import type { Decision } from "./decide.ts";
import { isInWorkspace, type Places, toPlace } from "./places.ts";
import { isSecret } from "./protected.ts";
import type { PermissionTarget, RuleSuggestion } from "./types.ts";

/** Rules of one compound command. */
const MAX_RULES = 5;

interface Offer {
  rule: string;
  description: string;
}

export function suggestRules(
  targets: { target: PermissionTarget; decision: Decision }[],
  places: Places,
  findOpen: FindOpen,
): RuleSuggestion[] {
  const open = targets.filter(({ decision }) => decision.behavior === "ask");
  if (open.some(({ decision }) => decision.always)) return [];
  const offers = open.map(({ target }) => offersFor(target, places, findOpen));
  // One part that cannot be remembered would ask again anyway.
  if (offers.some((list) => list.length === 0)) return [];
  const unique = [...new Map(offers.flat().map((offer) => [offer.rule, offer])).values()];
  if (unique.length > MAX_RULES) return [];
  const scopes = places.projectRoot === null ? (["session"] as const) : (["session", "local"] as const);
  return scopes.flatMap((scope) => unique.map(({ rule, description }) => ({ rule, scope, description })));
}

/** Undefined when no flag short of giving up all checks would help. */
export function findAllowFlag(
  targets: { target: PermissionTarget; decision: Decision }[],
  places: Places,
  findOpen: FindOpen,
): string | undefined {
  const open = targets.filter(({ decision }) => decision.behavior === "ask");
  if (open.some(({ decision }) => decision.always)) return undefined;
  if (open.every(({ target }) => isWorkspaceEdit(target, places))) return "--permission-mode acceptEdits";
  const rules = open.map(({ target }) => flagRule(target, places, findOpen));
  if (rules.some((rule) => rule === undefined)) return "--yolo";
  return `--allowedTools ${shellQuote([...new Set(rules)].join(","))}`;
}

function isWorkspaceEdit(target: PermissionTarget, places: Places): boolean {
  return (
    target.kind === "file" &&
    (target.family === "Write" || target.family === "Edit") &&
    isInWorkspace(toPlace(target.path, places.cwd, places), places)
  );
}

function offersFor(target: PermissionTarget, places: Places, findOpen: FindOpen): Offer[] {
  switch (target.kind) {
    case "file":
      return [fileOffer(target, places)];
    case "shell":
      return shellOffers(target, findOpen);
    case "url":
      return URL.canParse(target.url) ? [urlOffer(new URL(target.url).hostname)] : [];
    case "tool":
      return [toolOffer(target)];
    case "none":
      return [];
  }
}

function fileOffer(target: Extract<PermissionTarget, { kind: "file" }>, places: Places): Offer {
  const { family } = target;
  const verb = {
    Read: "reading",
    Write: "writing",
    Edit: "editing",
    Glob: "searching",
    Grep: "searching",
    ListDir: "listing",
  }[family];
  const place = toPlace(target.path, places.cwd, places);
  if (isSecret(place, places))
    return { rule: `${family}(/${escapeGlob(place.lexical)})`, description: `${verb} ${place.lexical}` };
  if (isInWorkspace(place, places)) return { rule: `${family}(**)`, description: `${verb} files of this project` };
  const folder = ["Read", "Write", "Edit"].includes(family) ? dirname(place.lexical) : place.lexical;
  return { rule: `${family}(/${escapeGlob(folder)}/**)`, description: `${verb} below ${folder}` };
}

function urlOffer(host: string): Offer {
  return { rule: `WebFetch(domain:${host})`, description: `fetching from ${host}` };
}

function toolOffer({ name, payload }: Extract<PermissionTarget, { kind: "tool" }>): Offer {
  if (payload === undefined) return { rule: name, description: `every use of ${name}` };
  return { rule: `${name}(${payload})`, description: `${name} for ${payload}` };
}

/** Verbs whose effect cannot be taken back: asked each time. */
const DANGEROUS = new Set(
  "rm rmdir mv chmod chown sudo doas su dd mkfs fdisk kill killall pkill shred truncate reboot shutdown".split(" "),
);
/** Programs that run what their arguments say: only the exact command can be remembered. */
const EXECUTORS = new Set(
  "bash sh zsh dash ksh fish python python3 node deno bun ruby perl php lua env xargs ssh docker podman kubectl curl wget npx bunx uvx make awk gawk find sed tee eval exec nohup timeout nice time command watch parallel".split(
    " ",
  ),
);
/** Subcommands of git that may be remembered with any arguments. Not here: what runs programs named by an option
 *  (fetch, rebase, bisect, submodule, …), changes configuration, or publishes. */
const GIT_PREFIXES = new Set(
  "add commit checkout switch restore stash merge branch tag mv status log diff show blame".split(" "),
);
const PACKAGE_RUNNERS = new Set(["npm", "pnpm", "yarn", "bun"]);

/** Which commands of a plain text neither rules nor a proof allow. */
export type FindOpen = (command: string, cwd: string) => PlainCommand[];

function shellOffers(
  { command, cwd, typed }: Extract<PermissionTarget, { kind: "shell" }>,
  findOpen: FindOpen,
): Offer[] {
  if (typed) return [toolOffer({ kind: "tool", name: typed.tool, args: {} })];
  const parse = parseShell(command);
  if (scanShell(command, parse).commands.some(({ argv }) => isDangerous(argv))) return [];
  const plain = toPlain(parse);
  const commands = plain.ok ? plain.items.flatMap((item) => item.commands) : [];
  const redirected = commands.some(({ redirects }) => !redirects.every(isHarmlessRedirect));
  if (!plain.ok || redirected) return textOffer(command.trim());
  const offers = findOpen(command, cwd).map(({ words }) => wordsOffer(words));
  if (offers.some((offer) => offer === null)) return commands.length === 1 ? textOffer(command.trim()) : [];
  return offers as Offer[];
}

/** A star in a rule would be a wildcard, a line break or a parenthesis hard to see through. */
function textOffer(text: string): Offer[] {
  return /[\n()*]/.test(text) || text.length > 300 ? [] : [exactOffer(text)];
}

/** Of words that are only known when it runs, nothing exact can be remembered. */
function wordsOffer(words: Word[]): Offer | null {
  const argv = words.map(({ text }) => text);
  const offer = argvOffer(argv);
  return words.every(({ kind }) => kind === "literal") || offer.rule.endsWith(":*)") ? offer : null;
}

function argvOffer(argv: string[]): Offer {
  const [name = "", verb = "", third = ""] = argv;
  const program = baseName(name);
  if (EXECUTORS.has(program) || PACKAGE_RUNNERS.has(program)) return exactOffer(formatWords(argv));
  if (program === "git" && GIT_PREFIXES.has(verb)) return prefixOffer(`${name} ${verb}`);
  if (program === "gh" && /^[a-z-]+$/.test(verb) && /^[a-z-]+$/.test(third) && verb !== "api")
    return prefixOffer(`${name} ${verb} ${third}`);
  return exactOffer(formatWords(argv));
}

function isDangerous(argv: string[]): boolean {
  const program = baseName(argv[0] ?? "");
  return DANGEROUS.has(program) || isForced(program, argv);
}

/** `-f` means force only for these; `tail -f` and `grep -f` are ordinary. */
function isForced(program: string, argv: string[]): boolean {
  if (argv.some((word) => word === "--force" || word === "--hard" || word === "--force-with-lease")) return true;
  return (
    program === "git" &&
    /^(?:push|clean|checkout|branch)$/.test(argv[1] ?? "") &&
    argv.some((word) => /^-[a-zA-Z]*[fD]/.test(word))
  );
}

function exactOffer(text: string): Offer {
  return { rule: `Bash(${text})`, description: `exactly this command: ${text}` };
}

function prefixOffer(prefix: string): Offer {
  return { rule: `Bash(${prefix}:*)`, description: `commands that start with ${prefix}` };
}

/** Words in a form the rule parser reads back as the same words. A star in an argument would be a wildcard. */
function formatWords(argv: string[]): string {
  return argv.map(quoteIfNeeded).join(" ");
}

function flagRule(target: PermissionTarget, places: Places, findOpen: FindOpen): string | undefined {
  const offers = offersFor(target, places, findOpen);
  // Parentheses that do not balance would break the list apart.
  return offers.length > 0 && offers.every(({ rule }) => isBalanced(rule))
    ? offers.map(({ rule }) => rule).join(",")
    : undefined;
}

function isBalanced(rule: string): boolean {
  let depth = 0;
  for (const char of rule) {
    if (char === "(") depth += 1;
    if (char === ")") depth -= 1;
    if (depth < 0) return false;
  }
  return depth === 0;
}

function escapeGlob(path: string): string {
  return path.replace(/[*?[\]{}\\]/g, "\\$&");
}
