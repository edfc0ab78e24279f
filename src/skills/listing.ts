// All skills of a place for people: what the model sees, what it can call without seeing it, what only people call, and
// what is not in force, each with the reason.

import type { Catalogue } from "./catalogue.ts";
import { type Discovery, SKILL_SOURCES, type Skill, type SkillSource } from "./types.ts";

export interface ListedSkill {
  skill: Skill;
  /** `listed`: the model sees and may call it. `people`: only people may. `unlisted`: the model may call it, there was no
   *  room to show it. `inert`: nobody can. */
  state: "listed" | "people" | "unlisted" | "inert";
  /** In a few words; empty for what is as usual. */
  note: string;
}

/** By source, strongest first; sources without skills are left out. */
export function listBySource(
  discovery: Discovery,
  catalogue: Catalogue,
): { source: SkillSource; skills: ListedSkill[] }[] {
  const omitted = new Set(catalogue.omitted);
  const all = [
    ...[...discovery.skills.values()].map((skill) => describe(skill, omitted.has(skill))),
    ...discovery.left.map(({ skill, why, by }): ListedSkill => {
      const note = why === "untrusted" ? "its folder is not trusted" : `${by?.root.label} has one of the same name`;
      return { skill, state: "inert", note };
    }),
  ];
  return SKILL_SOURCES.toReversed().flatMap((source) => {
    const skills = all
      .filter(({ skill }) => skill.source === source)
      .toSorted((a, b) => (a.skill.id < b.skill.id ? -1 : 1));
    return skills.length > 0 ? [{ source, skills }] : [];
  });
}

function describe(skill: Skill, isOmitted: boolean): ListedSkill {
  if (!skill.modelInvocable) {
    const note = skill.userInvocable ? `only you: /${skill.id}` : "nobody may call it";
    return { skill, state: skill.userInvocable ? "people" : "inert", note };
  }
  if (isOmitted) return { skill, state: "unlisted", note: "no room in the list; the agent can call it by name" };
  return { skill, state: "listed", note: skill.userInvocable ? "" : "only the agent" };
}
