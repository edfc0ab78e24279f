// A skill's text as the model gets it: places and arguments filled in, in a tag of its own. The head stays in, because
// it may hold what the body relies on.

import { readdirSync } from "node:fs";
import { expandPlaceholder, splitWords } from "@/lib/arguments.ts";
import { parseMarkdown } from "@/memory/frontmatter.ts";
import type { Skill } from "./types.ts";

export interface RenderedSkill {
  /** Whole, wrapped. */
  text: string;
  /** The arguments found no place in it. */
  unusedArgs: string;
}

/** A backslash before one that would be filled in says that it is meant as it stands. */
const PLACEHOLDERS = /(\\?)(<SKILL_DIR>|\$\{CLAUDE_SKILL_DIR\}|\$ARGUMENTS\b|\$[1-9](?!\d))/g;
/** Fenced and inline code, in which `$1` is what it looks like. */
const CODE = /^(?: {0,3})(`{3,}|~{3,})[\s\S]*?^ {0,3}\1[^\n]*$|`[^`\n]+`/gm;

/** `text`: the whole SKILL.md. */
export function renderSkill(
  skill: Pick<Skill, "id" | "folder" | "argumentHint">,
  text: string,
  args: string,
): RenderedSkill {
  const plain = text.replace(/^\ufeff/, "");
  const trimmed = args.trim();
  const words = splitWords(trimmed);
  const { bodyStart } = parseMarkdown(plain);
  const code = skill.argumentHint === null ? codeSpans(plain) : [];
  let used = false;
  // One pass: what is filled in is not looked at again.
  const filled = plain.replace(PLACEHOLDERS, (whole: string, escaped: string, token: string, offset: number) => {
    const isFolder = token === "<SKILL_DIR>" || token.startsWith("${");
    const isArgument = offset >= bodyStart && (token === "$ARGUMENTS" || isWanted(skill, trimmed, code, offset));
    if (!isFolder && !isArgument) return whole;
    if (escaped !== "") return token;
    if (isFolder) return skill.folder;
    used = true;
    return expandPlaceholder(token, trimmed, words);
  });
  const note = hasCompanions(skill.folder) ? `# Skill Directory: ${skill.folder}\n\n` : "";
  return { text: wrapSkill(skill.id, `${note}${filled}`), unusedArgs: used ? "" : trimmed };
}

/** `$1` is also how shells and awk write things: a skill that names no arguments means it only in prose, and only when
 *  some were given. */
function isWanted(
  { argumentHint }: Pick<Skill, "argumentHint">,
  args: string,
  code: [number, number][],
  offset: number,
): boolean {
  if (argumentHint !== null) return true;
  return args !== "" && !code.some(([start, end]) => offset >= start && offset < end);
}

function codeSpans(text: string): [number, number][] {
  return [...text.matchAll(CODE)].map((match) => [match.index, match.index + match[0].length]);
}

/** In `<id>` where that is a name for a tag, else in `<skill name="…">`. */
export function wrapSkill(id: string, text: string): string {
  const body = text.endsWith("\n") ? text : `${text}\n`;
  if (/^[A-Za-z_][\w.-]*$/.test(id)) return `<${id}>\n${body}</${id}>`;
  const name = id.replaceAll("&", "&amp;").replaceAll('"', "&quot;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
  return `<skill name="${name}">\n${body}</skill>`;
}

function hasCompanions(folder: string): boolean {
  try {
    return readdirSync(folder).some((name) => name.toUpperCase() !== "SKILL.MD" && !name.startsWith("."));
  } catch {
    return false; // Nothing can be named that cannot be listed.
  }
}
