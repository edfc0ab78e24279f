// Finds the parts of a repository, and refuses what the engine cannot keep whole. A repository may have been made by
// somebody hostile: nothing in it leads outside its own folder.

import { lstatSync, realpathSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { LettaError } from "@/lib/errors.ts";
import { findGitDirectories, readSmall } from "@/store/git-root.ts";
import { GitConfig } from "./config-file.ts";
import type { GitContext } from "./context.ts";
import { type Disk, systemDisk } from "./disk.ts";
import { isFolder } from "./folders.ts";
import { IndexStore } from "./index-store.ts";
import { Objects } from "./objects.ts";
import { Refs } from "./refs.ts";
import { Scratch } from "./scratch.ts";

export interface OpenOptions {
  disk?: Disk;
  now?: () => number;
}

export function openContext(dir: string, { disk = systemDisk, now = Date.now }: OpenOptions = {}): GitContext {
  const root = realFolder(dir);
  const found = isFolder(root) ? findGitDirectories(root) : null;
  if (!found || !isFolder(found.gitDir)) throw new LettaError("not_found", `there is no git repository in ${root}`);
  const { gitDir } = found;
  const commonDir = resolve(found.commonDir);
  assertOwnParts(root, gitDir, commonDir);
  const config = readConfig(commonDir);
  assertSupported(commonDir, config);
  const scratch = new Scratch(commonDir, disk);
  return {
    dir: root,
    gitDir,
    commonDir,
    // Beside the main working tree, so that it is no part of any.
    writerLock: commonDir.endsWith("/.git") || commonDir.endsWith("\\.git") ? dirname(commonDir) : commonDir,
    disk,
    scratch,
    objects: new Objects(join(commonDir, "objects"), disk, scratch),
    refs: new Refs(gitDir, commonDir, disk, scratch, now),
    index: new IndexStore(join(gitDir, "index"), root, disk, scratch),
    fileMode: process.platform !== "win32" && (config.getBoolean("core.filemode") ?? true),
    symlinks: config.getBoolean("core.symlinks") ?? process.platform !== "win32",
    now,
  };
}

/** A link to a repository is a repository. */
export function realFolder(dir: string): string {
  try {
    return realpathSync(resolve(dir));
  } catch {
    return resolve(dir); // Not there.
  }
}

export function readConfig(commonDir: string): GitConfig {
  return new GitConfig(readSmall(join(commonDir, "config")) ?? "");
}

function assertOwnParts(root: string, gitDir: string, commonDir: string): void {
  // A linked working tree names its repository, and the repository names it back; anything else could point anywhere.
  if (resolve(gitDir) !== commonDir && dirname(dirname(resolve(gitDir))) !== commonDir)
    throw new LettaError("invalid_data", `${join(gitDir, "commondir")} leads to a repository it is no part of`);
  if (resolve(gitDir) !== commonDir) {
    const back = readSmall(join(gitDir, "gitdir"))?.trim();
    if (!back || !isSameFile(resolve(gitDir, back), join(root, ".git")))
      throw new LettaError("invalid_data", `${root} is not a working tree of the repository it names`, {
        hint: "After moving it, `git worktree repair` puts that right.",
      });
  }
  for (const part of ["objects", "refs"]) {
    if (!isFolder(join(commonDir, part)))
      throw new LettaError("not_found", `${commonDir} is not a git repository: ${part} is missing`);
  }
  if (!lstatSync(join(gitDir, "HEAD"), { throwIfNoEntry: false })?.isFile())
    throw new LettaError("not_found", `${gitDir} is not a git repository: HEAD is missing`);
}

function isSameFile(a: string, b: string): boolean {
  const [left, right] = [a, b].map((path) => lstatSync(path, { throwIfNoEntry: false, bigint: true }));
  return left !== undefined && right !== undefined && left.ino === right.ino && left.dev === right.dev;
}

function assertSupported(commonDir: string, config: GitConfig): void {
  const refuse = (what: string, hint: string) => {
    throw new LettaError("invalid_data", `${commonDir} ${what}, which is not supported`, { hint });
  };
  const format = config.get("extensions.objectformat");
  if (format !== null && format.toLowerCase() !== "sha1")
    refuse(`uses ${format} object ids`, "Make one with sha1, git's default.");
  const storage = config.get("extensions.refstorage");
  if (storage !== null && storage.toLowerCase() !== "files")
    refuse(`keeps refs as ${storage}`, "`git refs migrate --ref-format=files` changes that.");
  const version = Number(config.get("core.repositoryformatversion") ?? 0);
  const known = ["objectformat", "refstorage", "noop", "worktreeconfig", "preciousobjects"];
  const unknown = config.names("extensions.").find((name) => !known.includes(name.slice("extensions.".length)));
  if (version > 1) refuse(`has format version ${version}`, "A newer letta may know it.");
  if (version === 1 && unknown) refuse(`uses ${unknown}`, "Make an ordinary clone of it.");
  if ((readSmall(join(commonDir, "shallow")) ?? "").trim() !== "")
    refuse("has only a part of its history", "`git fetch --unshallow` fetches the rest.");
  if (config.getBoolean("core.bare")) refuse("is bare", "Make a clone of it that has a working tree.");
}
