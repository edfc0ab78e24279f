// `letta __sandbox-exec -- argv…`: confines itself and becomes the command. Not for people: the plan comes through
// descriptor 3. What is set here binds the calling thread only, and an exec from that thread carries it over to the
// whole new program. Anything that fails ends the process before the command has run (exit code 125).

import { dlopen, type Pointer, ptr, read } from "bun:ffi";
import { closeSync, readFileSync } from "node:fs";
import type { LandlockPlan } from "./landlock.ts";
import { SETUP_FAILED } from "./report.ts";
import { encodeProgram, seccompProgram, TAG_LIMIT } from "./seccomp.ts";

export const PLAN_FD = 3;
export const EXIT_SETUP_FAILED = 125;

/** What descriptor 3 carries, as JSON. */
export interface ExecPlan {
  landlock: LandlockPlan;
  /** The command may use this machine's network. */
  inet: boolean;
  /** Marks the command's processes, in a way they can neither remove nor hide: as a limit they inherit. */
  tag: number;
}

const LIBRARIES = ["libc.so.6", "libc.musl-x86_64.so.1", "libc.musl-aarch64.so.1"];

const arm = process.arch === "arm64";
const SYS = {
  close: arm ? 57 : 3,
  capset: arm ? 91 : 126,
  prctl: arm ? 167 : 157,
  seccomp: arm ? 277 : 317,
  prlimit64: arm ? 261 : 302,
  openat2: 437,
  landlock_create_ruleset: 444,
  landlock_add_rule: 445,
  landlock_restrict_self: 446,
};
const PR_CAPBSET_DROP = 24;
const PR_SET_NO_NEW_PRIVS = 38;
const PR_CAP_AMBIENT = 47;
const PR_CAP_AMBIENT_CLEAR_ALL = 4;
const LAST_CAPABILITY = 63;
const CAPABILITY_VERSION_3 = 0x20080522;
const AT_FDCWD = -100;
const O_PATH_CLOEXEC = 0o12000000;
const RESOLVE_NO_SYMLINKS = 4;
const RULE_PATH_BENEATH = 1;
const EINVAL = 22;
/** SIGPIPE, SIGXFSZ. */
const IGNORED_HERE = [13, 25];

/** Returns only when something failed. */
export function execInSandbox(argv: string[]): number {
  try {
    const command = argv[0] === "--" ? argv.slice(1) : argv;
    if (command.length === 0) throw new Error("no command");
    const plan = readPlan();
    const libc = openLibc();
    confine(libc, plan);
    become(libc, command);
  } catch (error) {
    console.error(`${SETUP_FAILED}: ${(error as Error).message}`);
  }
  return EXIT_SETUP_FAILED;
}

/** Landlock's version here; 0 without it. */
export function landlockAbi(): number {
  if (process.platform !== "linux") return 0;
  try {
    return Math.max(0, openLibc().call(SYS.landlock_create_ruleset, 0, 0, 1));
  } catch {
    return 0; // No libc that can be reached.
  }
}

interface Libc {
  /** -1 when it failed. Buffers are passed by address and must stay referenced until it returns. */
  call(number: number, ...args: (number | NodeJS.TypedArray)[]): number;
  errno(): number;
  execvp(path: NodeJS.TypedArray, argv: NodeJS.TypedArray): void;
  restoreSignal(signal: number): void;
}

function openLibc(): Libc {
  for (const library of LIBRARIES) {
    try {
      const { symbols } = dlopen(library, {
        syscall: { args: ["i64", "i64", "i64", "i64", "i64", "i64"], returns: "i32" },
        __errno_location: { args: [], returns: "ptr" },
        execvp: { args: ["ptr", "ptr"], returns: "i32" },
        signal: { args: ["i32", "ptr"], returns: "ptr" },
      });
      const address = (value: number | NodeJS.TypedArray): number => (typeof value === "number" ? value : ptr(value));
      return {
        call: (number, a = 0, b = 0, c = 0, d = 0, e = 0) =>
          symbols.syscall(number, address(a), address(b), address(c), address(d), address(e)),
        errno: () => read.i32(symbols.__errno_location() as Pointer),
        execvp: (path, list) => symbols.execvp(ptr(path), ptr(list)),
        restoreSignal: (signal) => symbols.signal(signal, null),
      };
    } catch {
      /* the other C library */
    }
  }
  throw new Error("the C library cannot be reached");
}

