// Walks of the commit graph: log, ancestry, merge bases. Newest first by committer date, as git does.

import type { Objects } from "./objects.ts";
import { breathe } from "./status.ts";
import { findItem } from "./trees.ts";
import type { Commit, Oid } from "./types.ts";

const BREATH = 200;

export interface WalkOptions {
  path?: string;
  limit: number;
  firstParent?: boolean;
}

/** With a path: only commits that changed something at or below it. A merge that took the path from one parent as it was
 *  is left out, and only that parent is followed. */
export async function* walkHistory(
  objects: Objects,
  from: Oid,
  { path, limit, firstParent }: WalkOptions,
): AsyncIterable<Commit> {
  const queue = new CommitQueue(objects);
  queue.add(from);
  let seen = 0;
  for (let shown = 0; shown < limit; ) {
    const commit = queue.take();
    if (!commit) return;
    if (++seen % BREATH === 0) await breathe();
    const parents = firstParent ? commit.parents.slice(0, 1) : commit.parents;
    if (path === undefined) {
      for (const parent of parents) queue.add(parent);
    } else {
      const own = contentAt(objects, commit, path);
      const same = parents.find((parent) => contentAt(objects, objects.commit(parent), path) === own);
      for (const parent of same === undefined ? parents : [same]) queue.add(parent);
      if (same !== undefined || (parents.length === 0 && own === "")) continue;
    }
    shown++;
    yield commit;
  }
}

export function isAncestor(objects: Objects, ancestor: Oid, of: Oid): boolean {
  return ancestor === of || paintDown(objects, ancestor, of).includes(ancestor);
}

/** The best common ancestors, newest first; more than one after merges in both directions. */
export function findMergeBases(objects: Objects, a: Oid, b: Oid): Oid[] {
  if (a === b) return [a];
  const candidates = paintDown(objects, a, b);
  return candidates.filter((base) => !candidates.some((other) => other !== base && isAncestor(objects, base, other)));
}

const FROM_A = 1;
const FROM_B = 2;
/** Below a common ancestor already: not a best one. */
const STALE = 4;

/** Common ancestors that are not known to be below another one. */
function paintDown(objects: Objects, a: Oid, b: Oid): Oid[] {
  const flags = new Map<Oid, number>();
  const queue = new CommitQueue(objects);
  const paint = (oid: Oid, flag: number) => {
    const before = flags.get(oid) ?? 0;
    if ((before | flag) === before) return;
    flags.set(oid, before | flag);
    // Painted again with more: its parents must learn it.
    queue.add(oid, true);
  };
  paint(a, FROM_A);
  paint(b, FROM_B);
  const found: Oid[] = [];
  while (queue.some((oid) => !((flags.get(oid) ?? 0) & STALE))) {
    const commit = queue.take()!;
    let flag = flags.get(commit.oid)!;
    if ((flag & (FROM_A | FROM_B)) === (FROM_A | FROM_B)) {
      if (!(flag & STALE) && !found.includes(commit.oid)) found.push(commit.oid);
      flag |= STALE;
    }
    for (const parent of commit.parents) paint(parent, flag);
  }
  return found.filter((oid) => !(flags.get(oid)! & STALE));
}

/** By committer date, newest first; each commit once. */
class CommitQueue {
  readonly #waiting: { commit: Commit; time: number }[] = [];
  readonly #seen = new Set<Oid>();

  constructor(private readonly objects: Objects) {}

  add(oid: Oid, again = false): void {
    if (again ? this.#waiting.some(({ commit }) => commit.oid === oid) : this.#seen.has(oid)) return;
    this.#seen.add(oid);
    const commit = this.objects.commit(oid);
    const time = Date.parse(commit.committer.at);
    // Ascending, so that the newest is taken from the end; of equals the first added comes first.
    let low = 0;
    let high = this.#waiting.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#waiting[middle]!.time < time) low = middle + 1;
      else high = middle;
    }
    this.#waiting.splice(low, 0, { commit, time });
  }

  take(): Commit | undefined {
    return this.#waiting.pop()?.commit;
  }

  some(test: (oid: Oid) => boolean): boolean {
    return this.#waiting.some(({ commit }) => test(commit.oid));
  }
}

/** Equal for equal content; `""`: nothing there. */
function contentAt(objects: Objects, commit: Commit, path: string): string {
  const item = findItem(objects, commit.tree, path);
  return item ? `${item.mode} ${item.oid}` : "";
}
