// What a person is shown before a skill gets into a memory, and the question.

import { LettaError } from "@/lib/errors.ts";
import { renderFields } from "@/lib/table.ts";
import { escapeDeceptive, truncate } from "@/lib/terminal-text.ts";
import { formatBytes, plural } from "@/lib/text.ts";
import { type FilePair, formatDiff } from "@/memory/diff-text.ts";
import { hasRisks, type SkillPackage } from "@/skills/install/package.ts";
import type { Io } from "./io.ts";
import { type OutputArgs, outputFormat } from "./output.ts";

const MAX_LISTED = 40;
const MAX_DESCRIPTION_CHARS = 400;

export function renderPackage(skill: SkillPackage): string {
  const { files, risks } = skill;
  const marks = new Map(risks.scripts.map((path) => [path, "can be run"]));
  for (const path of risks.hidden) marks.set(path, "HIDES CHARACTERS");
  // What matters must not be what is left out.
  const ordered = files.toSorted((a, b) => Number(marks.has(b.path)) - Number(marks.has(a.path)));
  const shown = ordered.slice(0, MAX_LISTED).map(({ path, content }) => {
    const mark = marks.get(path);
    return `  ${escapeDeceptive(path)}  ${formatBytes(content.length)}${mark ? `  ${mark}` : ""}\n`;
  });
  const more = files.length - shown.length;
  return [
    renderSummary(skill),
    `${plural(files.length, "file")}, ${formatBytes(skill.bytes)}:\n`,
    ...shown,
    ...(more > 0 ? [`  and ${more} more\n`] : []),
    renderWarnings(skill),
  ].join("");
}

/** What an update changes: names with lines added and removed. */
export function renderChanges(skill: SkillPackage, pairs: readonly FilePair[]): string {
  const scripts = new Set(skill.risks.scripts);
  const shown = pairs.slice(0, MAX_LISTED).map((pair) => {
    const { path, before, after } = pair;
    const { added, removed } = countLines(pair);
    const what = before === null ? "new" : after === null ? "gone" : "changed";
    const lines = after === null ? "" : `  +${added} -${removed}`;
    return `  ${what}  ${escapeDeceptive(path)}${lines}${after && scripts.has(path) ? "  can be run" : ""}\n`;
  });
  const more = pairs.length - shown.length;
  return [renderSummary(skill), ...shown, ...(more > 0 ? [`  and ${more} more\n`] : []), renderWarnings(skill)].join(
    "",
  );
}

export function countLines(pair: FilePair): { added: number; removed: number } {
  const lines = formatDiff([pair]).split("\n").slice(3);
  return {
    added: lines.filter((line) => line.startsWith("+") && !line.startsWith("+++")).length,
    removed: lines.filter((line) => line.startsWith("-") && !line.startsWith("---")).length,
  };
}

/** Goes on, or throws. Where somebody can answer, they are asked; where nobody can, only what is text alone goes on. */
export async function requireSkillConsent(
  io: Io,
  args: OutputArgs & { yes?: boolean },
  { skill, preview, question }: { skill: SkillPackage; preview: string; question: string },
): Promise<void> {
  const isData = outputFormat(io, args) !== "text";
  const isAsked = !args.yes && io.confirm !== undefined;
  const isRefused = !args.yes && !io.confirm && hasRisks(skill.risks);
  // Data has stdout for itself.
  if (!isData && !isRefused) io.stdout(preview);
  else if (isAsked || isRefused) io.stderr(preview);
  if (isRefused) {
    throw new LettaError(
      "denied",
      `Nothing was changed: ${skill.name} ${describeRisks(skill)}, and nobody is here to answer`,
      {
        hint: "Read its files; then pass --yes to go on.",
      },
    );
  }
  if (isAsked && !(await io.confirm!(question))) throw new LettaError("cancelled", "Nothing was changed.");
}

function renderSummary({ name, fields, source, resolvedRef }: SkillPackage): string {
  return renderFields([
    ["Skill", name],
    ["Says", truncate(escapeDeceptive(fields.description), MAX_DESCRIPTION_CHARS)],
    ["From", escapeDeceptive(resolvedRef === null ? source : `${source} (${resolvedRef.slice(0, 12)})`)],
    ["License", escapeDeceptive(fields.license ?? "")],
    ["Compatibility", escapeDeceptive(fields.compatibility ?? "")],
  ]);
}

function renderWarnings({ risks, problems, fields }: SkillPackage): string {
  const { scripts, hidden } = risks;
  const lines = [
    ...(scripts.length > 0
      ? [`${plural(scripts.length, "file")} can be run: read them before you let the agent use them.`]
      : []),
    ...(fields.allowedTools.length > 0
      ? [`It names tools to use unasked, which does not count for an installed skill: ${fields.allowedTools.join(" ")}`]
      : []),
    ...(hidden.length > 0 ? [`The model reads something else than you see in: ${hidden.join(", ")}`] : []),
    ...problems.map(({ line, problem }) => `SKILL.md${line === null ? "" : `:${line}`}: ${problem}`),
  ];
  return lines.map((line) => `! ${escapeDeceptive(line)}\n`).join("");
}

function describeRisks({ risks }: SkillPackage): string {
  if (risks.hidden.length > 0) return "hides characters in its texts";
  return `brings ${plural(risks.scripts.length, "file")} that can be run`;
}
