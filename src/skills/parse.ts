// What a SKILL.md says of itself. Reading is lenient: whoever wrote the file may have had another program in mind, so
// unknown keys are nobody's business, a wrong value costs that value, and only a file that is no skill at all is left
// out. Everything that is not as it should be is one problem with its line.

import { type Field, type MarkdownFile, oneLine, parseMarkdown } from "@/memory/frontmatter.ts";
import { MAX_COMPATIBILITY_CHARS, MAX_DESCRIPTION_CHARS, MAX_HEAD_BYTES, MAX_NAME_CHARS } from "./limits.ts";
import type { SkillFields, SkillProblem } from "./types.ts";

export interface ParsedSkill {
  /** Null when it cannot be used. */
  fields: SkillFields | null;
  problems: SkillProblem[];
}

export interface SkillOrigin {
  /** Absolute. */
  file: string;
  /** Its folder's path from the root: the id unless it says another. */
  id: string;
}

const NO_DESCRIPTION = "(no description)";

/** `text`: at least the head and what follows it up to the first paragraph. */
export function parseSkill(text: string, { file, id }: SkillOrigin): ParsedSkill {
  const reader = new FieldReader(file, parseMarkdown(text.replace(/\r\n?/g, "\n")));
  if (reader.markdown.head === "unclosed") {
    reader.problem(1, `the head has no closing --- (within ${MAX_HEAD_BYTES / 1024} KB)`, "error");
    return { fields: null, problems: reader.problems };
  }
  if (reader.markdown.head === "none") reader.problem(1, "there is no head (---, keys, ---)");
  const fields = reader.read(id);
  return { fields: isUsableId(fields.id) ? fields : reader.refuse(fields.id), problems: reader.problems };
}

class FieldReader {
  readonly problems: SkillProblem[] = [];

  constructor(
    private readonly file: string,
    readonly markdown: MarkdownFile,
  ) {}

  read(folderId: string): SkillFields {
    this.#checkHead();
    const id = this.#id(folderId);
    const label = this.#text("name");
    if (label !== null) this.#checkName(label, folderId);
    return {
      id,
      name: label ?? this.#text("title") ?? titleCase(id),
      description: this.#description(),
      whenToUse: this.#text("when_to_use") ?? this.#text("when-to-use"),
      argumentHint: this.#argumentHint(),
      modelInvocable: !(this.#boolean("disable-model-invocation") ?? false),
      userInvocable: this.#boolean("user-invocable") ?? true,
      category: this.#text("category"),
      tags: this.#words("tags"),
      license: this.#text("license"),
      compatibility: this.#limited("compatibility", MAX_COMPATIBILITY_CHARS),
      metadata: this.#metadata(),
      allowedTools: this.#rules(),
    };
  }

  problem(line: number | null, problem: string, level: SkillProblem["level"] = "warning"): void {
    this.problems.push({ file: this.file, line, problem, level });
  }

  refuse(id: string): null {
    this.problem(null, `${JSON.stringify(id)} cannot be a skill's name`, "error");
    return null;
  }

  #checkHead(): void {
    const { fields, strayLines } = this.markdown;
    for (const line of strayLines) this.problem(line, "this line is neither a key nor part of one");
    const seen = new Set<string>();
    for (const { key, line, lenient } of fields) {
      if (seen.has(key)) this.problem(line, `${key} is given twice; the last one counts`);
      seen.add(key);
      if (lenient && !READABLE_ANYWAY.test(key)) this.problem(line, `${key} is no YAML and was taken as text`);
    }
  }

