// Can reading commands of git start programs here? Configuration inside a repository may name them (fsmonitor, filters,
// external diffs, pagers, signature checks), hooks may run when the index is refreshed, and submodules bring repositories
// of their own. An unpacked archive brings its own `.git`. Only what is known to be data is accepted; anything else, and
// anything not understood, means "maybe".

import { lstatSync, readdirSync, readFileSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { systemErrorCode } from "@/lib/errors.ts";
import { findRepository, type GitRepository, readSmall } from "@/store/git-root.ts";
import { holdsFilesOnly } from "./git-index.ts";

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
  status: [
    "short",
    "branch",
    "renames",
    "showuntrackedfiles",
    "relativepaths",
    "displaycommentprefix",
    "aheadbehind",
    "showstash",
  ],
  commit: ["gpgsign"],
  tag: ["gpgsign", "sort"],
  gc: "*",
  submodule: ["active", "url", "branch"],
};

/** The repository around a directory, or `none`; null where git might start something. Holds only for a git that is told
 *  to take this place (`gitPlace`) and looks for none itself. Remembers files that have not changed since. */
export function createGitConfigCheck(): (cwd: string) => GitRepository | "none" | null {
  const isConfigHarmless = remember(isConfigFileHarmless);
  const isIndexHarmless = remember(isIndexFileHarmless);
  return (cwd) => {
    const found = findRepository(cwd);
    if (found === null || found === "none") return found;
    const { gitDir, commonDir } = found;
    const harmless =
      isConfigHarmless(join(commonDir, "config")) &&
      isConfigHarmless(join(gitDir, "config.worktree")) &&
      isIndexHarmless(join(gitDir, "index")) &&
      // The only hook that reading commands run.
      !exists(join(commonDir, "hooks", "post-index-change")) &&
      isOurs(gitDir) &&
      isOurs(commonDir);
    return harmless ? found : null;
  };
}

/** What somebody else can change holds for no time. Git asks the same, but not where it is told the place. */
function isOurs(directory: string): boolean {
  const us = process.getuid?.();
  return us === undefined || lstatSync(directory).uid === us;
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

/** Status and diff run git inside every submodule, with that repository's configuration. False also when unsure. */
function isIndexFileHarmless(file: string): boolean {
  // Part of the entries may be in a second file.
  if (readdirSync(dirname(file)).some((name) => name.startsWith("sharedindex."))) return false;
  if (statSync(file).size > MAX_INDEX_BYTES) return false;
  return holdsFilesOnly(readFileSync(file));
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
