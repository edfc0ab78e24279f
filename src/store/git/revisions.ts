// What a revision names: refs, tags, object ids and their beginnings, and `~N`, `^`, `^N` behind them.

import { LettaError } from "@/lib/errors.ts";
import { MAX_TAG_DEPTH } from "./limits.ts";
import { isRefName } from "./names.ts";
import { EMPTY_TREE, isOid, parseTag } from "./object-format.ts";
import type { Objects } from "./objects.ts";
import type { Refs } from "./refs.ts";
import type { Oid } from "./types.ts";

interface Store {
  objects: Objects;
  refs: Refs;
}

/** A commit (or whatever else an object id names), tags followed; null when there is none. */
export function resolveRevision({ objects, refs }: Store, revision: string): Oid | null {
  const [, base = "", suffix = ""] = /^(.*?)((?:~\d*|\^\d*)*)$/s.exec(revision) ?? [];
  let oid = resolveBase({ objects, refs }, base);
  for (const [, kind, digits] of suffix.matchAll(/([~^])(\d*)/g)) {
    const count = digits === "" ? 1 : Number(digits);
    if (oid === null || objects.read(oid).type !== "commit") return null;
    if (kind === "^") oid = count === 0 ? oid : (objects.commit(oid).parents[count - 1] ?? null);
    else for (let step = 0; step < count && oid !== null; step++) oid = objects.commit(oid).parents[0] ?? null;
  }
  return oid;
}

/** Of a commit, or a tree itself. Throws `not_found`. */
export function resolveTree(store: Store, revision: string): Oid {
  const oid = resolveRevision(store, revision);
  if (oid === null) throw new LettaError("not_found", `there is no revision ${JSON.stringify(revision)}`);
  if (oid === EMPTY_TREE) return oid;
  const { type } = store.objects.read(oid);
  if (type === "tree") return oid;
  if (type === "commit") return store.objects.commit(oid).tree;
  throw new LettaError("invalid_data", `${JSON.stringify(revision)} is a ${type}, not a commit`);
}

function resolveBase({ objects, refs }: Store, name: string): Oid | null {
  if (isOid(name)) return objects.has(name) ? peel(objects, name) : null;
  if (name === "HEAD" || name === "@") return refs.head().oid;
  for (const ref of [
    name,
    `refs/${name}`,
    `refs/tags/${name}`,
    `refs/heads/${name}`,
    `refs/remotes/${name}`,
    `refs/remotes/${name}/HEAD`,
  ]) {
    const oid = isRefName(ref) ? refs.read(ref) : null;
    if (oid) return peel(objects, oid);
  }
  if (!/^[0-9a-f]{4,39}$/.test(name)) return null;
  const found = objects.findByPrefix(name);
  // Git, too, takes a commit to be meant where other objects begin the same.
  const commits = found.length > 1 ? found.filter((oid) => objects.read(oid).type === "commit") : found;
  return commits.length === 1 ? peel(objects, commits[0]!) : null;
}

function peel(objects: Objects, oid: Oid): Oid {
  let current = oid;
  for (let depth = 0; depth < MAX_TAG_DEPTH; depth++) {
    if (current === EMPTY_TREE) return current;
    const { type, content } = objects.read(current);
    if (type !== "tag") return current;
    current = parseTag(current, content);
  }
  throw new LettaError("invalid_data", `the tag ${oid} leads nowhere`);
}
