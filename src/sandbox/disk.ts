// The disk as policies look at it.

import {
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  realpathSync,
} from "node:fs";
import { PLACEHOLDER_MODE } from "./placeholders.ts";
import type { Disk } from "./profiles.ts";

/** Of a file somebody else may have written. */
const READ_BYTES = 64 * 1024;

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
  list: (path) => {
    try {
      return readdirSync(path, { withFileTypes: true }).flatMap((entry) => {
        if (entry.isSymbolicLink()) return [];
        return [{ name: entry.name, kind: entry.isDirectory() ? "directory" : entry.isFIFO() ? "pipe" : "file" }];
      });
    } catch {
      return [];
    }
  },
  read: (path) => {
    let fd: number;
    try {
      // A pipe in its place must not make us wait.
      fd = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    } catch {
      return "";
    }
    try {
      if (!fstatSync(fd).isFile()) return "";
      const bytes = Buffer.alloc(READ_BYTES);
      return bytes.toString("utf8", 0, readSync(fd, bytes));
    } finally {
      closeSync(fd);
    }
  },
};

/** Empty where there is none. */
export function readMountInfo(): string {
  try {
    return readFileSync("/proc/self/mountinfo", "utf8");
  } catch {
    return "";
  }
}
