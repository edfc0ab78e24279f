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
import { PLACEHOLDER_FILE_MODE, PLACEHOLDER_MODE } from "./placeholders.ts";
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
  isPlaceholder: (path) => {
    try {
      const stat = lstatSync(path);
      const mode = stat.mode & 0o777;
      if (stat.isFile()) return mode === PLACEHOLDER_FILE_MODE && stat.size === 0;
      return stat.isDirectory() && mode === PLACEHOLDER_MODE && readdirSync(path).length === 0;
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
  names: (path) => {
    try {
      return readdirSync(path);
    } catch {
      return [];
    }
  },
  read: (path) => readStart(path, READ_BYTES).toString("utf8"),
  bytes: readStart,
};

/** Empty when it is no file. */
function readStart(path: string, limit: number): Buffer {
  let fd: number;
  try {
    // A pipe in its place must not make us wait.
    fd = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch {
    return Buffer.alloc(0);
  }
  try {
    const stat = fstatSync(fd);
    if (!stat.isFile()) return Buffer.alloc(0);
    const bytes = Buffer.alloc(Math.min(limit, stat.size));
    return bytes.subarray(0, readSync(fd, bytes));
  } finally {
    closeSync(fd);
  }
}

/** Empty where there is none. */
export function readMountInfo(): string {
  try {
    return readFileSync("/proc/self/mountinfo", "utf8");
  } catch {
    return "";
  }
}
