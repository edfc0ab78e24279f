// Which folder of what was found is the skill that was meant.

import { LettaError } from "@/lib/errors.ts";
import { escapeDeceptive } from "@/lib/terminal-text.ts";
import { plural } from "@/lib/text.ts";
import { type Collected, filesBelow, type SkillFile } from "./skill-files.ts";
import { modsComeLater } from "./spec.ts";

export interface SkillPick {
  /** Relative to the skill's folder. */
  files: SkillFile[];
  /** Of the folder it lay in; null when it lay in none. */
  folder: string | null;
}

export interface PickPlace {
  /** For people, and for going further down: `owner/repo`, a path. */
  place: string;
  /** Of the place's own folder. */
  name: string | null;
  /** An archive holds one skill: when that lies in a folder of it, this folder is meant. */
  mayGuess: boolean;
}

const MAX_SUGGESTED = 30;

/** Throws `not_found` with what there is instead, and what forbids installing it. */
export function pickSkill(collected: Collected, { place, name, mayGuess }: PickPlace): SkillPick {
  assertNoMod(collected.files, place);
  const skills = [...new Set(collected.skills)].sort();
  const top = topmost(skills);
  const folder = skills.includes(".") ? "." : mayGuess && top.length === 1 ? top[0]! : null;
  if (folder === null) {
    // What is too large or strange to be looked through may hold anything.
    if (skills.length === 0 && collected.problem) throw collected.problem;
    throw notThere(place, top.length > 0 ? top : skills, mayGuess);
  }
  if (collected.problem) throw collected.problem;
  return {
    files: filesBelow(collected.files, folder),
    folder: folder === "." ? name : folder.slice(folder.lastIndexOf("/") + 1),
  };
}

/** Of the least deep folders. */
function topmost(skills: readonly string[]): string[] {
  const depths = skills.map((skill) => skill.split("/").length);
  const least = Math.min(...depths);
  return skills.filter((_, index) => depths[index] === least);
}

function notThere(place: string, skills: readonly string[], isArchive: boolean): LettaError {
  if (skills.length === 0) {
    return new LettaError("not_found", `There is no SKILL.md in ${escapeDeceptive(place)}`, {
      hint: "A skill is a folder with a SKILL.md.",
    });
  }
  const names = skills.slice(0, MAX_SUGGESTED).map(escapeDeceptive);
  const more = skills.length > names.length ? ` and ${skills.length - names.length} more` : "";
  const hint = isArchive ? "Unpack it and install the folder." : `For example: letta install ${place}/${names[0]}`;
  return new LettaError(
    "not_found",
    `${escapeDeceptive(place)} is not one skill; it holds ${plural(skills.length, "skill")}: ${names.join(", ")}${more}`,
    { hint },
  );
}

/** A package that says so in its manifest. */
function assertNoMod(files: readonly SkillFile[], place: string): void {
  const manifest = files.find(({ path }) => path === "package.json");
  if (!manifest) return;
  try {
    const parsed: unknown = JSON.parse(new TextDecoder().decode(manifest.content));
    if (!hasMods(parsed)) return;
  } catch {
    return; // Whatever it is, it is no manifest of a mod.
  }
  throw modsComeLater(escapeDeceptive(place));
}

function hasMods(manifest: unknown): boolean {
  if (typeof manifest !== "object" || manifest === null || !("letta" in manifest)) return false;
  return typeof manifest.letta === "object" && manifest.letta !== null && "mods" in manifest.letta;
}
