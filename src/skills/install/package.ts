// A skill that was fetched, as a person is asked about it and as it will be installed.

import { LettaError } from "@/lib/errors.ts";
import { escapeDeceptive } from "@/lib/terminal-text.ts";
import { fieldValue, parseMarkdown } from "@/memory/frontmatter.ts";
import { parseSkill } from "../parse.ts";
import type { SkillFields, SkillProblem } from "../types.ts";
import { fetchLocal } from "./fetch-local.ts";
import { type FetchContext, fetchArchiveUrl, fetchClawhub, fetchGithub, fetchText } from "./fetch-remote.ts";
import { MAX_NAME_CHARS } from "./limits.ts";
import type { SkillPick } from "./pick.ts";
import { digestFiles, isPlainPath, type SkillFile, unsafe } from "./skill-files.ts";
import { formatSpec, type InstallSpec } from "./spec.ts";

export interface SkillPackage {
  /** Of its folder; safe as such everywhere. */
  name: string;
  /** Where it can be fetched again. */
  source: string;
  resolvedRef: string | null;
  files: SkillFile[];
  bytes: number;
  digest: string;
  fields: SkillFields;
  problems: SkillProblem[];
  risks: SkillRisks;
}

/** Why nobody but a person should say yes to it. */
export interface SkillRisks {
  /** Files that can be run. */
  scripts: string[];
  /** Texts that show something else than a model reads. */
  hidden: string[];
}

/** Null: nothing is newer than what `known` names. */
export async function fetchPackage(
  spec: InstallSpec,
  context: FetchContext,
  known: string | null = null,
): Promise<SkillPackage | null> {
  const picked = await fetchPick(spec, context, known);
  return picked && createPackage(picked, { source: formatSpec(spec), resolvedRef: picked.resolvedRef });
}

export function hasRisks({ scripts, hidden }: SkillRisks): boolean {
  return scripts.length + hidden.length > 0;
}

export function createPackage(
  { files, folder }: SkillPick,
  { source, resolvedRef }: { source: string; resolvedRef: string | null },
): SkillPackage {
  const text = skillText(files);
  const name = chooseName(text, folder);
  const { fields, problems } = parseSkill(text, { file: "SKILL.md", id: name });
  const fatal = problems.find(({ level }) => level === "error");
  if (!fields || fatal) throw unsafe(`its SKILL.md cannot be used: ${fatal?.problem ?? "it is no skill"}`);
  return {
    name,
    source,
    resolvedRef,
    files: files.toSorted((a, b) => (a.path < b.path ? -1 : 1)),
    bytes: files.reduce((sum, { content }) => sum + content.length, 0),
    digest: digestFiles(files),
    fields,
    problems,
    risks: findRisks(files),
  };
}

/** Safe as the name of a folder everywhere, and typed easily. */
export function isSkillName(name: string): boolean {
  return name.length <= MAX_NAME_CHARS && /^[A-Za-z0-9][A-Za-z0-9._-]*$/.test(name) && isPlainPath(name);
}

async function fetchPick(
  spec: InstallSpec,
  context: FetchContext,
  known: string | null,
): Promise<(SkillPick & { resolvedRef: string | null }) | null> {
  switch (spec.kind) {
    case "local":
      return { ...(await fetchLocal(spec.path)), resolvedRef: null };
    case "archive":
      return fetchArchiveUrl(spec.url, context);
    case "text":
      return fetchText(spec.url, context);
    case "clawhub":
      return fetchClawhub(spec, context, known);
    case "github":
    case "github_tree":
      return fetchGithub(spec, context, known);
  }
}

function skillText(files: readonly SkillFile[]): string {
  const file = files.find(({ path }) => /^skill\.md$/i.test(path));
  if (!file) throw new LettaError("not_found", "There is no SKILL.md");
  try {
    const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(file.content);
    if (!text.includes("\0")) return text;
  } catch {
    // As below.
  }
  throw unsafe("its SKILL.md is no UTF-8 text");
}

/** What it calls itself, where that can be a folder's name; a title with blanks leaves the choice to the folder. */
function chooseName(text: string, folder: string | null): string {
  const head = parseMarkdown(text);
  if (head.head !== "closed" && folder === null) throw unsafe("it has no head (---, keys, ---) that says its name");
  const given = fieldValue(head, "name");
  const name = typeof given === "string" || typeof given === "number" ? String(given).trim() : "";
  if (isSkillName(name)) return name;
  const isTitle =
    name === "" || (/[^A-Za-z0-9._-]/.test(name) && /^[\p{L}\p{N}][\p{L}\p{M}\p{N} '&,+()-]*$/u.test(name));
  if (isTitle && folder !== null && isSkillName(folder)) return folder;
  const shown = JSON.stringify(escapeDeceptive(name || (folder ?? "")).slice(0, 100));
  throw unsafe(`${shown} cannot be a skill's name (letters, digits, . _ -; at most ${MAX_NAME_CHARS})`);
}

function findRisks(files: readonly SkillFile[]): SkillRisks {
  return {
    scripts: files.filter(isRunnable).map(({ path }) => path),
    hidden: files.filter(isDeceptive).map(({ path }) => path),
  };
}

const RUNNABLE_NAME =
  /\.(?:sh|bash|zsh|fish|ps1|psm1|bat|cmd|com|exe|scr|msi|vbs|wsf|py|pyw|pyc|js|mjs|cjs|jsx|ts|mts|cts|tsx|rb|pl|pm|php|lua|r|jl|go|rs|swift|kts?|scala|clj|java|jar|class|wasm|so|dll|dylib|node|app|applescript|scpt|awk|tcl|exs?|nu)$/i;
const RUNNABLE_MAGIC = ["2321", "7f454c46", "4d5a", "cafebabe", "cffaedfe", "cefaedfe", "feedface", "feedfacf"];

/** A text in `scripts/` that says it is one is believed. */
function isRunnable({ path, content, executable }: SkillFile): boolean {
  if (executable || RUNNABLE_NAME.test(path)) return true;
  const start = Buffer.from(content.subarray(0, 4)).toString("hex");
  if (RUNNABLE_MAGIC.some((magic) => start.startsWith(magic))) return true;
  return /(?:^|\/)(?:scripts|bin)\//i.test(path) && !/\.(?:md|txt|json|ya?ml|toml|csv)$/i.test(path);
}

/** Marks that reorder text, letters nobody sees (but for the flags they make), and what a terminal obeys. */
const DECEPTIVE = /[\u202a-\u202e\u2066-\u2069\x1b\x9b]|[\u{e0000}-\u{e007f}]/u;
const FLAGS = /\u{1f3f4}[\u{e0030}-\u{e0039}\u{e0061}-\u{e007a}]{1,8}\u{e007f}/gu;

function isDeceptive({ content }: SkillFile): boolean {
  if (content.includes(0)) return false;
  return DECEPTIVE.test(new TextDecoder().decode(content).replace(FLAGS, ""));
}
