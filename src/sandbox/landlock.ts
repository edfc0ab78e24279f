// A policy as Landlock rules. Landlock only grants, and what it grants on a directory it grants on everything below; to
// take something away, everything beside it is granted instead. The price: a directory with something taken away can
// itself not be listed (reading) or get new entries (writing).

import { join } from "node:path";
import { type Access, accessOf, isBeneath, type PathRule, type SandboxPolicy } from "./policy.ts";

/** The entries of a directory without links: what those lead to has rules of its own. Empty when it cannot be read. */
export type ListDirectory = (path: string) => { name: string; kind: "file" | "directory" | "pipe" }[];

export interface LandlockGrant {
  path: string;
  /** Bits of `access_fs`. */
  access: number;
}

export interface LandlockPlan {
  /** What is forbidden unless granted. */
  handled: number;
  /** Bits of `scoped`: no signals to, and no abstract sockets of, processes outside. 0 before ABI 6. */
  scoped: number;
  grants: LandlockGrant[];
}

const bits = (...numbers: number[]): number => numbers.reduce((sum, bit) => sum | (1 << bit), 0);
/** Execute, read file, list directory. */
const READ = bits(0, 2, 3);
/** Write, remove, make (but no devices), refer, truncate. */
const WRITE = bits(1, 4, 5, 7, 8, 9, 10, 12, 13, 14);
const FOR_FILES = bits(0, 1, 2, 14, 15);
const IOCTL_DEVICE = bits(15);

/** Not `pts` and `shm`, which are other programs' terminals and memory as well. */
const DEVICES = ["null", "zero", "full", "random", "urandom", "tty"];

/** From this one on, processes outside get no signals. */
export const SCOPE_ABI = 6;

/** Lowest ABI with everything a promise of "read-only" needs (truncation, moving between directories). */
export const LOWEST_ABI = 3;

export function planLandlock(policy: SandboxPolicy, abi: number, list: ListDirectory): LandlockPlan {
  const known =
    abi >= 5
      ? bits(...Array.from({ length: 16 }, (_, bit) => bit))
      : bits(...Array.from({ length: 15 }, (_, bit) => bit));
  const rules = withDevices(policy);
  const grants = new Map<string, { access: number; kind: PathRule["kind"] }>();
  const grant = (access: number) => (path: string, kind: PathRule["kind"]) => {
    grants.set(path, { access: (grants.get(path)?.access ?? 0) | access, kind });
  };
  cover({ path: "/", kind: "directory" }, (access) => access !== "hidden", { rules, list, emit: grant(READ) });
  cover({ path: "/", kind: "directory" }, (access) => access === "write", {
    rules: [...rules, ...policy.absent.map((path): PathRule => ({ path, access: "read", kind: "directory" }))],
    list,
    emit: grant(WRITE),
  });
  return {
    handled: known,
    scoped: abi >= SCOPE_ABI ? 0b11 : 0,
    grants: [...grants].map(([path, { access, kind }]) => ({
      path,
      access: known & (isBeneath(path, "/dev") ? access | IOCTL_DEVICE : access) & (kind === "file" ? FOR_FILES : ~0),
    })),
  };
}

interface Cover {
  rules: PathRule[];
  list: ListDirectory;
  emit(path: string, kind: PathRule["kind"]): void;
}

/** Grants the largest subtrees in which every path has the wanted access. */
function cover(node: Pick<PathRule, "path" | "kind">, wanted: (access: Access) => boolean, context: Cover): void {
  const { path, kind } = node;
  const below = context.rules.filter((rule) => rule.path !== path && isBeneath(rule.path, path));
  if (!wanted(accessOf(path, context.rules))) {
    for (const rule of below) {
      const isFirst = !below.some(
        (other) => other !== rule && wanted(other.access) && isBeneath(rule.path, other.path),
      );
      if (wanted(rule.access) && isFirst) cover(rule, wanted, context);
    }
    return;
  }
  if (!below.some((rule) => !wanted(rule.access))) {
    context.emit(path, kind);
    return;
  }
  for (const entry of context.list(path)) {
    const kind = entry.kind === "directory" ? "directory" : "file";
    cover({ path: join(path, entry.name), kind }, wanted, context);
  }
}

/** Of the devices only those everybody uses: root could read disks. */
function withDevices({ rules }: SandboxPolicy): PathRule[] {
  const devices = DEVICES.map((name): PathRule => ({ path: `/dev/${name}`, access: "write", kind: "file" }));
  const [root, ...others] = rules;
  return [...(root ? [root] : []), { path: "/dev", access: "hidden", kind: "directory" }, ...devices, ...others];
}
