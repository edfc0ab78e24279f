// What a remote sent becomes part of the repository only as a whole: every object is hashed again under the name it goes
// by, and from the branch's new tip everything must be there under names that are safe in a working tree, before any of
// it is kept.

import { LettaError } from "@/lib/errors.ts";
import { assertSafePath } from "./names.ts";
import { formatTree, parseCommit, parseTree } from "./object-format.ts";
import { RemoteError } from "./remote.ts";
import { MAX_FETCHED_BYTES } from "./remote-limits.ts";
import type { Oid, StoredObjects } from "./types.ts";

export type FetchedObject = ReturnType<StoredObjects["read"]>;

/** `fetched`: the names of what came, and a way to read it. Throws before anything is stored. */
export async function importObjects(
  objects: StoredObjects,
  tip: Oid,
  fetched: { oids: readonly Oid[]; read(oid: Oid): Promise<FetchedObject> },
): Promise<void> {
  const arrived = new Map<Oid, FetchedObject>();
  let size = 0;
  for (const oid of fetched.oids) {
    const object = await fetched.read(oid);
    size += object.content.length;
    if (size > MAX_FETCHED_BYTES)
      throw new RemoteError("limit", `the remote sent more than ${MAX_FETCHED_BYTES} bytes.`);
    arrived.set(oid, object);
  }
  assertComplete(objects, arrived, tip);
  for (const [oid, { type, content }] of arrived) {
    if (objects.put(type, content) !== oid) throw broken(`object ${oid} is another one`);
  }
  await objects.flush();
}

function assertComplete(objects: StoredObjects, arrived: ReadonlyMap<Oid, FetchedObject>, tip: Oid): void {
  const seen = new Set<Oid>();
  const open: { oid: Oid; type: FetchedObject["type"] }[] = [{ oid: tip, type: "commit" }];
  for (let next = open.pop(); next; next = open.pop()) {
    const { oid, type } = next;
    if (seen.has(oid)) continue;
    seen.add(oid);
    const object = arrived.get(oid);
    if (!object) {
      // What was here before is whole with everything below it.
      if (objects.has(oid)) continue;
      throw broken(`${type} ${oid} is missing`);
    }
    if (object.type !== type) throw broken(`${oid} is a ${object.type}, not a ${type}`);
    if (type === "blob") continue;
    for (const link of linksOf(oid, object)) open.push(link);
  }
}

function linksOf(oid: Oid, { type, content }: FetchedObject): { oid: Oid; type: FetchedObject["type"] }[] {
  try {
    if (type === "commit") {
      const { tree, parents } = parseCommit(oid, content);
      return [{ oid: tree, type: "tree" }, ...parents.map((parent) => ({ oid: parent, type: "commit" as const }))];
    }
    const entries = parseTree(oid, content);
    for (const { name } of entries) assertSafePath(name);
    // Sorted, and each name once: what git's strict check asks for, and what a merge relies on.
    const sorted = parseTree(oid, formatTree(entries));
    if (sorted.some(({ name }, at) => name !== entries[at]!.name)) throw broken(`tree ${oid} is out of order`);
    const own = entries.filter(({ mode }) => mode !== "160000");
    return own.map(({ oid, mode }) => ({ oid, type: mode === "40000" ? "tree" : "blob" }));
  } catch (error) {
    if (error instanceof LettaError) throw broken(error.message, error);
    throw error;
  }
}

function broken(what: string, cause?: unknown): RemoteError {
  return new RemoteError("invalid_data", `what the remote sent cannot be used: ${what}.`, { cause });
}