  #id(folderId: string): string {
    const field = this.#find("id");
    const wanted = this.#text("id");
    if (wanted === null) return folderId;
    if (isUsableId(wanted)) return wanted;
    this.problem(field?.line ?? null, `id ${JSON.stringify(wanted)} cannot be used; the folder's name is`);
    return folderId;
  }

  /** The open format is stricter than we are: other programs may refuse the skill. */
  #checkName(name: string, folderId: string): void {
    const line = this.#find("name")?.line ?? null;
    const folder = folderId.split("/").at(-1);
    if (name.length > MAX_NAME_CHARS) this.problem(line, `name is longer than ${MAX_NAME_CHARS} characters`);
    if (!/^[a-z0-9]+(?:-[a-z0-9]+)*$/.test(name))
      this.problem(line, "name should be lower-case letters, digits and single hyphens");
    else if (name !== folder && folderId !== "root") this.problem(line, `name should be the folder's: ${folder}`);
  }

  #description(): string {
    const given = this.#limited("description", MAX_DESCRIPTION_CHARS);
    if (given !== null) return given;
    this.problem(this.#find("description")?.line ?? null, "there is no description");
    return firstParagraph(this.markdown.body) ?? NO_DESCRIPTION;
  }

  /** `[topic]` is a list for YAML, and what people write. */
  #argumentHint(): string | null {
    const value = this.#find("argument-hint")?.value;
    if (!Array.isArray(value)) return this.#text("argument-hint");
    return `[${value.map((item) => oneLine(String(item))).join(", ")}]`;
  }

  #limited(key: string, maxChars: number): string | null {
    const text = this.#text(key);
    if (text !== null && text.length > maxChars)
      this.problem(this.#find(key)?.line ?? null, `${key} is longer than ${maxChars} characters`);
    return text;
  }

  /** On one line; null when there is nothing, or no text. */
  #text(key: string): string | null {
    const field = this.#find(key);
    if (field === undefined || field.value === null || field.value === undefined) return null;
    if (typeof field.value === "object") {
      this.problem(field.line, `${key} should be a text`);
      return null;
    }
    return oneLine(String(field.value)) || null;
  }

  #boolean(key: string): boolean | undefined {
    const field = this.#find(key);
    if (field === undefined) return undefined;
    const word = String(field.value).trim().toLowerCase();
    if (word === "true" || word === "false") return word === "true";
    this.problem(field.line, `${key} should be true or false`);
    return undefined;
  }

  #words(key: string): string[] {
    const field = this.#find(key);
    if (field === undefined || field.value === null) return [];
    if (Array.isArray(field.value)) return field.value.map((item) => oneLine(String(item))).filter(Boolean);
    return (
      this.#text(key)
        ?.split(/[\s,]+/)
        .filter(Boolean) ?? []
    );
  }

  #metadata(): Record<string, string> {
    const field = this.#find("metadata");
    if (field === undefined || field.value === null) return {};
    if (typeof field.value !== "object" || Array.isArray(field.value)) {
      this.problem(field.line, "metadata should be keys with texts");
      return {};
    }
    return Object.fromEntries(
      Object.entries(field.value).map(([key, value]) => [
        key,
        oneLine(typeof value === "object" ? JSON.stringify(value) : String(value)),
      ]),
    );
  }

  /** `Bash(git log:*) Read`: at spaces and commas outside parentheses, or a list. */
  #rules(): string[] {
    const field = this.#find("allowed-tools");
    if (field === undefined || field.value === null) return [];
    if (Array.isArray(field.value)) return field.value.map((item) => oneLine(String(item))).filter(Boolean);
    return this.#text("allowed-tools")?.match(/[^\s,()]+(?:\([^)]*\))?/g) ?? [];
  }

  #find(key: string): Field | undefined {
    return this.markdown.fields.findLast((field) => field.key === key);
  }
}

/** Keys in which a colon is what people mean by it. */
const READABLE_ANYWAY = /^(?:description|when[_-]to[_-]use|argument-hint|compatibility|allowed-tools)$/;

/** A path of names without anything that could lead elsewhere, hide something, or end a line. */
function isUsableId(id: string): boolean {
  return (
    id.length <= 200 &&
    /^[\p{L}\p{N}_][\p{L}\p{M}\p{N} ._+@-]*(?:\/[\p{L}\p{N}_][\p{L}\p{M}\p{N} ._+@-]*)*$/u.test(id) &&
    id.split("/").every((part) => part.trim() === part)
  );
}

/** `web/scraper-kit` → `Scraper Kit`. */
function titleCase(id: string): string {
  const words = (id.split("/").at(-1) ?? id).split(/[-_\s]+/).filter(Boolean);
  return words.map((word) => `${word[0]?.toUpperCase()}${word.slice(1)}`).join(" ");
}

/** Headings say what a text is called, not what it says. */
function firstParagraph(body: string): string | null {
  const blocks = body.split(/\n\s*\n/).map((block) => block.trim());
  const block = blocks.map((text) => text.replace(/^(?:#{1,6} [^\n]*(?:\n|$))+/, "").trim()).find(Boolean);
  return block ? oneLine(block) : null;
}
