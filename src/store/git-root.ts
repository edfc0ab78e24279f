// Finds a repository's root and git directory by looking at files; no git binary. Also keeps our personal settings file
// out of the user's commits.

import { appendFileSync, lstatSync, mkdirSync, readFileSync, realpathSync } from "node:fs";
import { devNull } from "node:os";
import { dirname, isAbsolute, join, parse, resolve, sep } from "node:path";
import { systemErrorCode } from "@/lib/errors.ts";

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

/** Both as the system resolves them. Null also where git could read something else than we do: what a hostile `.git` or
 *  `commondir` says is taken only in the form git itself writes. */
export function findGitDirectories(root: string): GitDirectories | null {
  const place = resolvePhysically("/", resolve(root));
  const entry = place === null ? null : lstat(join(place, ".git"));
  if (place === null || !entry) return null;
  const gitDir = entry.isDirectory() ? join(place, ".git") : followGitFile(place);
  if (gitDir === null || !lstat(gitDir)?.isDirectory()) return null;
  // Git looks for this file in an ordinary `.git`, too.
  const link = join(gitDir, "commondir");
  if (isAbsent(link)) return { gitDir, commonDir: gitDir };
  const commonDir = followLine(link, "", gitDir);
  return commonDir === null || !lstat(commonDir)?.isDirectory() ? null : { gitDir, commonDir };
}

function followGitFile(root: string): string | null {
  return followLine(join(root, ".git"), "gitdir: ", root);
}

/** Longer ones are no path. */
const MAX_LINK_BYTES = 4096;

/** Where a file of one line leads. Git cuts line ends only, so blanks at the ends belong to the name for it. */
function followLine(file: string, prefix: string, base: string): string | null {
  if ((lstat(file)?.size ?? 0) > MAX_LINK_BYTES) return null;
  const text = readSmall(file) ?? "";
  const target = /^([^\p{Cc}\uFFFD]+)\r?\n?$/u.exec(text)?.[1];
  if (!target?.startsWith(prefix)) return null;
  const path = target.slice(prefix.length);
  return path === "" || path !== path.trim() ? null : resolvePhysically(base, path);
}

/** A path as the system walks it: `..` behind a link leaves the folder the link leads to. Null when it leads nowhere. */
export function resolvePhysically(base: string, path: string): string | null {
  try {
    let at = realpathSync(isAbsolute(path) ? parse(path).root : base);
    for (const segment of path.slice(isAbsolute(path) ? parse(path).root.length : 0).split(sep)) {
      if (segment === "" || segment === ".") continue;
      at = segment === ".." ? dirname(at) : realpathSync(join(at, segment));
    }
    return at;
  } catch {
    return null; // Not there, or not ours to look into.
  }
}

export interface GitRepository extends GitDirectories {
  /** Holds `.git`. */
  root: string;
}

/** The repository around a directory: `none` outside of any, null when that cannot be said for sure. */
export function findRepository(cwd: string): GitRepository | "none" | null {
  const start = resolvePhysically("/", resolve(cwd));
  if (start === null) return null;
  for (let directory = start; ; directory = dirname(directory)) {
    if (looksBare(directory)) return null;
    if (!isAbsent(join(directory, ".git"))) {
      const found = findGitDirectories(directory);
      return found && { root: directory, ...found };
    }
    if (directory === dirname(directory)) return "none";
  }
}

/** With a `commondir` in it, its objects are elsewhere. */
function looksBare(directory: string): boolean {
  const has = (name: string) => !isAbsent(join(directory, name));
  return has("HEAD") && (has("commondir") || (has("objects") && has("refs")));
}

/** A git started with these looks for no repository: it takes the one that was looked at. */
export function gitPlace(repository: GitRepository | "none"): Record<string, string> {
  if (repository === "none") return { GIT_DIR: devNull };
  const { root, gitDir, commonDir } = repository;
  return { GIT_DIR: gitDir, GIT_COMMON_DIR: commonDir, GIT_WORK_TREE: root };
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

/** For sure: a place we may not look into may hold anything. */
function isAbsent(path: string): boolean {
  try {
    return lstatSync(path, { throwIfNoEntry: false }) === undefined;
  } catch (error) {
    return systemErrorCode(error) === "ENOTDIR";
  }
}
