// Makes a repository that real git and this engine read the same way on every system: no line-end conversion, modes as the
// file system has them. Doing it again puts back what is missing and refreshes settings and hooks.

import { lstatSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { LettaError } from "@/lib/errors.ts";
import { storageError } from "@/store/atomic-file.ts";
import { readSmall } from "@/store/git-root.ts";
import { GitConfig } from "./config-file.ts";
import { type Disk, systemDisk } from "./disk.ts";
import { ensureFolder, isFolder, removeQuietly } from "./folders.ts";
import { lockGitFile, withWriterLock } from "./locks.ts";
import { assertRefName } from "./names.ts";
import { realFolder } from "./open.ts";
import { Scratch } from "./scratch.ts";

export interface InitOptions {
  /** Of a new repository. */
  branch: string;
  /** `section.key` → value; set also in a repository that exists. */
  config?: Record<string, string>;
  /** Hook → its script; replaces what is there. */
  hooks?: Record<string, string>;
  disk?: Disk;
}

const FOLDERS = [
  "objects",
  "objects/info",
  "objects/pack",
  "refs",
  "refs/heads",
  "refs/tags",
  "info",
  "hooks",
  "letta",
];

export async function prepareRepository(dir: string, options: InitOptions): Promise<void> {
  const { branch, config = {}, hooks = {}, disk = systemDisk } = options;
  const root = realFolder(dir);
  const gitDir = join(root, ".git");
  assertRefName(`refs/heads/${branch}`);
  const entry = lstatSync(gitDir, { throwIfNoEntry: false });
  if (entry && !entry.isDirectory()) throw new LettaError("conflict", `${gitDir} is not a folder`);
  try {
    makeFolders(disk, root);
    await withWriterLock(root, "init", async () => {
      ensureFolder(disk, gitDir);
      for (const folder of FOLDERS) ensureFolder(disk, join(gitDir, folder));
      const scratch = new Scratch(gitDir, disk);
      await writeConfig({ disk, scratch, commonDir: gitDir }, (current) => {
        for (const [name, value] of Object.entries(newDefaults(current))) current.set(name, value);
        for (const [name, value] of Object.entries(config)) current.set(name, value);
      });
      // Before anything of the repository's own .gitattributes: bytes are kept as they are.
      await writeMissing(disk, scratch, join(gitDir, "info", "attributes"), "* -text\n");
      await writeMissing(disk, scratch, join(gitDir, "info", "exclude"), "");
      for (const [name, script] of Object.entries(hooks)) await writeHook(disk, scratch, gitDir, name, script);
      // Last: with it the folder is a repository.
      await writeMissing(disk, scratch, join(gitDir, "HEAD"), `ref: refs/heads/${branch}\n`);
    });
  } catch (error) {
    throw error instanceof LettaError ? error : storageError(`cannot make a git repository in ${root}`, error);
  }
}

/** Reads, changes and writes `.git/config` under its lock; nothing is written when nothing changes. */
export async function writeConfig(
  { disk, scratch, commonDir }: { disk: Disk; scratch: Scratch; commonDir: string },
  change: (config: GitConfig) => void,
): Promise<void> {
  const path = join(commonDir, "config");
  const before = readSmall(path) ?? "";
  const preview = new GitConfig(before);
  change(preview);
  if (preview.toString() === before) return;
  using lock = await lockGitFile(disk, scratch, path);
  const config = new GitConfig(readSmall(path) ?? "");
  change(config);
  await lock.replace(new TextEncoder().encode(config.toString()));
}

function newDefaults(current: GitConfig): Record<string, string> {
  const wanted = {
    "core.repositoryformatversion": "0",
    "core.filemode": process.platform === "win32" ? "false" : "true",
    "core.bare": "false",
    "core.logallrefupdates": "true",
    "core.autocrlf": "false",
    "core.eol": "lf",
  };
  return Object.fromEntries(Object.entries(wanted).filter(([name]) => current.get(name) === null));
}

async function writeMissing(disk: Disk, scratch: Scratch, path: string, text: string): Promise<void> {
  if (!lstatSync(path, { throwIfNoEntry: false })) await put(disk, scratch, path, text, 0o666);
}

async function writeHook(disk: Disk, scratch: Scratch, gitDir: string, name: string, script: string): Promise<void> {
  if (!/^[a-z-]+$/.test(name))
    throw new LettaError("invalid_data", `${JSON.stringify(name)} is not the name of a hook`);
  const path = join(gitDir, "hooks", name);
  const old = lstatSync(path, { throwIfNoEntry: false });
  if (old?.isFile() && (old.mode & 0o100) !== 0 && readFileSync(path, "utf8") === script) return;
  await put(disk, scratch, path, script, 0o777);
}

async function put(disk: Disk, scratch: Scratch, path: string, text: string, mode: number): Promise<void> {
  const temporary = scratch.path();
  await disk.create(temporary, [new TextEncoder().encode(text)], { mode, durable: true });
  try {
    disk.rename(temporary, path);
  } catch (error) {
    removeQuietly(disk, temporary);
    throw error;
  }
}

function makeFolders(disk: Disk, path: string): void {
  if (isFolder(path)) return;
  const parent = resolve(path, "..");
  // The way to the repository is the user's and may have links in it.
  if (!lstatSync(parent, { throwIfNoEntry: false })) makeFolders(disk, parent);
  ensureFolder(disk, path);
}
