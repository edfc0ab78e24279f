// Where skills are looked for, strongest first: this list is the precedence. What a repository brings along comes from
// the working directory up to its root, nearest first; other programs' folders are read where they are.

import { realpathSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { LettaError } from "@/lib/errors.ts";
import { findNearest } from "@/lib/nearest.ts";
import { SKILLS_FOLDER } from "@/memory/places.ts";
import type { Paths } from "@/store/paths.ts";
import { SKILL_SOURCES, type SkillRoot, type SkillSource } from "./types.ts";

/** Relative to a folder of a project, or to the home directory. Ours before those of other programs. */
const SHARED = join(".agents", "skills");
const OF_OTHERS = [join(".claude", "skills"), join(".codex", "skills")];
/** Only in the working directory: an older place of ours. */
const LEGACY = ".skills";

export interface RootPlaces {
  paths: Pick<Paths, "home" | "root" | "skills">;
  /** Of the conversation; absolute. */
  cwd: string;
  /** The repository's root; null when there is none, or when it is the home directory. */
  projectRoot: string | null;
  /** Folders of the agent's memory, strongest first. */
  memory: readonly string[];
  /** `--skills`, or what the environment says; absolute. */
  extra: string | null;
  sources: readonly SkillSource[];
  /** Folders of other programs are looked at, too. */
  others: boolean;
}

/** Bundled skills are no folder: they come last by themselves. */
export function listRoots(places: RootPlaces): SkillRoot[] {
  const global = globalRoots(places);
  const own = new Set(global.map(({ path }) => path));
  const all = [
    // Somebody who works in the home directory meets their own folders again.
    ...projectRoots(places).filter(({ path }) => !own.has(path)),
    ...places.memory.map((memory): SkillRoot => {
      const path = join(memory, SKILLS_FOLDER);
      return { source: "agent", path, label: "the agent's memory" };
    }),
    ...global,
  ];
  const seen = new Set<string>();
  return all.filter(({ source, path }) => {
    if (!places.sources.includes(source) || seen.has(path)) return false;
    seen.add(path);
    return true;
  });
}

function globalRoots({ paths, others }: RootPlaces): SkillRoot[] {
  const folders = [paths.skills, ...(others ? [SHARED, ...OF_OTHERS].map((name) => join(paths.home, name)) : [])];
  return folders.map((path) => ({ source: "global", path, label: shortLabel(path, paths.home) }));
}

function projectRoots({ cwd, projectRoot, extra, others }: RootPlaces): SkillRoot[] {
  const folders = foldersUp(cwd, projectRoot);
  const inProject = (folder: string, name: string): SkillRoot => {
    const path = join(folder, name);
    return { source: "project", path, label: shortLabel(path, projectRoot ?? cwd, ""), repository: projectRoot ?? cwd };
  };
  const named: SkillRoot[] = extra === null ? [] : [{ source: "project", path: extra, label: "--skills", named: true }];
  return folders
    .flatMap((folder, index) => [
      inProject(folder, SHARED),
      ...(index === 0 ? [inProject(folder, LEGACY), ...named] : []),
      ...(others ? OF_OTHERS.map((name) => inProject(folder, name)) : []),
    ])
    .filter((root) => root.path !== extra || root.repository === undefined);
}

/** From the working directory to the project's root, both included; elsewhere only the working directory. */
function foldersUp(cwd: string, projectRoot: string | null): string[] {
  const folders = [resolve(cwd)];
  if (projectRoot === null) return folders;
  const root = realOrSelf(projectRoot);
  for (let folder = folders[0]!; realOrSelf(folder) !== root; ) {
    folder = dirname(folder);
    // The project lies somewhere else: `/cd` may lead out of it.
    if (folder === dirname(folder)) return [resolve(cwd)];
    folders.push(folder);
  }
  return folders;
}

function realOrSelf(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return resolve(path); // Gone: nothing will be found there.
  }
}

function shortLabel(path: string, base: string, prefix = "~/"): string {
  return path.startsWith(`${base}/`) ? `${prefix}${path.slice(base.length + 1)}` : path;
}

export interface SourceFlags {
  /** `--skill-sources`. */
  list?: readonly string[];
  /** `--no-skills`. */
  none?: boolean;
  /** `--no-bundled-skills`. */
  noBundled?: boolean;
}

/** Throws `usage` for a name that is no source, and for an empty list. */
export function resolveSources({ list, none, noBundled }: SourceFlags): SkillSource[] {
  if (none) return [];
  const names = list ?? ["all"];
  if (names.length === 0)
    throw new LettaError("usage", "--skill-sources needs at least one source", { hint: SOURCES_HINT });
  for (const name of names) {
    if (name === "all" || SKILL_SOURCES.some((source) => source === name)) continue;
    const near = findNearest(name, ["all", ...SKILL_SOURCES]);
    throw new LettaError(
      "usage",
      `--skill-sources: there is no source "${name}"${near ? `; did you mean ${near}?` : ""}`,
      {
        hint: SOURCES_HINT,
      },
    );
  }
  return SKILL_SOURCES.filter(
    (source) => (names.includes("all") || names.includes(source)) && !(source === "bundled" && noBundled),
  );
}

const SOURCES_HINT = `Sources are all, ${SKILL_SOURCES.join(", ")}; --no-skills turns all of them off.`;
