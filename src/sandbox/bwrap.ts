// A policy as bubblewrap's arguments. Mounts are made parents first, so that the most specific rule is the one on top.
//
// A command that still runs may swap a directory of the workspace for a link at any moment, also between our look at it
// and the mount. So before the command starts, what was mounted where is compared with what was meant to be: by then
// nothing can be led elsewhere, because a mount stays with the directory it was made on.

import { isBeneath, type SandboxPolicy } from "./policy.ts";

export interface BwrapFacts {
  /** Path of the program. */
  bwrap: string;
  /** Where the command starts. */
  cwd: string;
  /** Descriptor the seccomp program is read from. */
  seccompFd: number;
  /** What is mounted outside: text of `/proc/self/mountinfo`. */
  mountInfo: string;
  /** It has a terminal of its own, which a new session would take away. */
  terminal?: boolean;
}

const KERNEL_SETTINGS = ["sys", "sysrq-trigger", "irq", "bus", "fs", "acpi", "scsi"].map((name) => `/proc/${name}`);

/** Everything before the command. `absent` names must exist as empty directories by the time it runs. */
export function renderBwrap(policy: SandboxPolicy, facts: BwrapFacts): string[] {
  const { bwrap, cwd, seccompFd, terminal = false } = facts;
  const mounts = listMounts(policy);
  return [
    bwrap,
    // Without these root could unmount what hides a path, or walk into it through another process's /proc entry.
    ...["--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-cgroup-try"],
    ...(policy.network === "off" ? ["--unshare-net"] : []),
    ...["--cap-drop", "ALL", ...(terminal ? [] : ["--new-session"]), "--die-with-parent"],
    ...["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"],
    // The user namespace maps our own uid: as root, the kernel's settings would be ours to write.
    ...KERNEL_SETTINGS.flatMap((path) => ["--ro-bind-try", path, path]),
    ...mounts.flatMap(({ how, from, at }) => (from === null ? [...how, at] : [...how, from, at])),
    ...hiddenDirectories(policy).flatMap((path) => ["--remount-ro", path]),
    ...["--seccomp", String(seccompFd), "--chdir", cwd, "--"],
    ...["/bin/sh", "-c", CHECK_MOUNTS, "sh", expectedMounts(mounts, facts.mountInfo)],
  ];
}

/** `$1` holds a line `<root> <mount point>` for each mount, as `mountinfo` writes them. All must be there. */
const CHECK_MOUNTS = `
IFS=' '
left=$1
shift
while read -r _ _ _ root point _; do
  case $left in *"
$root $point
"*) left="\${left%%"
$root $point
"*}
\${left#*"
$root $point
"}" ;; esac
done < /proc/self/mountinfo
case $left in *[!"
"]*)
  echo "sandbox setup failed: a folder of the workspace was replaced while it was being protected" >&2
  exit 125 ;;
esac
exec "$@"
`;

interface Mount {
  how: string[];
  /** Null: something empty. */
  from: string | null;
  at: string;
}

function expectedMounts(mounts: Mount[], mountInfo: string): string {
  const outside = mountInfo.split("\n").flatMap((line) => {
    const [, , , root, point] = line.split(" ");
    return root !== undefined && point !== undefined ? [{ root, point }] : [];
  });
  const lines = mounts.map(
    ({ from, at }) => `${from === null ? "/" : rootOf(asInMountInfo(from), outside)} ${asInMountInfo(at)}`,
  );
  // Two line ends between two entries: each is found with one of its own on both sides.
  return `\n${[...new Set(lines)].join("\n\n")}\n`;
}

/** Where a path is within its file system. */
function rootOf(path: string, mounts: { root: string; point: string }[]): string {
  let best = { root: "/", point: "/" };
  // Of several on one point the last is on top.
  for (const mount of mounts) if (isBeneath(path, mount.point) && mount.point.length >= best.point.length) best = mount;
  const rest = best.point === "/" ? path : path.slice(best.point.length);
  return best.root === "/" ? rest || "/" : best.root + (rest === "/" ? "" : rest);
}

function asInMountInfo(path: string): string {
  return path.replace(/[ \t\n\\#]/g, (char) => `\\${char.charCodeAt(0).toString(8).padStart(3, "0")}`);
}

function listMounts(policy: SandboxPolicy): Mount[] {
  const rules = policy.rules.filter(({ path }) => path !== "/");
  const mask = (path: string): Mount => ({ how: ["--ro-bind"], from: "/dev/null", at: path });
  return [
    ...policy.pipes.map(mask),
    ...(canRedirectTmp(policy) ? [{ how: ["--bind"], from: policy.tmp, at: "/tmp" }] : []),
    ...rules.map(({ path, access, kind }): Mount => {
      if (access !== "hidden") return { how: [access === "write" ? "--bind" : "--ro-bind"], from: path, at: path };
      // A device cannot be opened through such a mount, so reading fails with a reason instead of finding nothing.
      if (kind === "file") return mask(path);
      const passed = policy.rules.some((rule) => rule.path !== path && isBeneath(rule.path, path));
      return { how: ["--perms", passed ? "0111" : "0000", "--tmpfs"], from: null, at: path };
    }),
    ...policy.absent.map((path) => ({ how: ["--ro-bind"], from: path, at: path })),
  ];
}

/** Programs that insist on `/tmp` get the private directory, unless something that counts here is below `/tmp`: then
 *  what they see there must be what is there. */
function canRedirectTmp({ rules, tmp }: SandboxPolicy): boolean {
  return !rules.some(
    ({ path, access }) =>
      path !== tmp && access !== "read" && (isBeneath(path, "/tmp") || (access === "write" && isBeneath("/tmp", path))),
  );
}

function hiddenDirectories({ rules }: SandboxPolicy): string[] {
  return rules.filter(({ access, kind }) => access === "hidden" && kind === "directory").map(({ path }) => path);
}
