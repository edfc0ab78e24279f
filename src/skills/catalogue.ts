// The list of skills that goes with each request: a name, a place and a line for each. It may take 2 % of the model's
// window. Over that, descriptions are shortened, all to the same length; when that is not enough, skills of the weakest
// sources are left out, and the list says so.

import type { ClientSkill } from "@/backend/wire.ts";
import { clip, plural } from "@/lib/text.ts";
import { CATALOGUE_CHARS, CATALOGUE_SHARE, MIN_DESCRIPTION_CHARS } from "./limits.ts";
import { SKILL_SOURCES, type Skill } from "./types.ts";

export interface Catalogue {
  /** By id. */
  skills: ClientSkill[];
  /** For the model, when something is missing. */
  note: string | null;
  /** The listed skills; the others can be called, too. */
  listed: Skill[];
  /** Callable, and not listed for want of room. */
  omitted: Skill[];
  /** Descriptions are cut to this; null when they are whole. */
  descriptionChars: number | null;
}

const CHARS_PER_TOKEN = 4;
/** `- ` and ` (`, `)`, and the line's end. */
const LINE_CHARS = 6;

/** `windowTokens` null: unknown. */
export function catalogueBudget(windowTokens: number | null): number {
  return windowTokens === null ? CATALOGUE_CHARS : Math.floor(windowTokens * CATALOGUE_SHARE * CHARS_PER_TOKEN);
}

/** `skills`: those in force, by id. */
export function buildCatalogue(skills: Iterable<Skill>, budgetChars: number): Catalogue {
  const callable = [...skills].filter(({ modelInvocable }) => modelInvocable);
  const lines = new Map(callable.map((skill) => [skill, describe(skill)]));
  const sizeAt = (chars: number): number =>
    callable.reduce((sum, skill) => sum + sizeOf(skill, clip(lines.get(skill)!, chars)), 0);
  const longest = Math.max(0, ...[...lines.values()].map((line) => line.length));
  if (sizeAt(longest) <= budgetChars) return toCatalogue(callable, [], lines, null);
  const chars = largestFitting(MIN_DESCRIPTION_CHARS, longest, (length) => sizeAt(length) <= budgetChars);
  const listed = chars === null ? strongest(callable, lines, budgetChars) : callable;
  const kept = new Set(listed);
  const omitted = callable.filter((skill) => !kept.has(skill));
  return toCatalogue(listed, omitted, lines, chars ?? MIN_DESCRIPTION_CHARS);
}

/** What it does, and when to call it, on one line. */
function describe({ description, whenToUse }: Skill): string {
  return whenToUse === null ? description : `${description} When to use: ${whenToUse}`;
}

function sizeOf({ id }: Skill, line: string): number {
  return (id.split("/").at(-1) ?? id).length + line.length + LINE_CHARS;
}

/** Null when not even the smallest fits. */
function largestFitting(smallest: number, largest: number, fits: (length: number) => boolean): number | null {
  if (!fits(smallest)) return null;
  let [low, high] = [smallest, Math.max(smallest, largest)];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (fits(middle)) low = middle;
    else high = middle - 1;
  }
  return low;
}

function strongest(callable: Skill[], lines: ReadonlyMap<Skill, string>, budgetChars: number): Skill[] {
  const rank = ({ source }: Skill): number => SKILL_SOURCES.indexOf(source);
  let left = budgetChars;
  const kept = callable
    .toSorted((a, b) => rank(b) - rank(a) || (a.id < b.id ? -1 : 1))
    .filter((skill) => {
      left -= sizeOf(skill, clip(lines.get(skill)!, MIN_DESCRIPTION_CHARS));
      return left >= 0;
    });
  return callable.filter((skill) => kept.includes(skill));
}

function toCatalogue(
  listed: Skill[],
  omitted: Skill[],
  lines: ReadonlyMap<Skill, string>,
  descriptionChars: number | null,
): Catalogue {
  const skills = listed.map((skill): ClientSkill => {
    const line = lines.get(skill)!;
    const description = descriptionChars === null ? line : clip(line, descriptionChars);
    return { name: skill.id, description, location: skill.file };
  });
  return { skills, note: describeCuts(omitted, descriptionChars), listed, omitted, descriptionChars };
}

function describeCuts(omitted: Skill[], descriptionChars: number | null): string | null {
  if (descriptionChars === null) return null;
  if (omitted.length === 0) return "Descriptions are shortened to save room.";
  const counts = [...Map.groupBy(omitted, ({ root }) => root.path)].map(
    ([path, skills]) => `${skills.length} in ${path}`,
  );
  return `Descriptions are shortened, and ${plural(omitted.length, "more skill")} left out, to save room: ${counts.join(", ")}. They can be called by name, too.`;
}
