// What keeps a skill from being one everywhere: stricter than loading it, which takes what there is.

import { parseMarkdown } from "@/memory/frontmatter.ts";
import type { Collected, SkillFile } from "./install/skill-files.ts";
import { parseSkill } from "./parse.ts";
import type { SkillProblem } from "./types.ts";

/** Advice of the open format: a body is read whole, and details belong beside it. */
const ADVISED_LINES = 500;
const ADVISED_CHARS = 20_000;

/** Of a skill's folder. `name`: of the folder; `place`: before file names in what is said. Errors first. */
export function lintSkill(
  { files, problem }: Omit<Collected, "skills">,
  { name, place }: { name: string; place: string },
) {
  if (problem) return [{ file: place, line: null, problem: problem.message, level: "error" as const }];
  const texts = files.filter(({ path }) => /^skill\.md$/i.test(path));
  const [file] = texts;
  if (!file) return [{ file: place, line: null, problem: "there is no SKILL.md", level: "error" as const }];
  const at = `${place}/${file.path}`;
  const text = decode(file.content);
  if (text === null) return [{ file: at, line: null, problem: "it is no UTF-8 text", level: "error" as const }];
  const problems = [...lintHead(text, at, name), ...lintBody(text, at, files)];
  if (file.path !== "SKILL.md") {
    problems.push({ file: at, line: null, problem: "other programs want it to be called SKILL.md", level: "warning" });
  }
  return problems.toSorted((a, b) => Number(b.level === "error") - Number(a.level === "error"));
}

/** Loading only warns of most of it; whoever asks whether a skill is right wants to know. */
function lintHead(text: string, file: string, name: string): SkillProblem[] {
  const problems = parseSkill(text, { file, id: name }).problems.map(
    (problem): SkillProblem => ({ ...problem, level: "error" }),
  );
  const head = parseMarkdown(text);
  if (head.head === "closed" && !head.fields.some(({ key }) => key === "name")) {
    problems.push({ file, line: 1, problem: `there is no name (it should be ${name})`, level: "error" });
  }
  return problems;
}

function lintBody(text: string, file: string, files: readonly SkillFile[]): SkillProblem[] {
  const { body, bodyStart } = parseMarkdown(text);
  const warn = (problem: string, line: number | null = null): SkillProblem => ({
    file,
    line,
    problem,
    level: "warning",
  });
  const problems: SkillProblem[] = [];
  if (body.trim() === "") problems.push({ ...warn("it says nothing below its head"), level: "error" });
  const lines = body.split("\n").length;
  if (lines > ADVISED_LINES || body.length > ADVISED_CHARS) {
    problems.push(warn(`it is long (${lines} lines): move details to files beside it`));
  }
  const known = new Set(files.map(({ path }) => path));
  const firstLine = text.slice(0, bodyStart).split("\n").length;
  for (const [index, line] of body.split("\n").entries()) {
    for (const path of mentioned(line)) {
      const isThere = known.has(path) || [...known].some((other) => other.startsWith(`${path}/`));
      if (!isThere) problems.push(warn(`there is no ${path}`, firstLine + index));
    }
  }
  return problems;
}

/** Files beside it that a line sends the reader to: links, and what follows the folder's placeholder. */
function mentioned(line: string): string[] {
  const links = [...line.matchAll(/\]\((?:\.\/)?((?:references|scripts|assets)\/[\w./-]+)(?:#[^)]*)?\)/g)];
  const placed = [...line.matchAll(/(?:<SKILL_DIR>|\$\{CLAUDE_SKILL_DIR\})\/([\w./-]*\w)/g)];
  return [...links, ...placed].map((match) => match[1]!.replace(/\/$/, ""));
}

function decode(content: Uint8Array): string | null {
  try {
    const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(content);
    return text.includes("\0") ? null : text;
  } catch {
    return null;
  }
}
