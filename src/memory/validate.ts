// What may be committed to a memory. One validator for tools, `letta memory commit`, background rewrites and the hooks
// for real git. It judges a change and not a state: what was wrong before in the same way is a warning, so that a memory
// made by other programs can still be edited.

import { createRedactor } from "@/lib/redactor.ts";
import { formatCount } from "@/lib/text.ts";
import { descriptionOf, type Field, isReadOnly, type MarkdownFile, parseMarkdown } from "./frontmatter.ts";
import {
  DESCRIPTION_CHARS,
  FILE_BYTES,
  MAX_FILE_BYTES,
  SYSTEM_FILE_BYTES,
  SYSTEM_TOKENS,
  SYSTEM_WARNING_TOKENS,
} from "./limits.ts";
import { isMarkdown, isSkillPath, isSystemPath, PERSONA_PATH } from "./places.ts";
import { countTokens } from "./tokens.ts";

export type ProblemKind =
  | "path"
  | "encoding"
  | "frontmatter"
  | "description"
  | "read_only"
  | "unknown_key"
  | "skill_layout"
  | "collision"
  | "size"
  | "persona"
  | "secret";

export interface Problem {
  /** In the repository. */
  path: string;
  /** 1-based; null when it is about the whole file. */
  line: number | null;
  kind: ProblemKind;
  /** Only errors stop a commit. */
  severity: "error" | "warning";
  problem: string;
  /** What to do about it. */
  fix: string;
}

/** Null content deletes. A rename is a deletion and a new file. */
export interface MemoryChange {
  path: string;
  content: Uint8Array | null;
  /** Default: what it was, of a new file no program. */
  mode?: "100644" | "100755";
}

export interface MemoryChanges {
  changes: readonly MemoryChange[];
  /** Every path of the commit that is changed. */
  paths: readonly string[];
  /** A file of that commit, null when it has none. */
  read(path: string): Promise<Uint8Array | null> | Uint8Array | null;
  /** A person's own doing, or a seed: `read_only` may be set, changed and overridden. Default false. */
  ownerMayOverride?: boolean;
  /** Takes secrets out of a text. Default: what is recognisable by its shape. */
  redact?(text: string): string;
}

const KNOWN_KEYS = new Set(["description", "read_only", "limit", "name", "tags", "updated", "source"]);

/** Errors first, then by path and line. */
export async function validateChanges(input: MemoryChanges): Promise<Problem[]> {
  const problems: Problem[] = [];
  const redact = input.redact ?? createRedactor([], { patterns: true }).redact;
  for (const { path, content } of input.changes) {
    const before = await input.read(path);
    const beforeFile = before && isMemoryFile(path) ? parseMarkdown(decodeLoosely(before)) : null;
    problems.push(...validatePath(path));
    if (!input.ownerMayOverride) problems.push(...validateProtection(path, content, beforeFile));
    if (content === null) continue;
    if (before === null && redact(path) !== path) {
      problems.push(error(path, "secret", "its name looks like a secret", "Give it another name."));
    }
    problems.push(...validateContent(path, content, beforeFile), ...findSecrets(path, content, before, redact));
  }
  problems.push(...collisionsOf(input), ...missingPersona(input), ...(await largeSystem(input)));
  return problems.sort(byImportance);
}

/** As shown to whoever wrote the change: one line per problem, with what to do. */
export function formatProblems(problems: readonly Problem[]): string {
  return problems
    .map(({ path, line, severity, problem, fix }) => {
      const place = line === null ? path : `${path}:${line}`;
      return `${place}: ${severity === "warning" ? "warning: " : ""}${problem}. ${fix}`;
    })
    .join("\n");
}

export function hasErrors(problems: readonly Problem[]): boolean {
  return problems.some(({ severity }) => severity === "error");
}

/** Files whose head is checked. */
function isMemoryFile(path: string): boolean {
  return isMarkdown(path) && !isSkillPath(path);
}

