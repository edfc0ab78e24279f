// The skills of this process: which there are for an agent in a place, and the text of one that is called. Everything
// else asks here, so that what is listed is what can be called.

import { LettaError } from "@/lib/errors.ts";
import { findNearest } from "@/lib/nearest.ts";
import { pathInside } from "@/lib/path-inside.ts";
import { parseRule, parseRuleList } from "@/permissions/rules.ts";
import { findGitRoot } from "@/store/git-root.ts";
import type { Paths } from "@/store/paths.ts";
import type { Trust, TrustContribution } from "@/store/trust.ts";
import { bundledIndex } from "./bundled-index.ts";
import { createSkillCache } from "./cache.ts";
import { buildCatalogue, type Catalogue, catalogueBudget } from "./catalogue.ts";
import { type Bundle, rank, type Scanned } from "./discovery.ts";
import { parseSkill } from "./parse.ts";
import { digestSkill, readWhole } from "./read.ts";
import { renderSkill } from "./render.ts";
import { listRoots } from "./roots.ts";
import { describeUntrusted, isTrusted, trustContributions } from "./trust.ts";
import type { Discovery, Skill, SkillRoot, SkillSource } from "./types.ts";
import { unpackBundled } from "./unpack.ts";

/** For whom, and where. */
export interface SkillPlace {
  /** Of the conversation; absolute. */
  cwd: string;
  /** Folders of the agent's memory, strongest first; empty when it has none. */
  memory: readonly string[];
}

export interface SkillCall {
  id: string;
  args: string;
  /** Some skills are only for people, some only for models. `harness`: pre-loaded. */
  by: "model" | "person" | "harness";
}

export interface LoadedSkill {
  skill: Skill;
  /** Whole and wrapped, for the model. */
  text: string;
  /** Arguments that have no place in the text; empty when they have. */
  unusedArgs: string;
  /** Permission rules in force while it is in use; none for skills nobody vouches for. */
  allow: string[];
}

export interface Skills {
  /** Sources in use; empty when skills are off. */
  readonly sources: readonly SkillSource[];
  readonly roots: (place: SkillPlace) => SkillRoot[];
  discover(place: SkillPlace): Discovery;
  /** `windowTokens`: of the model; null when unknown. */
  catalogue(place: SkillPlace, windowTokens: number | null): Catalogue;
  /** Also one that was written after the last look. */
  find(place: SkillPlace, id: string): Skill | undefined;
  /** Throws `not_found`, `denied`, `untrusted`, `invalid_data`, `storage`. */
  load(place: SkillPlace, call: SkillCall): Promise<LoadedSkill>;
  /** One line about skills that wait for the folder's trust; null when none do. */
  untrustedNote(place: SkillPlace): string | null;
  /** Folders whose files may be read because a skill may point at them. */
  readableFolders(): string[];
  /** Places on disk that are watched now. */
  readonly watched: number;
  close(): void;
}

export interface SkillsOptions {
  paths: Paths;
  trust: Pick<Trust, "accepts" | "revision">;
  /** The folder that trust is about. */
  projectRoot: string | null;
  sources: readonly SkillSource[];
  /** `--skills`; absolute. */
  extra: string | null;
  /** Folders of other programs are looked at, too. */
  others: boolean;
  /** False: what was read stays as it is, until something is asked for that is not there. */
  watch: boolean;
}

export function createSkills(options: SkillsOptions): Skills {
  return new SkillService(options);
}

/** What `openTrust` has to be told of skills: it is opened before anything that could be asked for them. */
export function projectSkills(
  options: Pick<SkillsOptions, "paths" | "projectRoot" | "sources" | "others"> & { cwd(): string },
) {
  const { projectRoot } = options;
  const cache = createSkillCache({ bundle: () => null, watch: false });
  const sources = options.sources.filter((source) => source === "project");
  return (): TrustContribution[] => {
    const cwd = options.cwd();
    if (projectRoot === null || pathInside(projectRoot, cwd) === null) return [];
    const roots = listRoots({ ...options, cwd, memory: [], extra: null, sources });
    return trustContributions(cache.refresh(roots).skills, projectRoot);
  };
}

class SkillService implements Skills {
  readonly #options: SkillsOptions;
  readonly #cache;
  readonly #ranked = new WeakMap<Scanned, { revision: number; discovery: Discovery }>();
  /** Folders of skills that were called. */
  readonly #called = new Set<string>();

