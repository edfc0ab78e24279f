// The proof that a shell command only reads. It walks the plain commands in order, follows `cd`, writes out globs, opens
// harmless wrappers, and judges every file like the Read tool does. Its result is not only "yes" but the text it is true
// for: every word quoted, globs replaced, protective options added. Only that text may run without asking.

import { lstatSync } from "node:fs";
import { isAbsolute, resolve } from "node:path";
import { shellQuote } from "@/lib/text.ts";
import type { Redirect, Word } from "@/shell/ast.ts";
import { expandGlob } from "@/shell/expand-glob.ts";
import { parseShell } from "@/shell/parser.ts";
import { isHarmlessRedirect, type Plain, type PlainCommand, type PlainItem, toPlain } from "@/shell/plain.ts";
import { quoteIfNeeded } from "@/shell/quote.ts";
import { findReads, type ReadOnlyResult } from "@/shell/read-only.ts";
import { startsSecretName } from "@/shell/secret-names.ts";
import { innerScript, openWrapper } from "@/shell/wrappers.ts";
import { type GitRepository, gitPlace, resolvePhysically } from "@/store/git-root.ts";
import type { EffectiveRule } from "./decide.ts";
import { findNames, governsPlace, mayGovernBelow } from "./match.ts";
import { isInWorkspace, type Place, type Places, toPlace } from "./places.ts";
import { guardStores, protectStoresFromSearch, type ReadStep, readStep } from "./reads.ts";
import { formatRule } from "./rules.ts";
import type { PermissionReason } from "./types.ts";

export interface ProofContext {
  rules: EffectiveRule[];
  places: Places;
  git: GitFacts;
}

/** What is known about the repository of a directory. */
export interface GitFacts {
  /** Null where it might start something. Holds for a git that takes this place and looks for none itself. */
  harmless(cwd: string): GitRepository | "none" | null;
  /** Folders whose contents git may print there; null when those of other repositories, too. */
  sources(cwd: string): string[] | null;
  /** A folder with tracked files may be a link. */
  hasLinkedFolders(root: string): boolean;
  /** Its remotes have addresses with credentials. */
  showsCredentials(cwd: string): boolean;
}

interface Refusal {
  ok: false;
  reason: PermissionReason;
}

export type Proof =
  | {
      ok: true;
      /** What may run. */
      run: string;
      detail: string;
      /** Commits to the agent's own memory, too. */
      changesMemory?: boolean;
    }
  | Refusal;

interface JudgedGit {
  searched: string[];
  /** Assignments in front of the command. */
  place: string[];
}

type ProvenReads = Extract<ReadOnlyResult, { readOnly: true }>;

/** Where the next command may run. `moved`: some `cd` came before it. */
interface Where {
  directories: string[];
  moved: boolean;
}

/** There words mean something else. */
const IN_POWERSHELL = process.platform === "win32";
/** Files of one command that are looked at one by one. */
const MAX_READS = 512;
const MAX_GLOBS = 16;
/** Nested `bash -c`. */
const MAX_DEPTH = 4;

export function proveReadOnly(plain: Plain, cwd: string, context: ProofContext, options: WalkOptions = {}): Proof {
  if (!plain.ok) return refuse(`not analysed: ${plain.why}`);
  if (plain.odd !== "" && !options.covers) return refuse(`not analysed: ${plain.odd}`);
  const walk = new Walk(cwd, context, options);
  let run = "";
  for (const item of plain.items) {
    const proof = walk.item(item);
    if (!proof.ok) return proof;
    run += proof.run + (item.operator === "" ? "" : item.operator === "\n" ? "\n" : ` ${item.operator} `);
  }
  const names = [...walk.names].join(", ");
  const { changesMemory } = walk;
  const verb = walk.names.size > 1 ? "read" : "reads";
  const detail = changesMemory ? "it changes the agent's own memory only" : `${names} only ${verb}`;
  return { ok: true, run: run.trimEnd(), detail, ...(changesMemory && { changesMemory }) };
}

export interface WalkOptions {
  /** A rule covers the command, which then need not be proven. `directory` null: not known where it will run. */
  covers?(command: PlainCommand, directory: string | null): boolean;
  /** Learns what is neither covered nor proven, in the place of a refusal. */
  onOpen?(command: PlainCommand, reason: PermissionReason): void;
  onProven?(command: PlainCommand): void;
  /** Nested `bash -c`. */
  depth?: number;
}

