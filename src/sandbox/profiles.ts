// The policies of the product: what a profile means for this workspace, home and `~/.letta`. Looks at the disk through
// `Disk`, because only what exists can be protected by being itself, and what does not exist must be kept from coming
// into being.

import { dirname, join } from "node:path";
import { createGitSettings, scanRepositories } from "./git-places.ts";
import type { ListDirectory } from "./landlock.ts";
import {
  type Access,
  accessOf,
  directoriesBetween,
  isBeneath,
  type PathRule,
  type SandboxPolicy,
  type SandboxProfile,
  sortRules,
} from "./policy.ts";
import { findPipes, isBare } from "./workspace-scan.ts";

export interface Disk {
  /** Without following a link at the end; null when there is nothing, or nobody may look. */
  kind(path: string): "file" | "directory" | "link" | null;
  /** Links followed. Null when it does not exist. */
  real(path: string): string | null;
  /** It holds a name for a run that has been killed, or still runs. */
  isPlaceholder(path: string): boolean;
  list: ListDirectory;
  /** Of a directory's entries, links too. Empty when it cannot be read. */
  names(path: string): string[];
  /** Start of a file; empty when it is none. */
  read(path: string): string;
  /** The same, as bytes, up to a limit. */
  bytes(path: string, limit: number): Buffer;
}

export interface ProfileInput {
  profile: SandboxProfile;
  network: "on" | "off";
  /** Where work happens: launch directory, project root, what the user added. Absolute. */
  workspace: string[];
  home: string;
  lettaRoot: string;
  /** State of the local backend, where it is not below `lettaRoot`. */
  localStore: string;
  /** Readable although below `lettaRoot` or the system's temp directory: long outputs, logs of background commands. */
  readable: string[];
  /** More to hide. */
  denyRead: string[];
  /** Patterns that hide, too; null: none. Asked about what is found in the workspace. */
  deniesRead: ((path: string) => boolean) | null;
  /** Files that run later without being asked about: scripts of hooks. Existing or not. */
  guarded: string[];
  tmp: string;
  /** `memory-subagent`: the memory it may change. */
  memory?: string[];
}

