// Finds a repository's root and git directory by looking at files; no git binary. Also keeps our personal settings file
// out of the user's commits.

import { appendFileSync, lstatSync, mkdirSync, readFileSync } from "node:fs";
import { dirname, isAbsolute, join, resolve } from "node:path";

/** The nearest directory from `cwd` upwards holding `.git` (a directory, or a file in worktrees and submodules). */
export function findGitRoot(cwd: string): string | null {
  for (let directory = resolve(cwd); ; directory = dirname(directory)) {
    if (lstat(join(directory, ".git"))) return directory;
    if (directory === dirname(directory)) return null;
  }
}

export interface GitDirectories {
  /** Holds HEAD: `.git`, or `.git/worktrees/<name>`. */
  gitDir: string;
  /** Holds config, info and objects; differs from `gitDir` in a worktree. */
  commonDir: string;
}

/** Null when `.git` is neither a directory nor a readable `gitdir:` file. */
export function findGitDirectories(root: string): GitDirectories | null {
  const entry = join(root, ".git");
  const stat = lstat(entry);
  const target = stat?.isFile() ? /^gitdir: *(.+?)\s*$/.exec(readSmall(entry) ?? "")?.[1] : undefined;
  if (!stat?.isDirectory() && !target) return null;
  const gitDir = target ? resolve(root, target) : entry;
  // Git looks for this file in an ordinary `.git`, too.
  const common = readSmall(join(gitDir, "commondir"))?.trim();
  return { gitDir, commonDir: common ? (isAbsolute(common) ? common : join(gitDir, common)) : gitDir };
}

/** Text of a regular file of at most 1 MiB, else null. Checked first: a pipe or device would block. */
export function readSmall(path: string): string | null {
  const stat = lstat(path);
  if (!stat?.isFile() || stat.size > 1 << 20) return null;
  try {
    return readFileSync(path, "utf8");
  } catch {
    return null; // Not readable for us: the caller treats it like an absent file.
  }
}

/** Adds a line to `.git/info/exclude`: like `.gitignore`, without making the user's working tree dirty. */
export function ignoreLocally(root: string, pattern: string): void {
  const directories = findGitDirectories(root);
  if (!directories) return;
  const info = join(directories.commonDir, "info");
  const file = join(info, "exclude");
  // A hostile repository could link this file to a shell start-up script: only a regular file is appended to.
  if (lstat(info)?.isSymbolicLink() || (lstat(file) && !lstat(file)?.isFile())) return;
  const text = readSmall(file) ?? "";
  if (text.split(/\r?\n/).includes(pattern)) return;
  try {
    mkdirSync(info, { recursive: true });
    appendFileSync(file, `${text === "" || text.endsWith("\n") ? "" : "\n"}${pattern}\n`);
  } catch {
    /* A read-only repository: the file merely shows up as untracked. */
  }
}

function lstat(path: string) {
  try {
    return lstatSync(path, { throwIfNoEntry: false }) ?? null;
  } catch {
    return null; // A component is not a directory, or not ours to look into.
  }
}
