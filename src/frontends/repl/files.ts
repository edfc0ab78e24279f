// The project's files for `@` completion: breadth first from the working directory, hidden ones included, version
// control and ignored ones left out, bounded. Read once and again after a while, in small steps between keys.

import { readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { COMPLETION_FILES } from "./limits.ts";

/** How long a listing counts as current. */
const FRESH_MS = 5000;
const SKIPPED = new Set([".git", ".hg", ".svn", ".jj", "node_modules"]);

export function createFileIndex(cwd: () => string, now: () => number): () => Promise<readonly string[]> {
  let cached: { cwd: string; at: number; paths: Promise<string[]> } | null = null;
  return () => {
    const directory = cwd();
    if (!cached || cached.cwd !== directory || now() - cached.at > FRESH_MS)
      cached = { cwd: directory, at: now(), paths: listFiles(directory) };
    return cached.paths;
  };
}

/** Relative paths, `/` at the end of directories. */
export async function listFiles(root: string, limit = COMPLETION_FILES): Promise<string[]> {
  const paths: string[] = [];
  let level: { path: string; ignore: IgnoreRule[] }[] = [{ path: "", ignore: [] }];
  while (level.length > 0 && paths.length < limit) {
    const next: typeof level = [];
    for (const directory of level) {
      const ignore = [...directory.ignore, ...(await readIgnore(root, directory.path))];
      for (const entry of await list(join(root, directory.path))) {
        const path = directory.path + entry.name;
        if (SKIPPED.has(entry.name) || isIgnored(path, entry.directory, ignore)) continue;
        paths.push(entry.directory ? `${path}/` : path);
        if (entry.descend) next.push({ path: `${path}/`, ignore });
        if (paths.length >= limit) return paths;
      }
    }
    level = next;
  }
  return paths;
}

interface Entry {
  name: string;
  directory: boolean;
  /** A linked directory is offered and not walked: links may lead in circles. */
  descend: boolean;
}

async function list(directory: string): Promise<Entry[]> {
  try {
    const entries = await readdir(directory, { withFileTypes: true });
    return await Promise.all(
      entries.map(async (entry) => {
        if (!entry.isSymbolicLink())
          return { name: entry.name, directory: entry.isDirectory(), descend: entry.isDirectory() };
        const target = await stat(join(directory, entry.name)).catch(() => null);
        return { name: entry.name, directory: target?.isDirectory() ?? false, descend: false };
      }),
    );
  } catch {
    return []; // unreadable, or gone meanwhile
  }
}

/** One line of a .gitignore. */
interface IgnoreRule {
  /** Directory of the file, with `/` at its end; "" for the root. */
  base: string;
  negated: boolean;
  directoryOnly: boolean;
  /** Matches the path below `base`, or a name at any depth. */
  glob: Bun.Glob;
  anchored: boolean;
}

async function readIgnore(root: string, base: string): Promise<IgnoreRule[]> {
  const text = await readFile(join(root, base, ".gitignore"), "utf8").catch(() => "");
  return text.split(/\r?\n/).flatMap((line) => parseIgnore(line, base) ?? []);
}

function parseIgnore(line: string, base: string): IgnoreRule | undefined {
  const trimmed = line.replace(/(?<!\\)\s+$/, "");
  if (trimmed === "" || trimmed.startsWith("#")) return undefined;
  const negated = trimmed.startsWith("!");
  const pattern = negated ? trimmed.slice(1) : trimmed;
  const directoryOnly = pattern.endsWith("/");
  const body = pattern.replace(/\/$/, "");
  const anchored = body.includes("/");
  return { base, negated, directoryOnly, anchored, glob: new Bun.Glob(body.replace(/^\//, "")) };
}

/** The last matching rule decides. */
function isIgnored(path: string, directory: boolean, rules: IgnoreRule[]): boolean {
  for (const rule of rules.toReversed()) {
    if (rule.directoryOnly && !directory) continue;
    const below = path.slice(rule.base.length);
    const subject = rule.anchored ? below : below.slice(below.lastIndexOf("/") + 1);
    if (rule.glob.match(subject)) return !rule.negated;
  }
  return false;
}
