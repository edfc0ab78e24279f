// Can reading commands of git start programs here? Configuration inside a repository may name them (fsmonitor, filters,
// external diffs, pagers, signature checks), and an unpacked archive brings its own `.git`. Only sections and keys known
// to be data are accepted; anything else, and anything not understood, means "maybe".

import { lstatSync } from "node:fs";
import { join } from "node:path";
import { findGitDirectories, findGitRoot, readSmall } from "@/store/git-root.ts";

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
  gc: "*",
  submodule: ["active", "url", "branch"],
};

/** Answers for a directory. Remembers configuration files that have not changed since. */
export function createGitConfigCheck(): (cwd: string) => boolean {
  const seen = new Map<string, { stamp: string; harmless: boolean }>();
  const isFileHarmless = (file: string): boolean => {
    const stat = lstatSync(file, { throwIfNoEntry: false });
    if (!stat) return true;
    // ctime cannot be set back, unlike mtime.
    const stamp = `${stat.ino} ${stat.size} ${stat.mtimeMs} ${stat.ctimeMs}`;
    const known = seen.get(file);
    if (known?.stamp === stamp) return known.harmless;
    const text = readSmall(file);
    const harmless = text !== null && isHarmlessText(text);
    seen.set(file, { stamp, harmless });
    return harmless;
  };
  return (cwd) => {
    const root = findGitRoot(cwd);
    // Without `.git` git would still take a directory that merely looks like a bare repository.
    if (looksBare(cwd)) return false;
    if (root === null) return true;
    const directories = findGitDirectories(root);
    if (!directories) return false;
    return (
      isFileHarmless(join(directories.commonDir, "config")) &&
      isFileHarmless(join(directories.gitDir, "config.worktree"))
    );
  };
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

function exists(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
}
