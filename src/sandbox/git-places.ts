// What git obeys in a workspace: its directories wherever they are, the files that lead to them, and what settings hand
// their power on to. Git itself is not asked: it would obey.

import { dirname, join, resolve } from "node:path";
import { isHarmlessText } from "@/shell/git-config.ts";
import { readGitlinks } from "@/shell/git-index.ts";
import { GitConfig } from "@/store/git/config-file.ts";
import { isBeneath } from "./policy.ts";
import type { Disk } from "./profiles.ts";
import { scanWorkspace, type WorkspaceScan } from "./workspace-scan.ts";

/** More submodules, worktrees or included files are not looked at. */
const MAX_PLACES = 1000;
const MAX_CONFIGS = 32;
const MAX_CONFIG_BYTES = 1 << 20;
const MAX_INDEX_BYTES = 64 << 20;

/** Besides what the scan comes across: submodules the indexes name, for git enters those, however deep; and where `.git`
 *  files lead, as far as that is below the roots. */
export function scanRepositories(
  roots: readonly string[],
  disk: Disk,
  denies: ((path: string) => boolean) | null = null,
): WorkspaceScan {
  const found = scanWorkspace(roots, { list: disk.list, denies });
  const isInside = (path: string): boolean => roots.some((root) => isBeneath(path, root));
  const repositories = new Set(found.repositories);
  const links = new Set(found.links);
  const addLink = (link: string): void => {
    links.add(link);
    const target = leadsTo(link, disk);
    if (target !== null && isInside(target) && disk.kind(target) === "directory") repositories.add(target);
  };
  for (const link of found.links) addLink(link);
  for (const directory of repositories) {
    if (repositories.size + links.size > MAX_PLACES) break;
    for (const { name, kind } of disk.list(join(directory, "worktrees")))
      if (kind === "directory") repositories.add(join(directory, "worktrees", name));
    const top = workTree(directory, disk);
    if (top === null || !isInside(top)) continue;
    for (const place of submodules(directory, top, disk)) {
      const path = join(place, ".git");
      // A link on the way leads out of the names git looks at, and git does not follow it.
      if (!isInside(place) || disk.real(place) !== place) continue;
      if (disk.kind(path) === "directory") repositories.add(path);
      if (disk.kind(path) === "file") addLink(path);
    }
  }
  return { repositories: [...repositories], links: [...links], denied: found.denied };
}

/** The directory a `.git` file names. */
export function leadsTo(link: string, disk: Disk): string | null {
  const path = /^gitdir: ([\s\S]+?)[\r\n]*$/.exec(disk.read(link))?.[1];
  return path === undefined ? null : (disk.real(resolve(dirname(link), path)) ?? null);
}

/** Where the files of a git directory are; null when that is not below it by name. */
function workTree(directory: string, disk: Disk): string | null {
  if (directory.endsWith("/.git")) return dirname(directory);
  const back = disk.read(join(directory, "gitdir")).trim();
  return back === "" ? null : dirname(resolve(directory, back));
}

function submodules(directory: string, top: string, disk: Disk): string[] {
  // Part of an index may be in a file of its own.
  const shared = disk.list(directory).filter(({ name }) => name.startsWith("sharedindex."));
  return ["index", ...shared.map(({ name }) => name)]
    .flatMap((name) => readGitlinks(disk.bytes(join(directory, name), MAX_INDEX_BYTES)))
    .slice(0, MAX_PLACES)
    .map((path) => resolve(top, path));
}

export interface Named {
  /** Directories of hooks, and files of more settings. */
  places: string[];
  /** Files that commands in settings start, or may read as scripts. */
  programs: string[];
  /** Of these, what can only be meant as the path of a program, so that it counts before it exists. */
  certain: string[];
}

const DIRECTORY_KEYS = /^(?:core\.hookspath|init\.templatedir)$/;
const INCLUDE_KEYS = /^include(?:if\..*)?\.path$/;
const COMMAND_KEYS = new RegExp(
  `^(?:${[
    "core\\.(?:fsmonitor|editor|pager|sshcommand|askpass|gitproxy|alternaterefscommand)",
    ...["filter\\..*\\.(?:clean|smudge|process)", "diff\\.(?:.*\\.(?:textconv|command)|external)"],
    ...["merge\\..*\\.driver", "(?:merge|diff)tool\\..*\\.(?:cmd|path)", "credential\\.(?:.*\\.)?helper"],
    ...["gpg\\.(?:.*\\.)?(?:program|defaultkeycommand)", "sequence\\.editor", "interactive\\.difffilter"],
    ...["alias\\..*", "pager\\..*", "(?:browser|man)\\..*\\.(?:cmd|path)", "uploadpack\\.packobjectshook"],
    ...["remote\\..*\\.(?:uploadpack|receivepack)", "trailer\\..*\\.(?:cmd|command)", "submodule\\..*\\.update"],
    ...["hook\\..*\\.command", "gc\\.recentobjectshook", "guitool\\..*\\.cmd", "sendemail\\..*cmd"],
  ].join("|")})$`,
);

