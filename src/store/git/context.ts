// What the parts of the engine share about one opened working tree.

import type { Disk } from "./disk.ts";
import type { IndexStore } from "./index-store.ts";
import type { Objects } from "./objects.ts";
import type { Refs } from "./refs.ts";
import type { Scratch } from "./scratch.ts";

export interface GitContext {
  /** The working tree; absolute. */
  readonly dir: string;
  /** HEAD and index of this working tree: `.git`, or `.git/worktrees/<id>`. */
  readonly gitDir: string;
  /** Objects, branches, config: `.git`. */
  readonly commonDir: string;
  /** `<path>.lock` serialises writers of ours, for all working trees of the repository. */
  readonly writerLock: string;
  readonly disk: Disk;
  readonly scratch: Scratch;
  readonly objects: Objects;
  readonly refs: Refs;
  readonly index: IndexStore;
  /** The file system keeps the executable bit (`core.filemode`). */
  readonly fileMode: boolean;
  /** It has symbolic links (`core.symlinks`). */
  readonly symlinks: boolean;
  readonly now: () => number;
}