/** Backslashes, controls, and what is invisible or turns the reading direction: two such names would look the same. Joiners
 *  stay: scripts and emoji need them. */
const STRANGE_CHARACTER =
  /[\\\u0000-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff]/;

function validatePath(path: string): Problem[] {
  const problems: Problem[] = [];
  const segments = path.split("/");
  const strange =
    path.startsWith("/") ||
    STRANGE_CHARACTER.test(path) ||
    segments.some((segment) => ["", ".", ".."].includes(segment) || /^\.git[ .]*$/i.test(segment));
  if (strange) {
    problems.push(
      error(path, "path", "this name cannot be a file of a memory", "Use plain names, with `/` between folders."),
    );
  }
  if (/^(?:memory\/)?skills\/[^/]+\.md$/i.test(path)) {
    const folder = path.replace(/\.md$/i, "");
    problems.push(error(path, "skill_layout", "a skill is a folder", `Write it to ${folder}/SKILL.md.`));
  }
  return problems;
}

function validateProtection(path: string, content: Uint8Array | null, before: MarkdownFile | null): Problem[] {
  if (!isMemoryFile(path)) return [];
  if (before && isReadOnly(before)) {
    const what = content === null ? "be deleted or renamed" : "be changed";
    return [
      error(
        path,
        "read_only",
        `this file is read-only and cannot ${what}`,
        "Leave it, or ask the person to change it.",
      ),
    ];
  }
  if (content === null) return [];
  const field = parseMarkdown(decodeLoosely(content)).fields.find(({ key }) => key === "read_only");
  const had = before?.fields.find(({ key }) => key === "read_only");
  if (field && JSON.stringify(field.value) !== JSON.stringify(had?.value)) {
    const fix = had ? `Leave it at ${JSON.stringify(had.value)}.` : "Remove the line.";
    return [error(path, "read_only", "only the person may set read_only", fix, field.line)];
  }
  if (had && !field) {
    return [
      error(path, "read_only", "only the person may remove read_only", `Keep the line \`read_only: ${had.value}\`.`),
    ];
  }
  return [];
}

/** Of one file by itself. `before` is the head of its committed version. */
function validateContent(path: string, content: Uint8Array, before: MarkdownFile | null): Problem[] {
  const problems = validateSize(path, content);
  if (!isMarkdown(path)) return problems;
  const text = decodeStrictly(content);
  if (typeof text !== "string") {
    problems.push(error(path, "encoding", text.problem, "Save it as UTF-8."));
    return problems;
  }
  if (text.startsWith("\ufeff")) {
    problems.push(warning(path, "encoding", "it begins with a byte order mark", "Save it as UTF-8 without one."));
  }
  if (isMemoryFile(path)) problems.push(...validateHead(path, parseMarkdown(text), before));
  return problems;
}

function validateSize(path: string, { length }: Uint8Array): Problem[] {
  if (length > MAX_FILE_BYTES) {
    return [
      error(
        path,
        "size",
        `${formatCount(length)} bytes are too many for one file`,
        "Keep data outside the memory and note where it is.",
      ),
    ];
  }
  if (length > FILE_BYTES) {
    return [
      warning(path, "size", `${formatCount(length)} bytes are a lot for one file`, "Keep data outside the memory."),
    ];
  }
  if (length > SYSTEM_FILE_BYTES && isSystemPath(path)) {
    const fix = "Every request pays for it: move details to a file outside system/ and link it.";
    return [warning(path, "size", `${formatCount(length)} bytes are a lot for a file under system/`, fix)];
  }
  return [];
}

