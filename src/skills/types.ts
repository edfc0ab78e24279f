// What the parts of the skill system agree on.

/** In the order in which a later one beats an earlier one. */
export const SKILL_SOURCES = ["bundled", "global", "agent", "project"] as const;
export type SkillSource = (typeof SKILL_SOURCES)[number];

/** A folder in which skills are looked for. */
export interface SkillRoot {
  source: SkillSource;
  /** Absolute. */
  path: string;
  /** For people, for example `~/.claude/skills`. */
  label: string;
  /** What comes with a repository is inert until its folder is trusted, and its files must really lie in here. */
  repository?: string;
  /** Somebody asked for it by name: it should be there. */
  named?: true;
}

/** What a SKILL.md says of itself. */
export interface SkillFields {
  id: string;
  name: string;
  /** One line: what it does. */
  description: string;
  /** One line: when to call it. */
  whenToUse: string | null;
  argumentHint: string | null;
  /** The model is told of it and may call it. */
  modelInvocable: boolean;
  /** A person may call it as `/id`. */
  userInvocable: boolean;
  category: string | null;
  tags: string[];
  license: string | null;
  compatibility: string | null;
  metadata: Record<string, string>;
  /** Permission rules. */
  allowedTools: string[];
}

export interface Skill extends SkillFields {
  source: SkillSource;
  root: SkillRoot;
  /** Absolute path of its SKILL.md. A bundled skill is there once it was used. */
  file: string;
  /** Absolute folder of it. */
  folder: string;
  /** What trusting it means: a hash of all that would take effect. Only for skills of a repository. */
  digest?: string;
}

/** Something wrong with one file, in one line. */
export interface SkillProblem {
  /** Absolute. */
  file: string;
  /** 1-based; null for the file as a whole. */
  line: number | null;
  problem: string;
  /** `error`: the skill is not there because of it. */
  level: "error" | "warning";
}

/** Everything that was found in the roots of one place. */
export interface Discovery {
  /** By id, sorted: what counts. */
  skills: ReadonlyMap<string, Skill>;
  /** Found, and not in force. */
  left: { skill: Skill; why: "shadowed" | "untrusted" /** The one that counts instead. */; by?: Skill }[];
  problems: SkillProblem[];
}
