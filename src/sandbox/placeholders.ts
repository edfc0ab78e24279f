// Holds names that do not exist yet with something empty, so that something read-only can lie over them while a command
// runs: a directory, which git does not see and whose removal cannot remove anything else, or a file where programs read
// one.

import { chmodSync, closeSync, lstatSync, mkdirSync, openSync, rmdirSync, unlinkSync } from "node:fs";
import { systemErrorCode } from "@/lib/errors.ts";
import { actInPlace } from "@/lib/place-handle.ts";

/** Tells ours from what somebody made; nobody makes a directory, or an empty file, unwritable for themselves. */
export const PLACEHOLDER_MODE = 0o555;
export const PLACEHOLDER_FILE_MODE = 0o444;
const USUAL_MODE = 0o755;

export class Placeholders {
  /** How many running commands need a name held. */
  readonly #held = new Map<string, number>();

  /** Throws when the name cannot be held. */
  hold(path: string, kind: "file" | "directory"): void {
    try {
      const make = (name: string): void => {
        if (kind === "directory") mkdirSync(name, { mode: PLACEHOLDER_MODE });
        else closeSync(openSync(name, "wx", PLACEHOLDER_FILE_MODE));
      };
      if (!actInPlace(path, make)) throw new Error(`the directory of ${path} was replaced`);
    } catch (error) {
      // Another command of ours, or one that was killed, holds it already.
      if (systemErrorCode(error) !== "EEXIST") throw error;
    }
    this.#held.set(path, (this.#held.get(path) ?? 0) + 1);
  }

  /** Makes those ordinary that a killed run left and somebody has put something into. */
  adopt(directories: readonly string[]): void {
    for (const path of directories) {
      try {
        actInPlace(path, (name) => {
          const stat = lstatSync(name);
          if (stat.isDirectory() && (stat.mode & 0o777) === PLACEHOLDER_MODE) chmodSync(name, USUAL_MODE);
        });
      } catch {
        /* not ours to change */
      }
    }
  }

  release(paths: readonly string[]): void {
    for (const path of paths) {
      const left = (this.#held.get(path) ?? 1) - 1;
      this.#held.set(path, left);
      if (left > 0) continue;
      this.#held.delete(path);
      try {
        actInPlace(path, remove);
      } catch {
        /* it has gone: not ours any more */
      }
    }
  }
}

function remove(name: string): void {
  const stat = lstatSync(name);
  const mode = stat.mode & 0o777;
  if (stat.isFile()) {
    if (stat.size === 0 && mode === PLACEHOLDER_FILE_MODE) unlinkSync(name);
    return;
  }
  try {
    rmdirSync(name);
  } catch (error) {
    // Somebody outside put something in, so it is theirs, and usable like any other.
    if (systemErrorCode(error) === "ENOTEMPTY" && mode === PLACEHOLDER_MODE) chmodSync(name, USUAL_MODE);
  }
}