function validateHead(path: string, file: MarkdownFile, before: MarkdownFile | null): Problem[] {
  const example = "Begin the file with:\n---\ndescription: what it holds and when to read it\n---";
  // Was not there before either: whoever edits the body did not break it.
  const severity = before && descriptionOf(before) === null ? "warning" : "error";
  if (file.head === "none")
    return [{ ...error(path, "frontmatter", "the description at its beginning is missing", example), severity }];
  if (file.head === "unclosed") {
    return [
      {
        ...error(path, "frontmatter", "the second `---` line is missing", "Close the head with a line `---`.", 1),
        severity,
      },
    ];
  }
  const problems: Problem[] = [];
  const description = file.fields.find(({ key }) => key === "description");
  if (descriptionOf(file) === null) {
    const fix = "Say in one line what the file holds and when to read it.";
    const found = error(
      path,
      "description",
      description ? "the description is empty" : "there is no description",
      fix,
      description?.line ?? 1,
    );
    problems.push({ ...found, severity });
  } else if ((descriptionOf(file) ?? "").length > DESCRIPTION_CHARS) {
    problems.push(
      warning(path, "description", "the description is long", "Move details to the body.", description?.line),
    );
  }
  for (const line of file.strayLines) {
    problems.push(
      warning(path, "frontmatter", "this line of the head is no `key: value`", "Move it to the body.", line),
    );
  }
  return [...problems, ...validateKeys(path, file.fields)];
}

function validateKeys(path: string, fields: readonly Field[]): Problem[] {
  const problems: Problem[] = [];
  const seen = new Set<string>();
  for (const { key, line, lenient } of fields) {
    if (seen.has(key))
      problems.push(warning(path, "frontmatter", `\`${key}\` is there twice`, "Keep one of them.", line));
    seen.add(key);
    if (!KNOWN_KEYS.has(key)) {
      problems.push(warning(path, "unknown_key", `\`${key}\` means nothing here`, "It is kept as it is.", line));
    } else if (lenient) {
      problems.push(warning(path, "frontmatter", `the value of \`${key}\` is no YAML`, "Put it in quotes.", line));
    }
  }
  return problems;
}

/** A file and a folder of one name would be one tag of the prompt, and two files whose names differ in case are one file
 *  on many disks. */
export function findCollisions(change: {
  /** All there were. */
  paths: readonly string[];
  added: readonly string[];
  deleted: readonly string[];
}): Problem[] {
  const { paths, added } = change;
  const known = new Set(paths);
  if (added.every((path) => known.has(path))) return [];
  const deleted = new Set(change.deleted);
  const after = new Set([...paths.filter((path) => !deleted.has(path)), ...added]);
  const files = new Map<string, string[]>();
  const folders = new Map<string, string>();
  for (const path of after) {
    push(files, fold(path), path);
    for (let at = path.indexOf("/"); at !== -1; at = path.indexOf("/", at + 1)) {
      folders.set(fold(path.slice(0, at)), path);
    }
  }
  const problems: Problem[] = [];
  for (const path of added) {
    if (known.has(path)) continue;
    const twin = files.get(fold(path))?.find((other) => other !== path);
    if (twin)
      problems.push(error(path, "collision", `it differs from ${twin} in case only`, "Use the file that is there."));
    // Skills are no part of the prompt: notes beside a folder of their name are how many of them are laid out.
    if (isSkillPath(path)) continue;
    const below = isMarkdown(path) && folders.get(fold(path.replace(/\.md$/i, "")));
    if (below) {
      problems.push(
        error(
          path,
          "collision",
          `a folder has this name (${below})`,
          "Give the file another name, or put it into the folder.",
        ),
      );
    }
    for (let at = path.indexOf("/"); at !== -1; at = path.indexOf("/", at + 1)) {
      const file = files.get(fold(`${path.slice(0, at)}.md`))?.[0];
      if (file)
        problems.push(
          error(
            path,
            "collision",
            `${file} has the name of its folder`,
            "Use another folder, or rename that file first.",
          ),
        );
    }
  }
  return problems;
}

function collisionsOf({ changes, paths }: MemoryChanges): Problem[] {
  const named = (isDeleted: boolean) =>
    changes.filter(({ content }) => (content === null) === isDeleted).map(({ path }) => path);
  return findCollisions({ paths, added: named(false), deleted: named(true) });
}

