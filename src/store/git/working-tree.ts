// Changes files of the working tree together: everything is written aside first, then put in place by renames, and can be
// taken back by renames, so that neither a full disk nor an error in the middle leaves a half.

import { lstatSync, readFileSync, readlinkSync } from "node:fs";
import { join } from "node:path";
import { LettaError, systemErrorCode } from "@/lib/errors.ts";
import { storageError } from "@/store/atomic-file.ts";
import type { GitContext } from "./context.ts";
import type { DiskPath } from "./disk.ts";
import { assertNoFiles, isFolder, makeParents, removeEmptyParents, removeFolder, removeQuietly } from "./folders.ts";
import { assertSafePath, toDiskPath } from "./names.ts";
import type { FileMode } from "./types.ts";
import { readWorkingFile, statFile } from "./working-file.ts";

export interface PlannedFile {
  path: string;
  /** Null: the file goes. Called once, when it is written. */
  content: (() => Uint8Array) | null;
  mode: FileMode;
}

/** Above so many files they are not synced one by one: their content is safe in the objects. */
const SYNC_UP_TO = 200;
const WRITES_AT_ONCE = 64;
/** File systems without hard links, or with the repository on another one. */
const NO_LINKS = new Set(["EPERM", "EACCES", "ENOTSUP", "EOPNOTSUPP", "ENOSYS", "EXDEV", "EMLINK", "EINVAL"]);

export class WorkingTreeChange {
  readonly #staged: { path: string; temporary: string | null }[] = [];
  readonly #undo: (() => void | Promise<void>)[] = [];
  readonly #leftovers: string[] = [];
  /** Where something was deleted: their folders may be empty now. */
  readonly #deleted: string[] = [];

  constructor(private readonly git: GitContext) {}

  /** Writes the files aside. Nothing is visible yet. */
  async stage(files: readonly PlannedFile[]): Promise<void> {
    for (const { path } of files) assertSafePath(path);
    const durable = files.length <= SYNC_UP_TO;
    for (let from = 0; from < files.length; from += WRITES_AT_ONCE) {
      const writes = files.slice(from, from + WRITES_AT_ONCE).map(async (file) => {
        const temporary = file.content ? this.git.scratch.path() : null;
        this.#staged.push({ path: file.path, temporary });
        if (temporary) {
          this.#leftovers.push(temporary);
          await this.#write(file, temporary, durable);
        }
      });
      const failed = (await Promise.allSettled(writes)).find((result) => result.status === "rejected");
      if (failed) throw failed.reason;
    }
  }

