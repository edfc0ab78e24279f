// `letta skills validate`: skills against the open format, wherever they are.

import { existsSync, statSync } from "node:fs";
import { basename, dirname, join, relative, resolve } from "node:path";
import type { Core } from "@/app.ts";
import { LettaError } from "@/lib/errors.ts";
import { toPlainLine } from "@/lib/terminal-text.ts";
import { plural } from "@/lib/text.ts";
import type { AgentMemory } from "@/memory/service.ts";
import { walkFolder } from "@/skills/install/fetch-local.ts";
import { getInstalled, listInstalled } from "@/skills/install/installed.ts";
import { collectFiles, type SkillFile } from "@/skills/install/skill-files.ts";
import { lintSkill } from "@/skills/lint.ts";
import type { SkillProblem } from "@/skills/types.ts";
import type { Io } from "./io.ts";
import { type OutputArgs, present } from "./output.ts";

export interface ValidateArgs extends OutputArgs {
  what?: string;
  all?: boolean;
  bundled?: boolean;
}

interface Validated {
  name: string;
  path: string;
  problems: SkillProblem[];
}

/** A name means a skill of the agent; anything that looks like a path is one. */
export function needsMemory({ what, bundled }: ValidateArgs): boolean {
  return what === undefined ? !bundled : !isPath(what);
}

export async function runValidate(
  core: Core & { memory: AgentMemory | null },
  args: ValidateArgs,
  io: Io,
): Promise<number> {
  const asked = [args.what !== undefined, args.all, args.bundled].filter(Boolean).length;
  if (asked !== 1) throw new LettaError("usage", "Say what to check: a folder, a skill's name, --all or --bundled");
  return present(io, args, () => validateAll(core, args), {
    value: (skills) => skills.map(({ name, path, problems }) => ({ name, path, ok: !hasErrors(problems), problems })),
    exitCode: (skills) => (skills.some(({ problems }) => hasErrors(problems)) ? 1 : 0),
    text: (skills) => {
      const lines = skills.flatMap(({ problems }) =>
        problems.map(({ file, line, problem, level }) => {
          const place = line === null ? file : `${file}:${line}`;
          return `${toPlainLine(place)}: ${level === "warning" ? "warning: " : ""}${toPlainLine(problem)}\n`;
        }),
      );
      const wrong = skills.filter(({ problems }) => hasErrors(problems)).length;
      const sum = wrong === 0 ? "valid" : `${wrong} of them wrong`;
      return `${lines.join("")}${plural(skills.length, "skill")}: ${sum}\n`;
    },
  });
}

async function validateAll(core: Core & { memory: AgentMemory | null }, args: ValidateArgs): Promise<Validated[]> {
  if (args.bundled) return validateBundled();
  const { memory } = core;
  if (args.what !== undefined && isPath(args.what))
    return [await validateFolder(resolve(core.cwd, args.what), core.cwd)];
  if (!memory) throw new LettaError("internal", "no memory was opened");
  const skills = args.what === undefined ? await listInstalled(memory) : [await getInstalled(memory, args.what)];
  const results: Validated[] = [];
  for (const { path } of skills) results.push(await validateFolder(path, core.cwd));
  return results;
}

async function validateFolder(path: string, cwd: string): Promise<Validated> {
  if (!existsSync(path)) throw new LettaError("not_found", `there is no ${path}`);
  const folder = statSync(path).isDirectory() ? path : dirname(path);
  const name = basename(folder);
  const place = relative(cwd, folder).startsWith("..") ? folder : relative(cwd, folder) || ".";
  return { name, path: folder, problems: lintSkill(await collectFiles(walkFolder(folder)), { name, place }) };
}

async function validateBundled(): Promise<Validated[]> {
  const { bundledTexts } = await import("@/skills/bundled-texts.ts");
  const byName = new Map<string, SkillFile[]>();
  for (const [path, text] of Object.entries(bundledTexts())) {
    const name = path.slice(0, path.indexOf("/"));
    const file = { path: path.slice(name.length + 1), content: Buffer.from(text), executable: false };
    byName.set(name, [...(byName.get(name) ?? []), file]);
  }
  return [...byName].map(([name, files]) => {
    const path = join("skills", name);
    return { name, path, problems: lintSkill({ files, problem: null }, { name, place: path }) };
  });
}

function isPath(what: string): boolean {
  return /[/\\]/.test(what) || /^\.{1,2}$/.test(what) || /^skill\.md$/i.test(what);
}

function hasErrors(problems: readonly SkillProblem[]): boolean {
  return problems.some(({ level }) => level === "error");
}
