// Looks for SKILL.md files below one root. Links are followed, once each; what cannot be read is a problem of that path
// and of nothing else. A folder that is a skill is not searched for further ones, except the root itself.

import { lstatSync, readdirSync, realpathSync, statSync } from "node:fs";
import { dirname, join, relative, sep } from "node:path";
import { systemErrorCode, systemReason } from "@/lib/errors.ts";
import { pathInside } from "@/lib/path-inside.ts";
import { MAX_DEPTH, MAX_FOLDERS } from "./limits.ts";
import type { SkillProblem, SkillRoot } from "./types.ts";

export interface FoundSkill {
  /** Absolute, below the root by name. */
  file: string;
  folder: string;
  /** Its folder's path from the root with `/`, or `root`. */
  id: string;
}

export interface ScanResult {
  found: FoundSkill[];
  problems: SkillProblem[];
}

/** `onFolder` hears of each folder before it is read, and of folders that hold linked files. */
export function scanRoot(root: SkillRoot, onFolder: (path: string) => void = () => {}): ScanResult {
  const scan = new Scan(root, onFolder);
  scan.run();
  return { found: scan.found, problems: scan.problems };
}

interface Place {
  folder: string;
  /** Without links. */
  real: string;
  depth: number;
}

class Scan {
  readonly found: FoundSkill[] = [];
  readonly problems: SkillProblem[] = [];
  /** Without links. */
  readonly #visited = new Set<string>();
  /** Followed at last: what a link leads to may have a name of its own here. */
  readonly #links: Omit<Place, "real">[] = [];

  constructor(
    private readonly root: SkillRoot,
    private readonly onFolder: (path: string) => void,
  ) {}

  run(): void {
    const { path } = this.root;
    try {
      if (!statSync(path).isDirectory()) {
        this.#problem(path, "it should be a folder of skills", "error");
        return;
      }
    } catch (error) {
      // Most roots do not exist.
      if (!isAbsent(error)) this.#problem(path, `it cannot be read: ${systemReason(error)}`, "error");
      else if (this.root.named) this.#problem(path, "there is no such folder", "error");
      return;
    }
    this.#links.push({ folder: path, depth: 0 });
    for (let link = this.#links.shift(); link; link = this.#links.shift()) this.#follow(link);
  }

  #follow({ folder, depth }: Omit<Place, "real">): void {
    try {
      const real = realpathSync(folder);
      if (this.#mayRead(folder, real)) this.#visit({ folder, real, depth });
    } catch (error) {
      if (!isAbsent(error)) this.#problem(folder, `it cannot be read: ${systemReason(error)}`, "error");
    }
  }

  #visit(place: Place): void {
    if (this.#visited.has(place.real)) return;
    if (this.#visited.size === MAX_FOLDERS) {
      this.#problem(this.root.path, `only the first ${MAX_FOLDERS} folders are looked at`);
      this.#links.length = 0;
    }
    this.#visited.add(place.real);
    if (this.#visited.size > MAX_FOLDERS) return;
    try {
      this.onFolder(place.folder);
      const entries = readdirSync(place.folder, { withFileTypes: true });
      const isSkill = this.#takeSkill(place.folder, entries);
      if (!isSkill || place.depth === 0) this.#visitBelow(place, entries);
    } catch (error) {
      if (!isAbsent(error)) this.#problem(place.folder, `it cannot be read: ${systemReason(error)}`, "error");
    }
  }

  #visitBelow({ folder, real, depth }: Place, entries: Entry[]): void {
    const below = entries
      .filter((entry) => (entry.isDirectory() || entry.isSymbolicLink()) && !isSkipped(entry.name))
      .toSorted((a, b) => (a.name < b.name ? -1 : 1));
    for (const entry of below) {
      const path = join(folder, entry.name);
      if (entry.isSymbolicLink() && !this.#leadsToFolder(path)) continue;
      if (depth >= MAX_DEPTH) this.#problem(path, `folders deeper than ${MAX_DEPTH} are not looked at`);
      else if (entry.isSymbolicLink()) this.#links.push({ folder: path, depth: depth + 1 });
      else this.#visit({ folder: path, real: join(real, entry.name), depth: depth + 1 });
    }
  }

  #leadsToFolder(path: string): boolean {
    try {
      return statSync(path).isDirectory();
    } catch (error) {
      const why = systemErrorCode(error) === "ELOOP" ? "it links to itself" : "it links to nothing";
      this.#problem(path, why);
      return false;
    }
  }

  #mayRead(path: string, real: string): boolean {
    const { repository } = this.root;
    if (repository === undefined || pathInside(realpathSync(repository), real) !== null) return true;
    this.#problem(path, "it links to a place outside the repository", "error");
    return false;
  }

  #takeSkill(folder: string, entries: Entry[]): boolean {
    const named = entries.filter(({ name }) => name.length === 8 && name.toUpperCase() === "SKILL.MD");
    const entry = named.find(({ name }) => name === "SKILL.md") ?? named[0];
    if (!entry) return false;
    const file = join(folder, entry.name);
    if (named.length > 1) this.#problem(file, `${named.length} files are called so; this one is used`);
    if (!this.#isUsable(file, entry)) return entry.isFile() || entry.isSymbolicLink();
    const id = relative(this.root.path, folder).split(sep).join("/") || "root";
    this.found.push({ file, folder, id });
    return true;
  }

  #isUsable(file: string, entry: Entry): boolean {
    if (entry.isFile()) return true;
    if (!entry.isSymbolicLink()) {
      // Reading a pipe would wait for ever.
      this.#problem(file, "it is no file", "error");
      return false;
    }
    try {
      const real = realpathSync(file);
      if (!lstatSync(real).isFile()) {
        this.#problem(file, "it does not link to a file", "error");
        return false;
      }
      this.onFolder(dirname(real));
      return this.#mayRead(file, real);
    } catch {
      this.#problem(file, "it links to nothing", "error");
      return false;
    }
  }

  #problem(file: string, problem: string, level: SkillProblem["level"] = "warning"): void {
    this.problems.push({ file, line: null, problem, level });
  }
}

interface Entry {
  name: string;
  isFile(): boolean;
  isDirectory(): boolean;
  isSymbolicLink(): boolean;
}

function isSkipped(name: string): boolean {
  return name.startsWith(".") || name === "node_modules";
}

function isAbsent(error: unknown): boolean {
  return ["ENOENT", "ENOTDIR"].includes(systemErrorCode(error) ?? "");
}
