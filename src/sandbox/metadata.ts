// Modes, owners and times of files under Landlock, which does not guard them. The kernel asks us about each such call of
// a confined command (seccomp's user notification), and we do it for the command, on a descriptor of our own, if the file
// is one it may write. The call itself never goes on: what its arguments point to could change after our look.

import { closeSync, constants, fstatSync, openSync, readlinkSync, readSync } from "node:fs";
import { cString, type Libc } from "@/lib/linux-calls.ts";
import { accessOf, type PathRule } from "./policy.ts";
import { type MetadataCall, metadataCall } from "./seccomp.ts";

export interface Notification {
  id: bigint;
  /** Thread that waits. */
  thread: number;
  number: number;
  args: bigint[];
}

/** 0, or the error's number. */
export type Answer = number;

const EPERM = 1;
const EFAULT = 14;
const EINVAL = 22;
const ENOSYS = 38;
const EOPNOTSUPP = 95;

const arm = process.arch === "arm64";
const SYS_UTIMENSAT = arm ? 88 : 280;
const SYS_FCHMODAT = arm ? 53 : 268;
const AT_FDCWD = -100;
const AT_SYMLINK_NOFOLLOW = 0x100;
const AT_EMPTY_PATH = 0x1000;
const O_PATH = 0o10000000;
const PATH_BYTES = 4096;
const UNCHANGED = 0xffffffff;
/** Programs with another user's rights are not made here; on folders the group's bit means inheriting it. */
const SET_USER = 0o4000;
const SET_GROUP = 0o2000;

export interface MetadataRules {
  rules: Pick<PathRule, "path" | "access">[];
}

/** `isWaiting` says whether the thread still waits: its number may be another's by now. Never throws. */
export function answerMetadata(
  { thread, number, args }: Notification,
  { rules }: MetadataRules,
  { libc, isWaiting }: { libc: Libc; isWaiting(): boolean },
): Answer {
  const call = metadataCall(number);
  if (call === null) return ENOSYS;
  let file: number | null = null;
  let memory: number | null = null;
  try {
    memory = openSync(`/proc/${thread}/mem`, "r");
    const target = findTarget(call, args, memory);
    const times = call.times === null ? null : readTimes(call.times, args[call.at]!, memory);
    if (!isWaiting()) return EPERM;
    file = openTarget(target, thread);
    const stat = fstatSync(file);
    // The command has no power over files of others; we might.
    if (!mayChange(file, stat.nlink, rules) || stat.uid !== process.geteuid?.()) return EPERM;
    if (times) return libc.call(SYS_UTIMENSAT, file, cString(""), times, AT_EMPTY_PATH) < 0 ? libc.errno() : 0;
    if (call.what === "owner") {
      const [user, group] = [call.at, call.at + 1].map((at) => Number(args[at]! & 0xffffffffn));
      return (user === UNCHANGED || user === stat.uid) && (group === UNCHANGED || group === stat.gid) ? 0 : EPERM;
    }
    if (stat.isSymbolicLink()) return EOPNOTSUPP;
    const mode = Number(args[call.at]! & 0o7777n) & ~SET_USER & (stat.isDirectory() ? ~0 : ~SET_GROUP);
    return libc.call(SYS_FCHMODAT, AT_FDCWD, cString(`/proc/self/fd/${file}`), mode) < 0 ? libc.errno() : 0;
  } catch (error) {
    return error instanceof Refusal ? error.errno : errnoOf(error);
  } finally {
    if (file !== null) closeSync(file);
    if (memory !== null) closeSync(memory);
  }
}

class Refusal extends Error {
  constructor(readonly errno: number) {
    super();
  }
}

interface Target {
  directory: number;
  /** Null: the descriptor itself. */
  path: string | null;
  follow: boolean;
}

function findTarget(call: MetadataCall, args: bigint[], memory: number): Target {
  const directory = call.directory === null ? AT_FDCWD : Number(BigInt.asIntN(32, args[call.directory]!));
  const flags = call.flags === null ? 0 : Number(args[call.flags]! & 0xffffffffn);
  if (flags & ~(AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH)) throw new Refusal(EINVAL);
  const address = call.path === null ? null : args[call.path]!;
  // `futimens` is `utimensat` without a path.
  if (address === null || (address === 0n && call.what === "times")) return { directory, path: null, follow: true };
  const path = readPath(address, memory);
  const follow = call.follows && !(flags & AT_SYMLINK_NOFOLLOW);
  if (path !== "") return { directory, path, follow };
  if (!(flags & AT_EMPTY_PATH)) throw new Refusal(2);
  return { directory, path: null, follow: true };
}

/** Throws the system's error. */
function openTarget({ directory, path, follow }: Target, thread: number): number {
  const base = directory === AT_FDCWD ? `/proc/${thread}/cwd` : `/proc/${thread}/fd/${directory}`;
  if (path === null) return openSync(base, O_PATH);
  const own = path.replace(/^\/(?:proc\/self|dev)\/fd\//, `/proc/${thread}/fd/`);
  return openSync(own.startsWith("/") ? own : `${base}/${own}`, O_PATH | (follow ? 0 : constants.O_NOFOLLOW));
}

function mayChange(file: number, links: number, rules: MetadataRules["rules"]): boolean {
  const name = readlinkSync(`/proc/self/fd/${file}`);
  const path = links === 0 ? name.replace(/ \(deleted\)$/, "") : name;
  // Files of memory have no place.
  if (links === 0 && path.startsWith("/memfd:")) return true;
  return path.startsWith("/") && accessOf(path, rules as PathRule[]) === "write";
}

function readPath(address: bigint, memory: number): string {
  const bytes = readMemory(address, PATH_BYTES, memory);
  const end = bytes.indexOf(0);
  if (end === -1) throw new Refusal(36);
  return bytes.toString("utf8", 0, end);
}

/** As two `struct timespec`; now when there are none. */
function readTimes(unit: "seconds" | "micro" | "nano", address: bigint, memory: number): BigInt64Array | Uint8Array {
  const now = 0x3fffffffn;
  if (address === 0n) return new BigInt64Array([0n, now, 0n, now]);
  const size = unit === "seconds" ? 16 : 32;
  const bytes = readMemory(address, size, memory);
  if (bytes.length < size) throw new Refusal(EFAULT);
  const at = (index: number): bigint => bytes.readBigInt64LE(index * 8);
  if (unit === "seconds") return new BigInt64Array([at(0), 0n, at(1), 0n]);
  const scale = unit === "micro" ? 1000n : 1n;
  return new BigInt64Array([at(0), at(1) * scale, at(2), at(3) * scale]);
}

function readMemory(address: bigint, length: number, memory: number): Buffer {
  const bytes = Buffer.alloc(length);
  // A page that is missing ends it early.
  return bytes.subarray(0, readSync(memory, bytes, 0, length, Number(address)));
}

function errnoOf(error: unknown): number {
  const { errno } = error as NodeJS.ErrnoException;
  return typeof errno === "number" && errno !== 0 ? Math.abs(errno) : EPERM;
}