  /** Puts them in place, deletions first: a file may become a folder. */
  async publish(): Promise<void> {
    const { git } = this;
    for (const { path, temporary } of this.#staged) if (!temporary) this.#remove(path);
    for (const { path, temporary } of this.#staged) {
      if (!temporary) continue;
      const target = toDiskPath(git.dir, path);
      const made = makeParents(git.disk, git.dir, path);
      if (made.length > 0) this.#undo.push(() => removeEmptyParents(git.disk, git.dir, path));
      try {
        const putBack = this.#keep(path, target);
        await this.#put(path, temporary);
        this.#undo.push(putBack);
      } catch (error) {
        if (["EISDIR", "ENOTEMPTY", "EEXIST", "ENOTDIR"].includes(systemErrorCode(error) ?? ""))
          throw new LettaError("conflict", `${join(git.dir, path)} is a folder with files of its own`, {
            cause: error,
          });
        throw error instanceof LettaError ? error : storageError(`cannot write ${join(git.dir, path)}`, error);
      }
    }
  }

  /** Everything as it was. Goes on after a failure, and throws the first. */
  async rollBack(): Promise<void> {
    let first: unknown;
    for (const undo of this.#undo.splice(0).reverse()) {
      try {
        await undo();
      } catch (error) {
        first ??= error;
      }
    }
    this.#deleted.length = 0;
    this.finish();
    if (first) throw storageError(`cannot put back what was in ${this.git.dir}`, first);
  }

  /** Removes what was written aside, and folders with nothing in them any more. */
  finish(): void {
    const { disk, dir } = this.git;
    for (const path of this.#deleted.splice(0)) removeEmptyParents(disk, dir, path);
    for (const path of this.#leftovers.splice(0)) {
      const stat = lstatSync(path, { throwIfNoEntry: false });
      if (stat?.isDirectory()) removeFolder(disk, path);
      else if (stat) removeQuietly(disk, path);
    }
  }

  async #write(file: PlannedFile, temporary: string, durable: boolean): Promise<void> {
    const { disk, dir, symlinks } = this.git;
    const content = file.content!();
    try {
      if (file.mode === "120000" && symlinks) disk.symlink(Buffer.from(content), temporary);
      else await disk.create(temporary, [content], { mode: file.mode === "100755" ? 0o777 : 0o666, durable });
    } catch (error) {
      throw storageError(`cannot write ${join(dir, file.path)}`, error);
    }
    const old = statFile(dir, file.path);
    if (old?.kind !== "file" || file.mode === "120000") return;
    // Who made a file private keeps it so; the executable bit follows the new mode.
    const plain = old.permissions & 0o666;
    const wanted = file.mode === "100755" ? plain | ((plain & 0o444) >> 2) : plain;
    const stat = lstatSync(temporary);
    if ((stat.mode & 0o777) !== wanted) disk.chmod(temporary, wanted);
  }

  #remove(path: string): void {
    const { git } = this;
    const target = toDiskPath(git.dir, path);
    const stat = statFile(git.dir, path);
    if (!stat || stat.kind === "folder") return;
    try {
      const putBack = this.#keep(path, target);
      git.disk.remove(target);
      this.#undo.push(putBack);
    } catch (error) {
      throw storageError(`cannot delete ${join(git.dir, path)}`, error);
    }
    // Not before everything stands: making the folder again may need space that is not there.
    this.#deleted.push(path);
  }

  /** Keeps the old file under a second name; returns how to put it back. */
  #keep(path: string, target: DiskPath): () => void | Promise<void> {
    const { disk, dir, scratch } = this.git;
    const stat = statFile(dir, path);
    if (!stat || stat.kind === "folder") return () => removeIfThere(() => disk.remove(target));
    const backup = scratch.path();
    try {
      disk.link(target, backup);
      this.#leftovers.push(backup);
      return () => disk.rename(backup, target);
    } catch (error) {
      if (!NO_LINKS.has(systemErrorCode(error) ?? "")) throw error;
      // The content is kept in memory, and written again.
    }
    const content = readWorkingFile(dir, path, stat);
    return async () => {
      removeIfThere(() => disk.remove(target));
      if (stat.kind === "link") disk.symlink(Buffer.from(content), target);
      else await disk.create(target, [content], { mode: stat.permissions, durable: true });
    };
  }

  async #put(path: string, temporary: string): Promise<void> {
    const { disk, dir } = this.git;
    const target = toDiskPath(dir, path);
    if (isFolder(target)) this.#moveAside(target);
    try {
      disk.rename(temporary, target);
    } catch (error) {
      if (systemErrorCode(error) !== "EXDEV") throw error;
      // A linked working tree on another disk than the repository: the same once more, beside the file.
      const folder = path.slice(0, path.lastIndexOf("/") + 1);
      const beside = toDiskPath(dir, `${folder}.letta-${process.pid}-${crypto.randomUUID()}.tmp`);
      const stat = lstatSync(temporary);
      if (stat.isSymbolicLink()) disk.symlink(readlinkSync(temporary, "buffer"), beside);
      else await disk.create(beside, [readFileSync(temporary)], { mode: stat.mode & 0o777, durable: true });
      try {
        disk.rename(beside, target);
      } catch (failed) {
        removeQuietly(disk, beside);
        throw failed;
      }
    }
  }

  /** Git keeps no empty folders, so one is in nobody's way. */
  #moveAside(folder: DiskPath): void {
    const { disk, scratch } = this.git;
    assertNoFiles(folder);
    const aside = scratch.path();
    disk.rename(folder, aside);
    this.#leftovers.push(aside);
    this.#undo.push(() => disk.rename(aside, folder));
  }
}

function removeIfThere(remove: () => void): void {
  try {
    remove();
  } catch (error) {
    if (systemErrorCode(error) !== "ENOENT") throw error;
  }
}
