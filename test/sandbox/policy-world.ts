// A disk in a table, and a policy for it: what renderers and profiles are tested with.

import { basename, dirname } from "node:path";
import type { ListDirectory } from "@/sandbox/landlock.ts";
import { buildPolicy, type Disk, type ProfileInput } from "@/sandbox/profiles.ts";

/** Paths by kind; parents are directories by themselves. A link is written `link:<target>`. */
export type DiskTable = Record<string, "file" | "directory" | "placeholder" | `link:${string}`>;

export const HOME_DISK: DiskTable = {
  "/dev/null": "file",
  "/dev/sda": "file",
  "/etc/shadow": "file",
  "/home/ann/.bashrc": "file",
  "/home/ann/.ssh": "directory",
  "/home/ann/.netrc": "file",
  "/home/ann/notes": "directory",
  "/home/ann/.letta/agents": "directory",
  "/home/ann/.letta/bin": "directory",
  "/home/ann/.letta/local": "directory",
  "/home/ann/app/.git/config": "file",
  "/home/ann/app/.git/hooks": "directory",
  "/home/ann/app/.git/objects": "directory",
  "/home/ann/app/src": "directory",
  "/home/ann/app/package.json": "file",
  "/var/private": "directory",
};

export function tableDisk(table: DiskTable): Disk & { list: ListDirectory } {
  const kinds = new Map<string, string>(Object.entries(table));
  for (const path of Object.keys(table)) {
    for (let parent = dirname(path); !kinds.has(parent); parent = dirname(parent)) kinds.set(parent, "directory");
  }
  const kind: Disk["kind"] = (path) => {
    const found = kinds.get(path);
    if (found === undefined) return null;
    return found.startsWith("link:") ? "link" : found === "file" ? "file" : "directory";
  };
  return {
    kind,
    real: (path) => {
      const found = kinds.get(path);
      return found?.startsWith("link:") ? found.slice(5) : found === undefined ? null : path;
    },
    isPlaceholder: (path) => kinds.get(path) === "placeholder",
    read: () => "",
    bytes: () => Buffer.alloc(0),
    names: (path) =>
      [...kinds.keys()].filter((child) => child !== "/" && dirname(child) === path).map((child) => basename(child)),
    list: (path) =>
      [...kinds.keys()]
        .filter((child) => child !== "/" && dirname(child) === path)
        .sort()
        .flatMap((child) => {
          const found = kind(child);
          return found === null || found === "link"
            ? []
            : [{ name: child.slice(path.length).replace("/", ""), kind: found }];
        }),
  };
}

export const ANN: ProfileInput = {
  profile: "workspace",
  network: "off",
  workspace: ["/home/ann/app"],
  home: "/home/ann",
  lettaRoot: "/home/ann/.letta",
  localStore: "/home/ann/.letta/local",
  readable: [],
  denyRead: [],
  deniesRead: null,
  guarded: [],
  tmp: "/var/private",
};

export function policyOf(input: Partial<ProfileInput> = {}, table: DiskTable = HOME_DISK) {
  return buildPolicy({ ...ANN, ...input }, tableDisk(table));
}
