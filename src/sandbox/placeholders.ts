// Holds names that do not exist yet with empty directories, so that something read-only can lie over them while a
// command runs. Git does not see empty directories, and removing one cannot remove anything else.

import { mkdirSync, rmdirSync } from "node:fs";
import { systemErrorCode } from "@/lib/errors.ts";
import { actInPlace } from "@/lib/place-handle.ts";

/** Tells ours from directories somebody made; nobody makes them unwritable for themselves. */
export const PLACEHOLDER_MODE = 0o555;

export class Placeholders {
  /** How many running commands need a name held. */
  readonly #held = new Map<string, number>();

  /** Throws when the name cannot be held. */
  hold(path: string): void {
    try {
      const made = actInPlace(path, (name) => mkdirSync(name, { mode: PLACEHOLDER_MODE }));
      if (!made) throw new Error(`the directory of ${path} was replaced`);
    } catch (error) {
      // Another command of ours, or one that was killed, holds it already.
      if (systemErrorCode(error) !== "EEXIST") throw error;
    }
    this.#held.set(path, (this.#held.get(path) ?? 0) + 1);
  }

  release(paths: readonly string[]): void {
    for (const path of paths) {
      const left = (this.#held.get(path) ?? 1) - 1;
      this.#held.set(path, left);
      if (left > 0) continue;
      this.#held.delete(path);
      try {
        actInPlace(path, rmdirSync);
      } catch {
        /* something is in it, or it has gone: not ours any more */
      }
    }
  }
}
