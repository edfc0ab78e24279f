// Where files are written before they are renamed into place: `.git/letta/tmp`, out of sight of `git status`. Names carry
// the process, so that what a killed one left can be swept.

import { lstatSync } from "node:fs";
import { join } from "node:path";
import { isPidAlive } from "@/lib/process-stat.ts";
import type { Disk } from "./disk.ts";
import { ensureFolder, listFolder, removeFolder, removeQuietly } from "./folders.ts";
import { FOREIGN_LOCK_STALE_MS } from "./limits.ts";

export class Scratch {
  readonly #dir: string;

  constructor(
    /** Of the repository, not of a linked working tree. */
    private readonly commonDir: string,
    private readonly disk: Disk,
  ) {
    this.#dir = join(commonDir, "letta", "tmp");
  }

  /** A new name. The folder exists. */
  path(): string {
    ensureFolder(this.disk, join(this.commonDir, "letta"));
    ensureFolder(this.disk, this.#dir);
    return join(this.#dir, `${process.pid}-${crypto.randomUUID()}`);
  }

  /** Only under the writer's lock: then what belongs to another living process is young. */
  sweep(): void {
    for (const name of listFolder(this.#dir)) {
      const path = join(this.#dir, name);
      const stat = lstatSync(path, { throwIfNoEntry: false });
      const pid = Number.parseInt(name, 10);
      const old = stat && Date.now() - stat.mtimeMs > FOREIGN_LOCK_STALE_MS;
      if (!old && pid > 0 && isPidAlive(pid)) continue;
      if (stat?.isDirectory()) removeFolder(this.disk, path);
      else removeQuietly(this.disk, path);
    }
  }
}
