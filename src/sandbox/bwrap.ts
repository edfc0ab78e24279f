// A policy as bubblewrap's arguments. Mounts are made parents first, so that the most specific rule is the one on top.

import { isBeneath, type SandboxPolicy } from "./policy.ts";

export interface BwrapFacts {
  /** Path of the program. */
  bwrap: string;
  /** Where the command starts. */
  cwd: string;
  /** Descriptor the seccomp program is read from. */
  seccompFd: number;
  /** It has a terminal of its own, which a new session would take away. */
  terminal?: boolean;
}

const KERNEL_SETTINGS = ["sys", "sysrq-trigger", "irq", "bus", "fs", "acpi", "scsi"].map((name) => `/proc/${name}`);

/** Everything before the command. `absent` names must exist as empty directories by the time it runs. */
export function renderBwrap(policy: SandboxPolicy, { bwrap, cwd, seccompFd, terminal = false }: BwrapFacts): string[] {
  return [
    bwrap,
    // Without these root could unmount what hides a path, or walk into it through another process's /proc entry.
    ...["--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-cgroup-try"],
    ...(policy.network === "off" ? ["--unshare-net"] : []),
    ...["--cap-drop", "ALL", ...(terminal ? [] : ["--new-session"]), "--die-with-parent"],
    ...["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"],
    // The user namespace maps our own uid: as root, the kernel's settings would be ours to write.
    ...KERNEL_SETTINGS.flatMap((path) => ["--ro-bind-try", path, path]),
    ...mounts(policy),
    ...hiddenDirectories(policy).flatMap((path) => ["--remount-ro", path]),
    ...["--seccomp", String(seccompFd), "--chdir", cwd, "--"],
  ];
}

function mounts(policy: SandboxPolicy): string[] {
  const redirected = canRedirectTmp(policy) ? ["--bind", policy.tmp, "/tmp"] : [];
  const rules = policy.rules.filter(({ path }) => path !== "/");
  return [
    ...redirected,
    ...rules.flatMap(({ path, access, kind }) => {
      if (access === "write") return ["--bind", path, path];
      if (access === "read") return ["--ro-bind", path, path];
      // A device cannot be opened through such a mount, so reading fails with a reason instead of finding nothing.
      if (kind === "file") return ["--ro-bind", "/dev/null", path];
      const passed = policy.rules.some((rule) => rule.path !== path && isBeneath(rule.path, path));
      return ["--perms", passed ? "0111" : "0000", "--tmpfs", path];
    }),
    ...policy.absent.flatMap((path) => ["--ro-bind", path, path]),
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
