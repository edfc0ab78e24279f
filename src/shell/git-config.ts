// Can reading commands of git start programs here? Configuration inside a repository may name them (fsmonitor, filters,
// external diffs, pagers, signature checks), hooks may run when the index is refreshed, and submodules bring repositories
// of their own. An unpacked archive brings its own `.git`. Only what is known to be data is accepted; anything else, and
// anything not understood, means "maybe".

import { lstatSync, readdirSync, readFileSync, statSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { systemErrorCode } from "@/lib/errors.ts";
import { findGitDirectories, readSmall } from "@/store/git-root.ts";

/** Keys that are data, per section; `*` accepts every key of the section. */
const HARMLESS: Record<string, string | readonly string[]> = {
  core: "repositoryformatversion filemode bare logallrefupdates ignorecase precomposeunicode symlinks autocrlf eol safecrlf untrackedcache longpaths quotepath abbrev sparsecheckout sparsecheckoutcone checkstat trustctime whitespace commentchar".split(
    " ",
  ),
  extensions: ["objectformat", "refstorage", "worktreeconfig"],
  remote: ["url", "fetch", "pushurl", "tagopt", "mirror", "prune", "gh-resolved"],
  branch: "*",
  user: ["name", "email", "signingkey"],
  init: "*",
  push: ["default", "autosetupremote", "followtags"],
  pull: ["rebase", "ff"],
  fetch: ["prune", "prunetags", "parallel"],
  merge: ["conflictstyle", "ff"],
  rebase: ["autostash", "autosquash", "updaterefs"],
  color: "*",
  advice: "*",
  status: "*",
  commit: ["gpgsign"],
  tag: ["gpgsign", "sort"],
  // Not `recentobjectshook`.
  gc: ["auto", "autopacklimit", "autodetach", "pruneexpire", "reflogexpire", "reflogexpireunreachable", "packrefs"],
  submodule: ["active", "url", "branch"],
};

/** Answers for a directory. Remembers files that have not changed since. */
export function createGitConfigCheck(): (cwd: string) => boolean {
  const isConfigHarmless = remember(isConfigFileHarmless);
  const isIndexHarmless = remember((file) => !hasSubmodules(file));
  const isRepositoryHarmless = (root: string): boolean => {
    const directories = findGitDirectories(root);
    if (!directories) return false;
    const { gitDir, commonDir } = directories;
    return (
      isConfigHarmless(join(commonDir, "config")) &&
      isConfigHarmless(join(gitDir, "config.worktree")) &&
      isIndexHarmless(join(gitDir, "index")) &&
      // The only hook that reading commands run.
      !exists(join(commonDir, "hooks", "post-index-change"))
    );
  };
  return (cwd) => {
    // Every directory above: git passes over a `.git` it finds invalid, and we do not judge validity as it does.
    for (let directory = resolve(cwd); ; directory = dirname(directory)) {
      if (looksBare(directory)) return false;
      if (exists(join(directory, ".git")) && !isRepositoryHarmless(directory)) return false;
      if (directory === dirname(directory)) return true;
    }
  };
}

/** A missing file is harmless; a changed one is looked at again. */
function remember(judge: (file: string) => boolean): (file: string) => boolean {
  const seen = new Map<string, { stamp: string; harmless: boolean }>();
  return (file) => {
    const stat = lstatOrUnknown(file);
    if (stat === null) return true;
    if (stat === "unknown") return false;
    // ctime cannot be set back, unlike mtime.
    const stamp = `${stat.ino} ${stat.size} ${stat.mtimeMs} ${stat.ctimeMs}`;
    const known = seen.get(file);
    if (known?.stamp === stamp) return known.harmless;
    const harmless = stat.isFile() && judgeOrRefuse(judge, file);
    seen.set(file, { stamp, harmless });
    return harmless;
  };
}

function judgeOrRefuse(judge: (file: string) => boolean, file: string): boolean {
  try {
    return judge(file);
  } catch {
    return false; // Not readable for us: nobody knows what is in it.
  }
}

function isConfigFileHarmless(file: string): boolean {
  const text = readSmall(file);
  return text !== null && isHarmlessText(text);
}

/** Larger indexes are not looked at. */
const MAX_INDEX_BYTES = 64 << 20;
/** Mode 0160000 as the index stores it. */
const GITLINK_MODE = Buffer.from([0, 0, 0xe0, 0]);

/** Status and diff run git inside every submodule, with that repository's configuration. True also when unsure. */
function hasSubmodules(file: string): boolean {
  // Part of the entries may be in a second file.
  if (readdirSync(dirname(file)).some((name) => name.startsWith("sharedindex."))) return true;
  if (statSync(file).size > MAX_INDEX_BYTES) return true;
  const index = readFileSync(file);
  if (index.toString("latin1", 0, 4) !== "DIRC") return true;
  // Entries of versions 2 and 3 start at offset 12 and are aligned to 8; their mode is at 24.
  const aligned = index.readUInt32BE(4) < 4;
  for (let at = index.indexOf(GITLINK_MODE); at !== -1; at = index.indexOf(GITLINK_MODE, at + 1))
    if (!aligned || at % 8 === 4) return true;
  return false;
}

/** The text of one configuration file. */
export function isHarmlessText(text: string): boolean {
  let allowed: string | readonly string[] | undefined;
  for (const line of text.split(/\r?\n/)) {
    const trimmed = line.trim();
    if (trimmed === "" || trimmed.startsWith("#") || trimmed.startsWith(";")) continue;
    // A continued line could hide a key or a section from this reader.
    if (trimmed.endsWith("\\")) return false;
    const section = /^\[([a-z]+)(?: "[^"\\\n]*")?\]$/i.exec(trimmed)?.[1];
    if (section !== undefined) {
      allowed = Object.hasOwn(HARMLESS, section.toLowerCase()) ? HARMLESS[section.toLowerCase()] : undefined;
      if (allowed === undefined) return false;
      continue;
    }
    const key = /^([a-z][a-z0-9-]*)(?:\s*=.*)?$/i.exec(trimmed)?.[1]?.toLowerCase();
    if (key === undefined || allowed === undefined) return false;
    if (allowed !== "*" && !allowed.includes(key)) return false;
  }
  return true;
}

function looksBare(cwd: string): boolean {
  return exists(join(cwd, "HEAD")) && exists(join(cwd, "objects")) && exists(join(cwd, "refs"));
}

/** A place we may not look into may hold anything. */
function exists(path: string): boolean {
  return lstatOrUnknown(path) !== null;
}

function lstatOrUnknown(path: string) {
  try {
    return lstatSync(path, { throwIfNoEntry: false }) ?? null;
  } catch (error) {
    return systemErrorCode(error) === "ENOTDIR" ? null : "unknown";
  }
}