/** Built-ins that change what the following commands mean: after them nothing is proven. */
const STATEFUL = new Set(
  "cd pushd popd export declare typeset local readonly alias unalias hash enable set shopt unset read mapfile readarray source . eval exec trap builtin command umask ulimit let".split(
    " ",
  ),
);

function refuse(detail: string, by = "shell"): Refusal {
  return { ok: false, reason: { by, detail } };
}

class Walk {
  readonly names = new Set<string>();
  changesMemory = false;
  #where: Where;
  /** Directories in which the next list may start: a `cd` that failed leaves the old one. */
  #possible: string[];
  /** After `||` a `cd` further left may have been skipped. */
  #skipped = false;

  /** A covered command may have changed what the next ones mean. */
  #changed = false;

  constructor(
    cwd: string,
    readonly context: ProofContext,
    readonly options: WalkOptions,
  ) {
    this.#where = { directories: [cwd], moved: false };
    this.#possible = [cwd];
  }

  item({ timed, commands, operator }: PlainItem): Proof {
    const parts: string[] = [];
    for (const command of commands) {
      const proof = this.#judge(command, commands.length, operator);
      if (!proof.ok) return proof;
      parts.push(proof.run);
    }
    if (operator !== "&&") {
      this.#where = { ...this.#where, directories: this.#possible };
      this.#skipped = operator === "||";
    }
    return { ok: true, run: (timed ? "time " : "") + parts.join(" | "), detail: "" };
  }

  #judge(command: PlainCommand, count: number, operator: PlainItem["operator"]): Proof {
    const name = command.words[0]!.text;
    const { covers, onOpen, onProven } = this.options;
    const [directory, ...others] = this.#where.directories;
    if (covers?.(command, this.#changed || others.length > 0 ? null : directory!)) {
      this.#changed ||= STATEFUL.has(name);
      return { ok: true, run: "", detail: "" };
    }
    const proof = this.#prove(command, count, operator);
    if (proof.ok) onProven?.(command);
    if (proof.ok || !onOpen) return proof;
    onOpen(command, proof.reason);
    this.#changed ||= STATEFUL.has(name);
    return { ok: true, run: "", detail: "" };
  }

  #prove(command: PlainCommand, count: number, operator: PlainItem["operator"]): Proof {
    if (IN_POWERSHELL) return refuse("not analysed: PowerShell");
    if (this.#changed) return refuse("a command before it may change what it means");
    const odd = command.words.find((word) => word.odd !== "")?.odd;
    if (odd !== undefined) return refuse(`not analysed: ${odd}`);
    return command.words[0]!.text === "cd" ? this.#cd(command, count, operator) : this.#command(command);
  }

