// The disk as policies look at it.

import { lstatSync, readdirSync, realpathSync } from "node:fs";
import type { ListDirectory } from "./landlock.ts";
import { PLACEHOLDER_MODE } from "./placeholders.ts";
import type { Disk } from "./profiles.ts";

export const realDisk: Disk = {
  kind: (path) => {
    try {
      const stat = lstatSync(path, { throwIfNoEntry: false });
      if (!stat) return null;
      return stat.isSymbolicLink() ? "link" : stat.isDirectory() ? "directory" : "file";
    } catch {
      return null; // A parent is a file, or closed to us.
    }
  },
  real: (path) => {
    try {
      return realpathSync(path);
    } catch {
      return null;
    }
  },
  isPlaceholder: (directory) => {
    try {
      return (lstatSync(directory).mode & 0o777) === PLACEHOLDER_MODE && readdirSync(directory).length === 0;
    } catch {
      return false;
    }
  },
};

/** Links are left out: what they lead to has rules of its own. */
export const listDirectory: ListDirectory = (path) => {
  try {
    return readdirSync(path, { withFileTypes: true }).flatMap((entry) =>
      entry.isSymbolicLink() ? [] : [{ name: entry.name, kind: entry.isDirectory() ? "directory" : "file" }],
    );
  } catch {
    return [];
  }
};
