// A git object store in memory, with git's own object ids: merges are tested on it, and compared with real git.

import { LettaError } from "@/lib/errors.ts";
import type { Commit, FileMode, ObjectStore, Oid } from "@/store/git/types.ts";

export type FileSpec = string | Uint8Array | { mode: FileMode; content: string };

export interface MemoryObjects extends ObjectStore {
  /** The tree with these files, by path. */
  tree(files: Record<string, FileSpec>): Promise<Oid>;
  /** What a tree holds, by path: text of a plain file, `mode:text` of any other. */
  files(tree: Oid): Promise<Record<string, string>>;
  addCommit(tree: Oid, parents?: Oid[]): Oid;
  /** How many trees were read since the store was made. */
  readonly treeReads: number;
  /** Blobs and trees by now. */
  readonly size: number;
}

type Item = { name: string; mode: FileMode | "40000"; oid: Oid };

export function memoryObjects(): MemoryObjects {
  const blobs = new Map<Oid, Uint8Array>();
  const trees = new Map<Oid, Item[]>();
  const commits = new Map<Oid, Commit>();
  let treeReads = 0;

  const take = <T>(from: Map<Oid, T>, oid: Oid): T => {
    const found = from.get(oid);
    if (found === undefined) throw new LettaError("not_found", `no object ${oid}`);
    return found;
  };

  const store: MemoryObjects = {
    get treeReads() {
      return treeReads;
    },
    get size() {
      return blobs.size + trees.size;
    },
    readCommit: async (oid) => take(commits, oid),
    readBlob: async (oid) => take(blobs, oid),
    async readTree(oid) {
      treeReads++;
      return take(trees, oid);
    },
    async writeBlob(content) {
      const oid = objectId("blob", content);
      blobs.set(oid, content);
      return oid;
    },
    async writeTree(entries) {
      const sorted = [...entries].sort((a, b) => Buffer.compare(sortKey(a), sortKey(b)));
      const parts = sorted.flatMap(({ mode, name, oid }) => [
        Buffer.from(`${mode} ${name}\0`),
        Buffer.from(oid, "hex"),
      ]);
      const oid = objectId("tree", Buffer.concat(parts));
      trees.set(oid, sorted);
      return oid;
    },
    async tree(files) {
      const items: Item[] = [];
      const folders = new Map<string, Record<string, FileSpec>>();
      for (const [path, spec] of Object.entries(files)) {
        const slash = path.indexOf("/");
        if (slash < 0) {
          const { mode, content } =
            typeof spec === "object" && "mode" in spec ? spec : { mode: "100644" as const, content: spec };
          items.push({ name: path, mode, oid: await store.writeBlob(Buffer.from(content as string)) });
          continue;
        }
        const folder = path.slice(0, slash);
        folders.set(folder, { ...folders.get(folder), [path.slice(slash + 1)]: spec });
      }
      for (const [name, inside] of folders) items.push({ name, mode: "40000", oid: await store.tree(inside) });
      return store.writeTree(items);
    },
    async files(tree) {
      const found: Record<string, string> = {};
      for (const { name, mode, oid } of take(trees, tree)) {
        if (mode === "40000") {
          for (const [path, text] of Object.entries(await store.files(oid))) found[`${name}/${path}`] = text;
          continue;
        }
        const text = Buffer.from(take(blobs, oid)).toString();
        found[name] = mode === "100644" ? text : `${mode}:${text}`;
      }
      return found;
    },
    addCommit(tree, parents = []) {
      const by = { name: "Test", email: "test@example.com", at: "2026-01-02T03:04:05+00:00" };
      const message = `commit ${commits.size}\n`;
      const oid = objectId("commit", Buffer.from(JSON.stringify({ tree, parents, message })));
      commits.set(oid, { oid, tree, parents, author: by, committer: by, message });
      return oid;
    },
  };
  return store;
}

function objectId(type: string, content: Uint8Array): Oid {
  return new Bun.CryptoHasher("sha1").update(`${type} ${content.byteLength}\0`).update(content).digest("hex");
}

/** Git sorts a directory as if its name ended with a slash. */
function sortKey({ name, mode }: Item): Buffer {
  return Buffer.from(mode === "40000" ? `${name}/` : name);
}