  /** `cd DIRECTORY` to a place in the workspace that is the same by name and in fact. */
  #cd({ words, redirects }: PlainCommand, count: number, operator: PlainItem["operator"]): Proof {
    const [, target] = words;
    const { places } = this.context;
    if (count > 1 || words.length !== 2 || target!.kind !== "literal" || redirects.length > 0)
      return refuse("cd: not just one directory");
    const name = target!.text;
    if (name === "" || name.startsWith("-") || name.startsWith("~")) return refuse(`cd: ${name}`);
    const next: string[] = [];
    for (const directory of this.#where.directories) {
      const place = toPlace(name, directory, places);
      const byName = toPlace(resolve(directory, name), directory, places);
      if (place.real !== byName.real || !isInWorkspace(place, places))
        return refuse(`cd: ${name} is outside the workspace`);
      next.push(place.lexical);
    }
    this.#possible = [...new Set([...this.#possible, ...next])];
    const sure = operator === "&&" && !this.#skipped;
    const home = toPlace(places.cwd, "/", places).real;
    const stays = sure && next.every((directory) => toPlace(directory, "/", places).real === home);
    this.#where = { directories: sure ? next : this.#possible, moved: this.#where.moved || !stays };
    return { ok: true, run: `cd ${shellQuote(name)}`, detail: "" };
  }

  #command({ words, redirects }: PlainCommand): Proof {
    const argv = this.#expand(words);
    if (!argv) return refuse("a glob that stands for too much, or looks outside the workspace");
    const proof = this.#argv(argv);
    if (!proof.ok) return proof;
    const parts = [proof.run];
    for (const redirect of redirects) {
      const part = this.#redirect(redirect);
      if (typeof part !== "string") return part;
      parts.push(part);
    }
    return { ok: true, run: parts.join(" "), detail: "" };
  }

  /** Words with the names of files in the place of globs; null when that cannot be said. */
  #expand(words: Word[]): string[] | null {
    if (words.every(({ kind }) => kind === "literal")) return words.map(({ text }) => text);
    if (this.#where.directories.length > 1 || words.filter(({ kind }) => kind === "globbed").length > MAX_GLOBS)
      return null;
    const argv: string[] = [];
    for (const word of words) {
      const names = word.kind === "globbed" ? this.#names(word.pattern) : [];
      if (names === null) return null;
      argv.push(...(names.length > 0 ? names : [word.text]));
    }
    return argv;
  }

  /** Null also where looking for names would look outside of what may be read. */
  #names(pattern: string): string[] | null {
    const fixed = pattern.slice(0, pattern.search(/[*?]/));
    const folder = fixed.slice(0, fixed.lastIndexOf("/") + 1).replace(/\\([\s\S])/g, "$1");
    if (this.#mayRead([folder === "" ? "." : folder])) return null;
    return expandGlob(pattern, this.#where.directories[0]!);
  }

  #argv(argv: string[], outer: string[] = []): Proof {
    const name = argv[0]!;
    if (name === "command" && argv.length === 3 && argv[1] === "-v" && outer.length === 0)
      return { ok: true, run: argv.map(shellQuote).join(" "), detail: "" };
    const wrapped = openWrapper(argv);
    if (wrapped && outer.length < 32) return this.#argv(wrapped.inner, [...outer, ...wrapped.outer]);
    const script = innerScript(argv);
    if (script !== null) return this.#script(script, argv, outer);
    if (name.includes("/")) return refuse(`\`${name}\` is named by its path`);
    const found = findReads(argv, (path) => this.#exists(path));
    if (!found.readOnly) return refuse(found.why);
    this.names.add(name);
    this.changesMemory ||= found.changesMemory === true;
    if (found.filesOnly && this.#namesFolder(found.reads)) return refuse(`${name}: of folders`);
    const mayRead = this.#mayRead(found.reads, found.directory);
    if (mayRead) return { ok: false, reason: mayRead.reason };
    let place: string[] = [];
    let searched = found.searches?.where === "folders" ? found.reads : [];
    if (found.git) {
      const directory = this.#gitDirectory(found.directory);
      if (directory === null) return refuse("git in another directory than the command starts in");
      const sources = this.#judgeGit(found, directory);
      if ("ok" in sources) return sources;
      searched = sources.searched;
      place = sources.place;
    }
    const words = [...outer, ...found.run].map(quoteFirstBare);
    if (found.searches) {
      const { exclusions, behind } = found.searches;
      const names = this.#hiddenNames(searched);
      if ("ok" in names) return names;
      const more = names.flatMap(exclusions.forName).map(shellQuote);
      words.splice(words.length - behind, 0, exclusions.text, ...more);
    }
    return { ok: true, run: [...place, ...words].join(" "), detail: "" };
  }

  #script(script: string, argv: string[], outer: string[]): Proof {
    const [directory, ...others] = this.#where.directories;
    const { depth = 0 } = this.options;
    if (depth >= MAX_DEPTH || others.length > 0 || this.#where.moved) return refuse("a nested script");
    const inner = proveReadOnly(toPlain(parseShell(script)), directory!, this.context, { depth: depth + 1 });
    if (!inner.ok) return inner;
    this.names.add(argv[0]!);
    this.changesMemory ||= inner.changesMemory === true;
    const shell = argv[0] === "bash" ? ["bash", "--noprofile", "--norc", "-c"] : ["sh", "-c"];
    return { ok: true, run: [...outer, ...shell, inner.run].map(quoteFirstBare).join(" "), detail: "" };
  }

  /** Null when every path may be read from every directory this may run in. */
  #mayRead(paths: string[], below?: string): ReadStep | null {
    const { places, rules } = this.context;
    if (paths.length > MAX_READS)
      return { behavior: "ask", reason: { by: "shell", detail: "it names more files than are looked at" } };
    for (const start of this.#where.directories) {
      const directory = below === undefined ? start : isAbsolute(below) ? below : `${start}/${below}`;
      for (const path of below === undefined ? paths : [".", ...paths]) {
        const place = toPlace(path, directory, places);
        const step =
          guardStores(place, path, places) ??
          protectStoresFromSearch(place, path, places) ??
          readStep(place, path, places);
        if (step.behavior !== "allow") return step;
        const rule = rules.find((candidate) => hides(candidate) && governsPlace(candidate, place, places, true));
        if (rule) return { behavior: "ask", reason: ruleReason(rule) };
      }
    }
    return null;
  }

  /** Names that rules hide from a search; a refusal where more than names would have to be. */
  #hiddenNames(paths: string[]): string[] | Refusal {
    const { places } = this.context;
    const rules = this.context.rules.filter(hides);
    const names = new Set<string>();
    for (const directory of this.#where.directories) {
      for (const path of paths) {
        const place = toPlace(path, directory, places);
        if (startsSecret(place)) return refuse(`${path} may hold credentials`, "secret");
        if (!isFolder(place.real)) continue;
        for (const rule of rules) {
          const found = findNames(rule.payload ?? "");
          if (found) for (const name of found) names.add(name);
          else if (mayGovernBelow(rule, place, places))
            return { ok: false, reason: { ...ruleReason(rule), detail: `${path} may hold such files` } };
        }
      }
    }
    return [...names];
  }

  #exists(path: string): boolean {
    const [directory = "."] = this.#where.directories;
    try {
      return lstatSync(isAbsolute(path) ? path : `${directory}/${path}`, { throwIfNoEntry: false }) !== undefined;
    } catch {
      return false; // Not a name of a file.
    }
  }

  #namesFolder(paths: string[]): boolean {
    return paths.some((path) =>
      this.#where.directories.some((directory) => isFolder(toPlace(path, directory, this.context.places).real)),
    );
  }

  /** As git will find it; null when that is not sure. */
  #gitDirectory(below: string | undefined): string | null {
    const start = this.#where.directories[0]!;
    return this.#where.moved ? null : resolvePhysically(start, below ?? ".");
  }

  #judgeGit({ searches, tracked, addresses }: ProvenReads, directory: string): JudgedGit | Refusal {
    const { git } = this.context;
    const repository = git.harmless(directory);
    if (repository === null) return refuse("the configuration of this repository may make git run programs");
    if (addresses && git.showsCredentials(directory)) return refuse("addresses of remotes hold credentials", "secret");
    const prints = searches !== undefined || tracked !== undefined;
    const sources = prints ? git.sources(directory) : [];
    if (sources === null) return refuse("git prints what another repository holds");
    if (searches?.followsLinks && sources.some((root) => git.hasLinkedFolders(root)))
      return refuse("a folder of the repository may be a link that leads elsewhere");
    const place = Object.entries(gitPlace(repository)).map(([name, value]) => `${name}=${shellQuote(value)}`);
    // A path of a revision starts at the root, or where git runs.
    const named = (tracked ?? []).flatMap((path) => [directory, ...sources].map((base) => `${base}/${path}`));
    const step = this.#mayRead([...sources, ...named]);
    return step ? { ok: false, reason: step.reason } : { searched: sources, place };
  }

  #redirect(redirect: Redirect): string | Refusal {
    const { operator, fd, target } = redirect;
    if (isHarmlessRedirect(redirect)) return `${fd}${operator}${target.text}`;
    if (operator !== "<" || fd !== "") return refuse(`writes ${target.text}`);
    const step = this.#mayRead([target.text]);
    return step ? { ok: false, reason: step.reason } : `<${shellQuote(target.text)}`;
  }
}

/** Quoted like the others, a builtin is still found; a keyword no longer is one. */
function quoteFirstBare(word: string, index: number): string {
  return index === 0 ? quoteIfNeeded(word) : shellQuote(word);
}

/** What a rule forbids, or wants to be asked about, is not read without a question. */
function hides({ effect, tool }: EffectiveRule): boolean {
  return effect !== "allow" && tool === "Read";
}

function startsSecret({ lexical, real }: Place): boolean {
  return startsSecretName(lexical) || startsSecretName(real);
}

function isFolder(path: string): boolean {
  try {
    return lstatSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
  } catch {
    return true; // Not ours to look at: it may be one.
  }
}

function ruleReason(rule: EffectiveRule): PermissionReason {
  const text = formatRule(rule);
  return { by: "rule", detail: `${rule.effect} rule of ${rule.source} settings`, rule: text, source: rule.source };
}
