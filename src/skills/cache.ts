// What was scanned, kept until something on disk changes. One entry per list of roots, because the conversations of a
// process may work in different places for different agents.

import { statSync } from "node:fs";
import { type Bundle, type Scanned, scanSkills } from "./discovery.ts";
import type { SkillRoot } from "./types.ts";
import { type OneShotWatch, watchOnce } from "./watch.ts";

/** Places whose skills are kept at a time. */
const MAX_ENTRIES = 8;

export interface SkillCache {
  get(roots: readonly SkillRoot[]): Scanned;
  /** Looks again, whether or not a change was seen. */
  refresh(roots: readonly SkillRoot[]): Scanned;
  /** Places watched now. */
  readonly watched: number;
  close(): void;
}

export interface SkillCacheOptions {
  /** Null: none are bundled. Called at the first scan. */
  bundle(): Bundle | null;
  /** False: what was read stays as it is. */
  watch: boolean;
}

interface Entry {
  scanned: Scanned;
  watch: OneShotWatch | null;
}

export function createSkillCache(options: SkillCacheOptions): SkillCache {
  const entries = new Map<string, Entry>();
  const drop = (key: string): void => {
    entries.get(key)?.watch?.close();
    entries.delete(key);
  };
  const scan = (key: string, roots: readonly SkillRoot[]): Scanned => {
    drop(key);
    // Nothing is heard of before this function has returned: what changes meanwhile drops what it has stored.
    const watch = options.watch ? watchOnce(() => entries.delete(key)) : null;
    if (watch) for (const { path } of roots) if (!isFolder(path)) watch.missing(path);
    const bundle = roots.length === 0 ? null : options.bundle();
    const scanned = scanSkills(roots, bundle, (path) => watch?.folder(path));
    entries.set(key, { scanned, watch });
    const oldest = entries.keys().next().value;
    if (entries.size > MAX_ENTRIES && oldest !== undefined) drop(oldest);
    return scanned;
  };
  return {
    get(roots) {
      const key = keyOf(roots);
      const known = entries.get(key);
      if (!known) return scan(key, roots);
      // The one used last is the last to go.
      entries.delete(key);
      entries.set(key, known);
      return known.scanned;
    },
    refresh: (roots) => scan(keyOf(roots), roots),
    get watched() {
      return [...entries.values()].reduce((sum, { watch }) => sum + (watch?.size ?? 0), 0);
    },
    close() {
      for (const key of [...entries.keys()]) drop(key);
    },
  };
}

function keyOf(roots: readonly SkillRoot[]): string {
  return JSON.stringify(roots.map(({ source, path, repository }) => [source, path, repository]));
}

function isFolder(path: string): boolean {
  try {
    return statSync(path).isDirectory();
  } catch {
    return false; // Not there, or not ours to look into.
  }
}
