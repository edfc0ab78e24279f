// The policies of the product: what a profile means for this workspace, home and `~/.letta`. Looks at the disk through
// `Disk`, because only what exists can be protected by being itself, and what does not exist must be kept from coming
// into being.

import { dirname, join } from "node:path";
import { type Access, isBeneath, type PathRule, type SandboxPolicy, type SandboxProfile, sortRules } from "./policy.ts";

export interface Disk {
  /** Without following a link at the end; null when there is nothing, or nobody may look. */
  kind(path: string): "file" | "directory" | "link" | null;
  /** Links followed. Null when it does not exist. */
  real(path: string): string | null;
  /** It holds a name for a run that has been killed, or still runs. */
  isPlaceholder(directory: string): boolean;
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
  tmp: string;
  /** `memory-subagent`: the memory it may change. */
  memory?: string[];
}

/** Where one write means that something runs later outside the sandbox. Below every writable root. */
const PROTECTED = [
  ".git/hooks",
  ".git/config",
  ".git/config.worktree",
  ".git/modules",
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
/** Of these, the names that must not appear either. */
const PROTECTED_WHEN_ABSENT = [".git", ".git/hooks", ".letta", ".mcp.json", ".envrc"];
/** Git obeys it wherever it appears, and stops when it is anything but a file: it can only be taken away again. */
const UNHOLDABLE = ".git/commondir";
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
  const { profile, network, tmp } = input;
  const rules: PathRule[] = [{ path: "/", access: "read", kind: "directory" }];
  const absent: string[] = [];
  const unholdable: string[] = [];
  const add = (path: string, access: Access): void => {
    const real = disk.real(path);
    const kind = real === null ? null : disk.kind(real);
    if (real === null || real === "/" || kind === null || kind === "link") return;
    rules.push({ path: real, access, kind });
  };

  for (const root of workspaceRoots(input, disk)) {
    add(root, "write");
    protect(root, disk, { add, absent });
    if (disk.kind(join(root, ".git")) === "directory" && disk.kind(join(root, UNHOLDABLE)) === null)
      unholdable.push(join(root, UNHOLDABLE));
  }
  for (const name of PROTECTED_IN_HOME) add(join(input.home, name), "read");
  for (const path of SECRETS_IN_HOME) add(join(input.home, path), "hidden");
  for (const path of [...SECRETS_OF_SYSTEM, ...input.denyRead]) add(path, "hidden");
  add(input.lettaRoot, "hidden");
  add(input.localStore, "hidden");
  for (const name of READABLE_IN_LETTA) add(join(input.lettaRoot, name), "read");
  for (const path of input.readable) add(path, "read");
  if (profile === "memory-subagent") for (const path of input.memory ?? []) add(path, "write");
  add(tmp, "write");
  return { profile, network, rules: sortRules(rules), absent: absent.sort(), unholdable, tmp: disk.real(tmp) ?? tmp };
}

/** Nobody works in a home directory or where the system keeps its own, and everything is below `/`. */
export function workspaceRoots(input: Pick<ProfileInput, "profile" | "workspace" | "home" | "lettaRoot">, disk: Disk) {
  if (input.profile !== "workspace") return [];
  const holds = [input.home, input.lettaRoot].map((path) => disk.real(path) ?? path);
  const roots = input.workspace.map((path) => disk.real(path)).filter((path) => path !== null);
  return [...new Set(roots)].filter(
    (root) =>
      !SYSTEM_DIRECTORIES.includes(root) &&
      !SYSTEM_TREES.some((tree) => isBeneath(root, tree)) &&
      !holds.some((path) => isBeneath(path, root)) &&
      !roots.some((other) => other !== root && isBeneath(root, other)),
  );
}

interface Protecting {
  add(path: string, access: Access): void;
  absent: string[];
}

function protect(root: string, disk: Disk, { add, absent }: Protecting): void {
  const isAbsent = (name: string): boolean => {
    const path = join(root, name);
    if (disk.kind(dirname(path)) !== "directory") return false;
    return disk.kind(path) === null || (disk.kind(path) === "directory" && disk.isPlaceholder(path));
  };
  const missing = PROTECTED_WHEN_ABSENT.filter(isAbsent);
  absent.push(...missing.map((name) => join(root, name)));
  const frozen = new Set<string>();
  for (const name of PROTECTED) {
    const path = join(root, name);
    const parent = dirname(path);
    // A name below a link, or below nothing, is no name of this workspace.
    if (disk.kind(parent) !== "directory" || missing.some((other) => isBeneath(name, other))) continue;
    // Writable, but named: what is mounted cannot be moved aside and replaced.
    if (parent !== root && !frozen.has(parent)) add(parent, "write");
    const kind = disk.kind(path);
    // Where a link leads is up to the repository, so it opens nothing; its own directory is held instead of it, except
    // the root, of which nothing would be left.
    if (kind === "link" && parent !== root) {
      frozen.add(parent);
      add(parent, "read");
    }
    if (kind !== null && kind !== "link") add(path, "read");
  }
  // A worktree's `.git` is a file that says where the repository is.
  if (disk.kind(join(root, ".git")) === "file") add(join(root, ".git"), "read");
}
