// The repository as isomorphic-git sees it while it talks to a remote: a file system in memory whose object files are
// read from our store and whose refs are what we say. Nothing it writes reaches the disk, and the repository's own
// configuration, which a model or a remote may have rewritten, is never read.

import { deflateSync } from "node:zlib";
import type { Oid, StoredObjects } from "./types.ts";

export const VIEW_DIR = "/view";

/** Its refs of the remote `remote` end with the view. */
const CONFIG = `[core]
	repositoryformatversion = 0
	bare = true
[remote "remote"]
	fetch = +refs/heads/*:refs/remotes/remote/*
`;

export interface ObjectView {
  /** For isomorphic-git's `fs`. */
  fs: { promises: Record<string, (path: string, ...rest: never[]) => Promise<unknown>> };
  /** What it wrote below `objects/pack`, by name. */
  packs(): Map<string, Uint8Array>;
}

export function createObjectView(objects: StoredObjects, refs: Readonly<Record<string, Oid>>): ObjectView {
  const files = new Map<string, Uint8Array>();
  const at = (path: string): string => `${VIEW_DIR}/${path}`;
  files.set(at("HEAD"), Buffer.from("ref: refs/heads/main\n"));
  files.set(at("config"), Buffer.from(CONFIG));
  for (const [ref, oid] of Object.entries(refs)) files.set(at(ref), Buffer.from(`${oid}\n`));

  const objectAt = (path: string): Oid | null => {
    const [, folder, name] = /\/objects\/([0-9a-f]{2})\/([0-9a-f]{38})$/.exec(path) ?? [];
    return folder && name ? folder + name : null;
  };
  const find = (path: string): Uint8Array | null => {
    const oid = objectAt(path);
    if (oid === null) return files.get(path) ?? null;
    if (!objects.has(oid)) return null;
    const { type, content } = objects.read(oid);
    return deflateSync(Buffer.concat([Buffer.from(`${type} ${content.length}\0`), content]), { level: 1 });
  };
  const children = (path: string): string[] => {
    const names = [...files.keys()].filter((file) => file.startsWith(`${path}/`));
    return [...new Set(names.map((file) => file.slice(path.length + 1).split("/")[0]!))];
  };
  const stat = async (path: string): Promise<unknown> => {
    const oid = objectAt(path);
    const isFile = oid === null ? files.has(path) : objects.has(oid);
    if (!isFile && (oid !== null || children(path).length === 0)) throw absent(path);
    return { isFile: () => isFile, isDirectory: () => !isFile, isSymbolicLink: () => false, size: 0, mode: 0o644 };
  };

  return {
    fs: {
      promises: {
        async readFile(path: string, options?: { encoding?: string } | string) {
          const content = find(path);
          if (content === null) throw absent(path);
          const encoding = typeof options === "string" ? options : options?.encoding;
          return encoding === undefined ? content : Buffer.from(content).toString("utf8");
        },
        async writeFile(path: string, content: Uint8Array | string) {
          files.set(path, typeof content === "string" ? Buffer.from(content) : content);
        },
        async readdir(path: string) {
          const names = children(path);
          if (names.length === 0) throw absent(path);
          return names;
        },
        async unlink(path: string) {
          if (!files.delete(path)) throw absent(path);
        },
        async mkdir() {},
        async rmdir() {},
        async readlink(path: string) {
          throw absent(path);
        },
        async symlink(path: string) {
          throw absent(path);
        },
        stat,
        lstat: stat,
      },
    },
    packs() {
      const folder = at("objects/pack/");
      const found = [...files].filter(([path]) => path.startsWith(folder));
      return new Map(found.map(([path, content]) => [path.slice(folder.length), content]));
    },
  };
}

function absent(path: string): Error {
  return Object.assign(new Error(`ENOENT: no such file or directory, '${path}'`), { code: "ENOENT" });
}