/** All of it is in every request; whoever adds to it hears what it costs by now. */
async function largeSystem({ changes, paths, read }: MemoryChanges): Promise<Problem[]> {
  const written = new Map(changes.map(({ path, content }) => [path, content?.length ?? 0]));
  const grown = changes.find(({ path, content }) => content !== null && isMarkdown(path) && isSystemPath(path));
  if (!grown) return [];
  const others = paths.filter((path) => isMarkdown(path) && isSystemPath(path) && !written.has(path));
  const sizes = others.map(async (path) => ({ path, bytes: (await read(path))?.length ?? 0 }));
  const files = [...(await Promise.all(sizes)), ...[...written].map(([path, bytes]) => ({ path, bytes }))];
  const { total_tokens } = countTokens(files);
  if (total_tokens <= SYSTEM_TOKENS) return [];
  const problem = `system/ takes about ${formatCount(total_tokens)} tokens of every request by now`;
  return [
    warning(
      grown.path,
      "size",
      problem,
      `Over ${formatCount(SYSTEM_WARNING_TOKENS)} the largest files are named instead of shown: move what is not always needed out of system/.`,
    ),
  ];
}

function missingPersona({ changes }: MemoryChanges): Problem[] {
  const deleted = changes.some(({ path, content }) => path === PERSONA_PATH && content === null);
  return deleted
    ? [error(PERSONA_PATH, "persona", "an agent cannot be without its persona", "Change its text instead.")]
    : [];
}

/** Lines that hold a credential and were not in the file before. */
function findSecrets(
  path: string,
  content: Uint8Array,
  before: Uint8Array | null,
  redact: (text: string) => string,
): Problem[] {
  if (content.length > MAX_FILE_BYTES || content.includes(0)) return [];
  const text = decodeLoosely(content);
  if (redact(text) === text) return [];
  const known = new Set(before ? decodeLoosely(before).split("\n") : []);
  const fix = "Store it with `letta secret set NAME` and write $NAME here.";
  const found = text
    .split("\n")
    .flatMap((line, index) =>
      !known.has(line) && redact(line) !== line
        ? [error(path, "secret", "this looks like a secret", fix, index + 1)]
        : [],
    );
  if (found.length > 0 || before !== null) return found;
  // Spread over several lines.
  return [error(path, "secret", "something in it looks like a secret", fix)];
}

function decodeStrictly(content: Uint8Array): string | { problem: string } {
  if ((content[0] === 0xff && content[1] === 0xfe) || (content[0] === 0xfe && content[1] === 0xff)) {
    return { problem: "it is UTF-16" };
  }
  if (content.includes(0)) return { problem: "it holds NUL bytes" };
  try {
    return STRICT.decode(content);
  } catch {
    return { problem: "it is not UTF-8" };
  }
}

/** The text of a file's bytes; what is no UTF-8 becomes the replacement character, a byte order mark stays. */
export function decodeLoosely(content: Uint8Array): string {
  return LOOSE.decode(content);
}

const STRICT = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
const LOOSE = new TextDecoder("utf-8", { ignoreBOM: true });

/** As disks that ignore case and composition compare names. */
function fold(path: string): string {
  return path.normalize("NFC").toLowerCase();
}

function push(map: Map<string, string[]>, key: string, value: string): void {
  const list = map.get(key);
  if (list) list.push(value);
  else map.set(key, [value]);
}

function byImportance(a: Problem, b: Problem): number {
  if (a.severity !== b.severity) return a.severity === "error" ? -1 : 1;
  if (a.path !== b.path) return a.path < b.path ? -1 : 1;
  return (a.line ?? 0) - (b.line ?? 0);
}

function error(path: string, kind: ProblemKind, problem: string, fix: string, line?: number): Problem {
  return { path, line: line ?? null, kind, severity: "error", problem, fix };
}

function warning(path: string, kind: ProblemKind, problem: string, fix: string, line?: number): Problem {
  return { ...error(path, kind, problem, fix, line), severity: "warning" };
}
