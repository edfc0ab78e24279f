// "Never worse than before", as something that can be measured: how many of its files are gone, and how much of what
// memory said is not said anywhere any more. Lines count wherever they are now, so that moving text to another file or
// tier loses nothing. What is over the limit is not thrown away: it waits for a person.

import { formatCount } from "@/lib/text.ts";
import { SYSTEM_BYTES } from "@/memory/limits.ts";
import { isMarkdown, isSystemPath } from "@/memory/places.ts";
import { MAX_LOST_SHARE, MIN_LOST_BYTES } from "./limits.ts";

export interface MemorySnapshotFile {
  path: string;
  text: string;
}

export interface FileLoss {
  path: string;
  /** Of its lines, and of those that are nowhere any more. */
  bytes: number;
  lost: number;
  /** There is no file of this name any more. */
  isMissing: boolean;
}

export interface LossRules {
  /** Who the agent is; never missing or empty. */
  persona: string;
  /** Files that nobody may change. */
  readOnly: readonly string[];
  bodyOf(text: string): string;
}

export function measureLoss(before: readonly MemorySnapshotFile[], after: readonly MemorySnapshotFile[]): FileLoss[] {
  const paths = new Set(after.map(({ path }) => path));
  const left = new Map<string, number>();
  for (const { text } of after) for (const line of linesOf(text)) left.set(line, (left.get(line) ?? 0) + 1);
  return before.map(({ path, text }) => {
    const loss = { path, bytes: 0, lost: 0, isMissing: !paths.has(path) };
    for (const line of linesOf(text)) {
      const bytes = Buffer.byteLength(line) + 1;
      const count = left.get(line) ?? 0;
      if (count > 0) left.set(line, count - 1);
      else loss.lost += bytes;
      loss.bytes += bytes;
    }
    return loss;
  });
}

/** Looked at one by one, so that the size of one does not hide what another loses. */
const PARTS: { name: string; holds(path: string): boolean }[] = [
  { name: "system/", holds: (path) => path.startsWith("system/") },
  { name: "the memory", holds: (path) => !path.startsWith("skills/") },
  { name: "skills/", holds: (path) => path.startsWith("skills/") },
];

/** Why a person has to look before this becomes the memory; empty when it may. */
export function findDamage(
  before: readonly MemorySnapshotFile[],
  after: readonly MemorySnapshotFile[],
  { persona, readOnly, bodyOf }: LossRules,
): string[] {
  const reasons: string[] = [];
  const textOf = (files: readonly MemorySnapshotFile[], path: string) => files.find((file) => file.path === path)?.text;
  const hadPersona = bodyOf(textOf(before, persona) ?? "").trim() !== "";
  if (hadPersona && bodyOf(textOf(after, persona) ?? "").trim() === "") reasons.push(`${persona} would be empty`);
  for (const path of readOnly) {
    if (textOf(after, path) !== textOf(before, path)) reasons.push(`${path} is read-only and would change`);
  }
  const losses = measureLoss(before, after);
  for (const { name, holds } of PARTS) {
    const files = losses.filter(({ path }) => holds(path));
    // Missing, and most of its text lives on nowhere.
    const gone = files.filter(({ isMissing, bytes, lost }) => isMissing && lost * 2 > bytes).length;
    if (gone > files.length * MAX_LOST_SHARE) reasons.push(`${gone} of ${files.length} files of ${name} would be gone`);
    const bytes = files.reduce((total, file) => total + file.bytes, 0);
    const lost = files.reduce((total, file) => total + file.lost, 0);
    if (lost < MIN_LOST_BYTES || lost <= bytes * MAX_LOST_SHARE) continue;
    reasons.push(`${Math.round((100 * lost) / bytes)} % of the text of ${name} would be gone`);
  }
  return reasons;
}

/** Indentation, bullets and trailing blanks are not what a line says. */
function linesOf(text: string): string[] {
  return text
    .split("\n")
    .map((line) => line.replace(/^\s*(?:[-*+]\s+)?/, "").trimEnd())
    .filter((line) => line !== "" && line !== "---");
}

/** Why system/ is too large now, null when it is not, or was larger before: every request pays for it. */
export function findGrowth(before: readonly MemorySnapshotFile[], after: readonly MemorySnapshotFile[]): string | null {
  const bytes = systemBytes(after);
  if (bytes <= SYSTEM_BYTES || bytes <= systemBytes(before)) return null;
  return `system/ would hold ${formatCount(bytes)} bytes, and may hold ${formatCount(SYSTEM_BYTES)}`;
}

function systemBytes(files: readonly MemorySnapshotFile[]): number {
  const sizes = files.filter(({ path }) => isMarkdown(path) && isSystemPath(path));
  return sizes.reduce((sum, { text }) => sum + Buffer.byteLength(text), 0);
}
