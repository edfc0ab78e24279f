// The index of one working tree: read when it changed, written whole under `index.lock`.

import { lstatSync, readFileSync } from "node:fs";
import { LettaError } from "@/lib/errors.ts";
import type { Disk } from "./disk.ts";
import { removeQuietly } from "./folders.ts";
import { compareEntries, formatIndex, type IndexEntry, parseIndex } from "./index-file.ts";
import { MAX_TABLE_BYTES } from "./limits.ts";
import { type GitLock, lockGitFile } from "./locks.ts";
import { compareNames } from "./names.ts";
import type { Scratch } from "./scratch.ts";
import { isRacy, readWorkingOid, sameStat, statFile, type WrittenAt, writtenAt } from "./working-file.ts";

export interface LoadedIndex {
  /** Ordered by path and stage. */
  readonly entries: readonly IndexEntry[];
  readonly writtenAt: WrittenAt;
}

export interface IndexLock extends Disposable {
  readonly loaded: LoadedIndex;
  /** Replaces the entries of these paths, in all stages; null removes. */
  update(changes: ReadonlyMap<string, IndexEntry | null>): Promise<IndexUpdate>;
}

/** One of both, once. */
export interface IndexUpdate {
  takeBack(): void;
  keep(): void;
}

export class IndexStore {
  #cached: { stamp: string; loaded: LoadedIndex } | null = null;

  constructor(
    private readonly path: string,
    private readonly dir: string,
    private readonly disk: Disk,
    private readonly scratch: Scratch,
  ) {}

  load(): LoadedIndex {
    const stat = lstatSync(this.path, { throwIfNoEntry: false, bigint: true });
    if (!stat) return { entries: [], writtenAt: { seconds: 0, nanos: 0 } };
    const stamp = `${stat.ino} ${stat.size} ${stat.mtimeNs}`;
    if (this.#cached?.stamp === stamp) return this.#cached.loaded;
    if (!stat.isFile() || stat.size > MAX_TABLE_BYTES)
      throw new LettaError("invalid_data", `${this.path} cannot be read`);
    const loaded = { entries: parseIndex(readFileSync(this.path), this.path), writtenAt: writtenAt(stat.mtimeNs) };
    this.#cached = { stamp, loaded };
    return loaded;
  }

  async lock(): Promise<IndexLock> {
    const lock = await lockGitFile(this.disk, this.scratch, this.path);
    try {
      const loaded = this.load();
      return {
        loaded,
        update: (changes) => this.#update(lock, loaded, changes),
        [Symbol.dispose]: () => lock[Symbol.dispose](),
      };
    } catch (error) {
      lock[Symbol.dispose]();
      throw error;
    }
  }

  async #update(
    lock: GitLock,
    loaded: LoadedIndex,
    changes: ReadonlyMap<string, IndexEntry | null>,
  ): Promise<IndexUpdate> {
    const kept = loaded.entries.filter(({ path }) => !changes.has(path)).map((entry) => this.#smudge(entry, loaded));
    const added = [...changes.values()].filter((entry) => entry !== null).sort(compareEntries);
    const entries = mergeSorted(kept, added);
    const backup = this.#backUp();
    try {
      await lock.replace(formatIndex(entries));
    } catch (error) {
      backup.keep();
      throw error;
    }
    this.#cached = null;
    const stat = lstatSync(this.path, { bigint: true });
    this.#cached = {
      stamp: `${stat.ino} ${stat.size} ${stat.mtimeNs}`,
      loaded: { entries, writtenAt: writtenAt(stat.mtimeNs) },
    };
    return backup;
  }

  /** The old file under another name, at no cost in space: taking back must work on a full disk. */
  #backUp(): IndexUpdate {
    const backup = this.scratch.path();
    const existed = lstatSync(this.path, { throwIfNoEntry: false }) !== undefined;
    let linked = false;
    try {
      if (existed) this.disk.link(this.path, backup);
      linked = existed;
    } catch {
      // No hard links here: what is staged by mistake then shows up in the status.
    }
    return {
      takeBack: () => {
        this.#cached = null;
        if (linked) this.disk.rename(backup, this.path);
        else if (!existed) removeQuietly(this.disk, this.path);
      },
      keep: () => {
        if (linked) removeQuietly(this.disk, backup);
      },
    };
  }

  /** An entry that looks unchanged only because the file changed in the moment the index was written would pass for clean
   *  once the index is newer. */
  #smudge(entry: IndexEntry, index: LoadedIndex): IndexEntry {
    if (!isRacy(entry, index.writtenAt) || entry.stage !== 0 || entry.mode === "160000") return entry;
    const stat = statFile(this.dir, entry.path);
    if (!stat || !sameStat(entry, stat)) return entry;
    return readWorkingOid(this.dir, entry.path, stat) === entry.oid ? entry : smudged(entry);
  }
}

/** Looks like no file, so it is always read. */
function smudged({ raw: _, ...entry }: IndexEntry): IndexEntry {
  return { ...entry, size: 0, mtimeSeconds: 0, mtimeNanos: 0 };
}

/** The stage 0 entry of a path, or the first of its conflicting ones. */
export function findEntry(entries: readonly IndexEntry[], path: string): IndexEntry | null {
  const at = lowerBound(entries, path);
  const entry = entries[at];
  return entry?.path === path ? entry : null;
}

/** Entries at or below a path; all for `""`. */
export function entriesBelow(entries: readonly IndexEntry[], path: string): readonly IndexEntry[] {
  if (path === "") return entries;
  const from = lowerBound(entries, path);
  let own = from;
  while (entries[own]?.path === path) own++;
  // `a-b` sorts between `a` and `a/b`.
  const below = lowerBound(entries, `${path}/`);
  let end = below;
  while (entries[end]?.path.startsWith(`${path}/`)) end++;
  return [...entries.slice(from, own), ...entries.slice(below, end)];
}

function lowerBound(entries: readonly IndexEntry[], path: string): number {
  let low = 0;
  let high = entries.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (compareNames(entries[middle]!.path, path) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
}

function mergeSorted(left: readonly IndexEntry[], right: readonly IndexEntry[]): IndexEntry[] {
  const merged: IndexEntry[] = [];
  let at = 0;
  for (const entry of right) {
    while (at < left.length && compareEntries(left[at]!, entry) < 0) merged.push(left[at++]!);
    merged.push(entry);
  }
  while (at < left.length) merged.push(left[at++]!);
  return merged;
}