/** Where one write means that something runs later outside the sandbox. Below every directory somebody works from. */
const PROTECTED = [
  ".git",
  ".letta",
  ".mcp.json",
  ".envrc",
  ".husky",
  ".vscode",
  ".idea",
  ".github/workflows",
  ".gitlab-ci.yml",
  ".circleci",
];
/** What git obeys in a directory of its own, there or not. */
const PROTECTED_IN_GIT = [
  { name: "hooks", kind: "directory" },
  { name: "config", kind: "file" },
  { name: "config.worktree", kind: "file" },
  { name: "modules", kind: "directory" },
] as const;
/** In the directory of a worktree, whose hooks and settings are its repository's. */
const PROTECTED_IN_WORKTREE: readonly string[] = ["config.worktree", "modules"];
/** Lead from there to the repository and back; a repository has none. */
const LEADING = ["commondir", "gitdir"];
/** Git obeys it wherever it appears, and stops when it is anything but a file: it can only be taken away again. */
const UNHOLDABLE = "commondir";
/** Where the home directory, or a part of it, is writable. */
const PROTECTED_IN_HOME = [
  ...[".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".bash_aliases", ".profile", ".inputrc"],
  ...[".zshrc", ".zshenv", ".zprofile", ".zlogin", ".zlogout", ".gitconfig", ".npmrc", ".curlrc", ".wgetrc"],
  ...[".config/fish", ".config/git", ".config/autostart", ".config/systemd", ".local/bin", "Library/LaunchAgents"],
];
const SECRETS_IN_HOME = [
  ...[".ssh", ".aws", ".azure", ".gnupg", ".kube", ".password-store", ".mozilla", ".docker/config.json"],
  ...[".config/gh", ".config/gcloud", ".config/google-chrome", ".config/chromium", ".config/BraveSoftware"],
  ...[".netrc", "_netrc", ".npmrc", ".pypirc", ".pgpass", ".my.cnf", ".git-credentials", ".local/share/keyrings"],
  ...[".claude.json", ".claude/.credentials.json", ".codex/auth.json", ".gemini/oauth_creds.json"],
  ...["Library/Keychains", "Library/Application Support/Google", "Library/Application Support/Firefox"],
];
const SECRETS_OF_SYSTEM = ["/etc/shadow", "/etc/gshadow", "/etc/sudoers", "/etc/sudoers.d", "/etc/ssl/private"];
const SYSTEM_DIRECTORIES = "/ /usr /bin /sbin /lib /lib64 /var /opt /srv /home /run /mnt /media".split(" ");
const SYSTEM_TREES = ["/etc", "/boot", "/dev", "/proc", "/sys"];
/** What commands need of ours: programs on their PATH, and texts the model was pointed at. */
const READABLE_IN_LETTA = ["bin", "cache", "projects", "skills"];

export function buildPolicy(input: ProfileInput, disk: Disk): SandboxPolicy {
  const { profile, network, tmp, home } = input;
  const rules: PathRule[] = [{ path: "/", access: "read", kind: "directory" }];
  const add = (path: string, access: Access): void => {
    const real = disk.real(path);
    const kind = real === null ? null : disk.kind(real);
    if (real === null || real === "/" || kind === null || kind === "link") return;
    rules.push({ path: real, access, kind });
  };

  const roots = workspaceRoots(input, disk);
  for (const root of roots) add(root, "write");
  const held = protect(input, roots, { disk, add });
  for (const name of PROTECTED_IN_HOME) add(join(home, name), "read");
  for (const path of SECRETS_IN_HOME) add(join(home, path), "hidden");
  for (const path of [...SECRETS_OF_SYSTEM, ...input.denyRead, ...held.denied]) add(path, "hidden");
  add(input.lettaRoot, "hidden");
  add(input.localStore, "hidden");
  for (const name of READABLE_IN_LETTA) add(join(input.lettaRoot, name), "read");
  for (const path of input.readable) add(path, "read");
  if (profile === "memory-subagent") for (const path of input.memory ?? []) add(path, "write");
  add(tmp, "write");
  const { absent, absentFiles, unholdable, neverBare, repositories } = held;
  return {
    profile,
    network,
    rules: pinned(sortRules(rules), absent),
    absent,
    absentFiles,
    unholdable,
    neverBare,
    repositories,
    pipes: [],
    tmp: disk.real(tmp) ?? tmp,
  };
}

/** Named pipes other programs may listen on: what the system runs with, beside the workspace, at home. */
export function pipesOutside(input: Pick<ProfileInput, "profile" | "workspace" | "home" | "lettaRoot">, disk: Disk) {
  const parents = workspaceRoots(input, disk).map(dirname);
  return findPipes(
    [
      { path: "/run", depth: 3 },
      { path: disk.real(input.home) ?? input.home, depth: 2 },
      ...[...new Set(parents)].map((path) => ({ path, depth: 2 })),
    ],
    disk.list,
  );
}

/** Nobody works in a home directory or where the system keeps its own, and everything is below `/`. */
export function workspaceRoots(input: Pick<ProfileInput, "profile" | "workspace" | "home" | "lettaRoot">, disk: Disk) {
  const places = workPlaces(input, disk);
  return places.filter((root) => !places.some((other) => other !== root && isBeneath(root, other)));
}

/** The directories of the workspace that make one, also those inside others. */
function workPlaces(input: Pick<ProfileInput, "profile" | "workspace" | "home" | "lettaRoot">, disk: Disk): string[] {
  if (input.profile !== "workspace") return [];
  const holds = [input.home, input.lettaRoot].map((path) => disk.real(path) ?? path);
  const places = input.workspace.map((path) => disk.real(path)).filter((path) => path !== null);
  return [...new Set(places)].filter(
    (root) =>
      !SYSTEM_DIRECTORIES.includes(root) &&
      !SYSTEM_TREES.some((tree) => isBeneath(root, tree)) &&
      !holds.some((path) => isBeneath(path, root)),
  );
}

type Held = Pick<SandboxPolicy, "absent" | "absentFiles" | "unholdable" | "neverBare" | "repositories"> & {
  denied: string[];
};

function protect(
  input: ProfileInput,
  roots: string[],
  { disk, add }: { disk: Disk; add(path: string, access: Access): void },
): Held {
  const absent = new Set<string>();
  const absentFiles: string[] = [];
  const unholdable: string[] = [];
  const frozen = new Set<string>();
  const isAbsent = (path: string): boolean => {
    if (disk.kind(dirname(path)) !== "directory") return false;
    return disk.kind(path) === null || disk.isPlaceholder(path);
  };
  /** The name itself, or the first on the way to it, that does not exist; null when it does. */
  const firstAbsent = (path: string, place: string): string | null =>
    [...directoriesBetween(place, path), path].find(isAbsent) ?? null;
  const isMissing = (path: string): boolean => [...absent].some((other) => isBeneath(path, other));
  const hold = (path: string, base: string): void => {
    const parent = dirname(path);
    // A name below a link, or below nothing, is no name of this workspace.
    if (disk.kind(parent) !== "directory" || isMissing(path)) return;
    const kind = disk.kind(path);
    // Where a link leads is up to the repository, so it opens nothing; its own directory is held instead of it, except
    // the one people work in, of which nothing would be left.
    if (kind === "link" && parent !== base && !frozen.has(parent)) {
      frozen.add(parent);
      add(parent, "read");
    }
    if (kind !== null && kind !== "link") add(path, "read");
  };

  const inner = workPlaces(input, disk).filter((place) => !roots.includes(place));
  const between = inner.flatMap((place) =>
    roots.filter((root) => isBeneath(place, root)).flatMap((root) => directoriesBetween(root, place)),
  );
  const places = [...new Set([...roots, ...between, ...inner])];
  for (const place of places) {
    for (const name of PROTECTED) {
      const missing = firstAbsent(join(place, name), place);
      if (missing !== null) absent.add(missing);
    }
    // What is in a repository is held name by name. A worktree's `.git` is a file that says where the repository is.
    for (const name of PROTECTED)
      if (name !== ".git" || disk.kind(join(place, name)) === "file") hold(join(place, name), place);
  }

  const { repositories, links, denied } = scanRepositories(roots, disk, input.deniesRead);
  const own = places.map((place) => join(place, ".git")).filter((path) => disk.kind(path) === "directory");
  const all = [...new Set([...own, ...repositories])].filter((path) => !isMissing(path));
  for (const path of links) hold(path, dirname(path));
  const isInside = (path: string): boolean => roots.some((root) => path !== root && isBeneath(path, root));
  const placeOf = (path: string): string => roots.find((root) => isBeneath(dirname(path), root)) ?? "";
  const holdNamed = (path: string): void => {
    if (isInside(path)) hold(path, placeOf(path));
    // A link's target is what runs.
    const real = disk.real(path);
    if (real !== null && real !== path && isInside(real)) hold(real, placeOf(path));
  };
  const settingsOf = createGitSettings(disk, input.home);
  for (const repository of all) {
    const isWorktree = disk.kind(join(repository, "commondir")) !== null;
    for (const name of LEADING) hold(join(repository, name), "");
    if (!isWorktree) unholdable.push(join(repository, UNHOLDABLE));
    for (const { name, kind } of PROTECTED_IN_GIT) {
      const path = join(repository, name);
      if (isAbsent(path)) {
        if (isWorktree && !PROTECTED_IN_WORKTREE.includes(name)) continue;
        absent.add(path);
        if (kind === "file") absentFiles.push(path);
      } else hold(path, roots.includes(repository) ? repository : "");
    }
    const { places, programs, certain } = settingsOf(repository);
    for (const path of places) {
      const missing = isInside(path) ? firstAbsent(path, placeOf(path)) : null;
      if (missing !== null) absent.add(missing);
      else holdNamed(path);
    }
    for (const path of certain) if (isInside(path) && isAbsent(path)) absent.add(path);
    for (const path of programs) if (disk.kind(path) !== "directory" && !absent.has(path)) holdNamed(path);
  }
  for (const path of input.guarded) {
    if (disk.kind(path) === "directory" && !disk.isPlaceholder(path)) continue;
    if (isInside(path) && isAbsent(path)) absent.add(path);
    else holdNamed(path);
  }
  const neverBare = places.filter((place) => isAbsent(join(place, ".git")) && !isBare(disk.list(place)));
  return {
    absent: [...absent].filter((path) => !isMissing(dirname(path))).sort(),
    absentFiles,
    unholdable,
    neverBare,
    repositories: [...all, ...links],
    denied,
  };
}

/** Whatever is held keeps its place only when no directory above it can be moved aside and replaced: what is mounted
 *  cannot. They stay writable. */
function pinned(rules: PathRule[], absent: readonly string[]): PathRule[] {
  const writable = rules.filter(({ access }) => access === "write");
  const held = [...rules.filter(({ access }) => access !== "write").map(({ path }) => path), ...absent];
  const above = held.flatMap((path) =>
    writable
      .filter((root) => path !== root.path && isBeneath(path, root.path))
      .flatMap((root) => directoriesBetween(root.path, path)),
  );
  const known = new Set(rules.map(({ path }) => path));
  const pins = [...new Set(above)]
    .filter((path) => !known.has(path) && accessOf(path, rules) === "write")
    .map((path): PathRule => ({ path, access: "write", kind: "directory" }));
  return sortRules([...rules, ...pins]);
}