  constructor(options: SkillsOptions) {
    this.#options = options;
    const hasBundled = options.sources.includes("bundled");
    let bundle: Bundle | undefined;
    this.#cache = createSkillCache({
      watch: options.watch,
      bundle: () => {
        if (!hasBundled) return null;
        bundle ??= { index: bundledIndex(), cache: options.paths.skillCache };
        return bundle;
      },
    });
  }

  get sources(): readonly SkillSource[] {
    return this.#options.sources;
  }

  get watched(): number {
    return this.#cache.watched;
  }

  readonly roots = ({ cwd, memory }: SkillPlace): SkillRoot[] =>
    listRoots({ ...this.#options, cwd, memory, projectRoot: this.#rootOf(cwd) });

  discover(place: SkillPlace): Discovery {
    return this.#rank(this.#cache.get(this.roots(place)));
  }

  catalogue(place: SkillPlace, windowTokens: number | null): Catalogue {
    return buildCatalogue(this.discover(place).skills.values(), catalogueBudget(windowTokens));
  }

  find(place: SkillPlace, id: string): Skill | undefined {
    return this.discover(place).skills.get(id) ?? this.#rank(this.#cache.refresh(this.roots(place))).skills.get(id);
  }

  async load(place: SkillPlace, { id, args, by }: SkillCall): Promise<LoadedSkill> {
    const found = this.find(place, id);
    if (!found) throw this.#notFound(place, id);
    const text = await this.#read(found);
    const skill = this.#asItIsNow(found, text);
    if (by === "model" && !skill.modelInvocable) {
      throw new LettaError("denied", `The skill ${id} is only for people: the user can call it as /${id}`);
    }
    if (by === "person" && !skill.userInvocable) {
      throw new LettaError("denied", `/${id} is only for the agent to call`);
    }
    this.#called.add(skill.folder);
    return { skill, ...renderSkill(skill, text, args), allow: this.#rulesOf(skill, place.cwd) };
  }

  untrustedNote(place: SkillPlace): string | null {
    return describeUntrusted(this.discover(place), this.#options.projectRoot);
  }

  readableFolders(): string[] {
    return [...this.#called];
  }

  close(): void {
    this.#cache.close();
  }

  #rank(scanned: Scanned): Discovery {
    const { trust, projectRoot } = this.#options;
    const known = this.#ranked.get(scanned);
    if (known?.revision === trust.revision) return known.discovery;
    const discovery = rank(scanned, (skill) => isTrusted(skill, trust, projectRoot));
    this.#ranked.set(scanned, { revision: trust.revision, discovery });
    return discovery;
  }

  /** `/cd` may have led out of the folder this process was started in. */
  #rootOf(cwd: string): string | null {
    const { projectRoot, paths } = this.#options;
    if (projectRoot !== null && pathInside(projectRoot, cwd) !== null) return projectRoot;
    const root = findGitRoot(cwd);
    return root === paths.home ? null : root;
  }

  async #read({ id, source, file, root }: Skill): Promise<string> {
    if (source === "bundled") {
      const { bundledTexts } = await import("./bundled-texts.ts");
      const texts = bundledTexts();
      const { index, cache } = { index: bundledIndex(), cache: this.#options.paths.skillCache };
      const isAlone = !Object.keys(texts).some((path) => path.startsWith(`${id}/`) && path !== `${id}/SKILL.md`);
      try {
        unpackBundled(cache, { digest: index.digest, texts }, id);
      } catch (error) {
        // Only who has further files needs a place on disk.
        if (!isAlone) throw error;
      }
      return texts[`${id}/SKILL.md`] ?? "";
    }
    const read = readWhole(file);
    if ("text" in read) return read.text;
    throw new LettaError("invalid_data", `The skill ${id} (${root.label}) cannot be used: ${file}: ${read.problem}`);
  }

  /** Between the look and the call the file may have changed. */
  #asItIsNow(found: Skill, text: string): Skill {
    const { fields } = parseSkill(text, { file: found.file, id: found.id });
    if (fields === null) {
      throw new LettaError("invalid_data", `The skill ${found.id} cannot be used: ${found.file} has no closing ---`);
    }
    const skill: Skill = { ...found, ...fields, id: found.id };
    if (skill.root.repository === undefined) return skill;
    skill.digest = digestSkill(text, skill);
    if (isTrusted(skill, this.#options.trust, this.#options.projectRoot)) return skill;
    throw new LettaError("untrusted", `The skill ${found.id} has changed since its folder was trusted`, {
      hint: "The user can look at it and trust the folder again: letta trust",
    });
  }

  #notFound(place: SkillPlace, id: string): LettaError {
    const { skills, left } = this.discover(place);
    const inert = left.find(({ skill, why }) => skill.id === id && why === "untrusted");
    if (inert) {
      return new LettaError("untrusted", `The skill ${id} comes with this project, whose folder is not trusted`, {
        hint: "The user can look at it and trust the folder: letta trust",
      });
    }
    const near = findNearest(id, skills.keys());
    const hint = near ? `Did you mean ${near}?` : undefined;
    return new LettaError("not_found", `There is no skill ${JSON.stringify(id)}`, { ...(hint && { hint }) });
  }

  /** A rule that lets something run has to come from somebody: from us, from the person's own folder where the agent
   *  cannot write unasked, or with a folder whose trust was given in sight of it. Not from the agent's memory: the agent
   *  would be allowing itself. */
  #rulesOf({ source, root, allowedTools }: Skill, cwd: string): string[] {
    const { paths } = this.#options;
    const isVouchedFor =
      source === "bundled" ||
      (root.path === paths.skills && pathInside(cwd, root.path) === null) ||
      root.repository !== undefined;
    return isVouchedFor ? allowedTools.filter((rule) => parseRule(rule)).flatMap(parseRuleList) : [];
  }
}