function readPlan(): ExecPlan {
  const plan = JSON.parse(readFileSync(PLAN_FD, "utf8")) as Partial<ExecPlan>;
  closeSync(PLAN_FD);
  if (!Array.isArray(plan.landlock?.grants) || typeof plan.inet !== "boolean" || !Number.isSafeInteger(plan.tag))
    throw new Error("the plan is damaged");
  return plan as ExecPlan;
}

function confine(libc: Libc, { landlock, inet, tag }: ExecPlan): void {
  const check = (what: string, result: number): number => {
    if (result < 0) throw new Error(`${what} failed (error ${libc.errno()})`);
    return result;
  };
  // As root: an exec would otherwise bring all capabilities back. Fails without effect for everybody else.
  for (let capability = 0; capability <= LAST_CAPABILITY; capability++) {
    if (libc.call(SYS.prctl, PR_CAPBSET_DROP, capability) < 0) break;
  }
  libc.call(SYS.prctl, PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL);
  check("no_new_privs", libc.call(SYS.prctl, PR_SET_NO_NEW_PRIVS, 1));
  check("dropping capabilities", libc.call(SYS.capset, new Uint32Array([CAPABILITY_VERSION_3, 0]), new Uint32Array(6)));

  const limit = new BigUint64Array([BigInt(tag), BigInt(tag)]);
  check("marking its processes", libc.call(SYS.prlimit64, 0, TAG_LIMIT, limit, 0));
  const architecture = arm ? "arm64" : "x64";
  const program = encodeProgram(seccompProgram({ architecture, inet, ownProcesses: false }));
  const header = new BigUint64Array([BigInt(program.length / 8), BigInt(ptr(program))]);
  // SECCOMP_SET_MODE_FILTER
  check("seccomp", libc.call(SYS.seccomp, 1, 0, header));

  const attributes = new BigUint64Array([BigInt(landlock.handled), 0n, BigInt(landlock.scoped)]);
  const size = landlock.scoped === 0 ? 8 : 24;
  const ruleset = check("landlock", libc.call(SYS.landlock_create_ruleset, attributes, size, 0));
  for (const { path, access } of landlock.grants) addRule(libc, ruleset, path, access);
  check("landlock", libc.call(SYS.landlock_restrict_self, ruleset, 0));
  libc.call(SYS.close, ruleset);
}

/** What has gone meanwhile, or became a link, stays forbidden. */
function addRule(libc: Libc, ruleset: number, path: string, access: number): void {
  const how = new BigUint64Array([BigInt(O_PATH_CLOEXEC), 0n, BigInt(RESOLVE_NO_SYMLINKS)]);
  const fd = libc.call(SYS.openat2, AT_FDCWD, cString(path), how, how.byteLength);
  if (fd < 0) return;
  // struct landlock_path_beneath_attr is packed: 8 bytes of access, 4 of descriptor.
  const attributes = new Uint8Array(12);
  const view = new DataView(attributes.buffer);
  view.setBigUint64(0, BigInt(access), true);
  view.setInt32(8, fd, true);
  const result = libc.call(SYS.landlock_add_rule, ruleset, RULE_PATH_BENEATH, attributes, 0);
  // EINVAL: a file where a directory was. It stays forbidden too.
  if (result < 0 && libc.errno() !== EINVAL) throw new Error(`a rule for ${path} failed (error ${libc.errno()})`);
  libc.call(SYS.close, fd);
}

function become(libc: Libc, command: string[]): void {
  const strings = command.map(cString);
  const pointers = new BigUint64Array([...strings.map((bytes) => BigInt(ptr(bytes))), 0n]);
  // Ignored signals stay ignored through an exec, and this runtime ignores these.
  for (const signal of IGNORED_HERE) libc.restoreSignal(signal);
  libc.execvp(strings[0]!, pointers);
  throw new Error(`${command[0]} could not be started (error ${libc.errno()})`);
}

function cString(text: string): Uint8Array {
  return new TextEncoder().encode(`${text}\0`);
}