/** What settings name, of the system, the user and these git directories: each is asked for the files it has besides. */
export function createGitSettings(disk: Disk, home: string): (directory: string) => Named {
  const shared = readSettings(["/etc/gitconfig", join(home, ".config/git/config"), join(home, ".gitconfig")]);
  function readSettings(files: string[]): { file: string; name: string; value: string }[] {
    const settings = [];
    const queue = [...files];
    for (let at = 0; at < queue.length && at < MAX_CONFIGS; at++) {
      const file = queue[at]!;
      const text = disk.read(disk.real(file) ?? file);
      for (const { name, value } of text === "" ? [] : new GitConfig(text).entries()) {
        settings.push({ file, name, value });
        if (INCLUDE_KEYS.test(name)) queue.push(resolve(dirname(file), atHome(value, home)));
      }
    }
    return settings;
  }
  return (directory) => {
    const top = workTree(directory, disk) ?? directory;
    const common = disk.read(join(directory, "commondir")).trim();
    const own = ["config", "config.worktree"].map((name) => join(resolve(directory, common), name));
    const named: Named = { places: [], programs: [], certain: [] };
    for (const { file, name, value } of [...shared, ...readSettings([...own, join(directory, "config.worktree")])]) {
      if (INCLUDE_KEYS.test(name)) named.places.push(resolve(dirname(file), atHome(value, home)));
      if (DIRECTORY_KEYS.test(name)) named.places.push(resolve(top, atHome(value, home)));
      if (!COMMAND_KEYS.test(name)) continue;
      for (const [index, word] of value
        .split(/[\s;|&<>()"'`!=]+/)
        .filter(Boolean)
        .entries()) {
        const path = resolve(top, atHome(word, home));
        named.programs.push(path);
        if (/^\.{1,2}\//.test(word) || (index === 0 && word.includes("/"))) named.certain.push(path);
      }
    }
    return named;
  };
}

function atHome(path: string, home: string): string {
  return path.replace(/^~(?=\/)/, () => home);
}

/** Whether git, used in a repository that was not there before, would start nothing but itself. `known` are git
 *  directories whose settings are held. */
export function isPlain(path: string, disk: Disk, known: readonly string[]): boolean {
  if (disk.kind(path) !== "file") return isPlainDirectory(path, disk);
  const target = leadsTo(path, disk);
  // It may lead somewhere later.
  if (target === null) return false;
  if (known.includes(target)) return true;
  // A new worktree of a repository that is held.
  const common = disk.read(join(target, "commondir")).trim();
  if (common === "") return isPlainDirectory(target, disk);
  const repository = resolve(target, common);
  const isOfIt = known.includes(repository) && dirname(target) === join(repository, "worktrees");
  return isOfIt && hasPlainSettings(target, disk);
}

/** Ends the name of what a repository is no repository without. */
export const DISARMED = ".held";

export function disarmedFile(repository: string, disk: Disk): string {
  return disk.kind(repository) === "directory" ? join(repository, "HEAD") : repository;
}

function isPlainDirectory(directory: string, disk: Disk): boolean {
  const hooks = join(directory, "hooks");
  return (
    disk.kind(join(directory, "commondir")) === null &&
    hasPlainSettings(directory, disk) &&
    disk.kind(hooks) !== "link" &&
    disk.names(hooks).every((name) => name.endsWith(".sample"))
  );
}

function hasPlainSettings(directory: string, disk: Disk): boolean {
  const modules = join(directory, "modules");
  return (
    ["config", "config.worktree"].every((name) => {
      const path = join(directory, name);
      if (disk.kind(path) !== "file") return disk.kind(path) === null;
      const text = disk.bytes(path, MAX_CONFIG_BYTES);
      return text.length < MAX_CONFIG_BYTES && isHarmlessText(text.toString("utf8"));
    }) &&
    disk.kind(modules) !== "link" &&
    disk.names(modules).length === 0
  );
}
