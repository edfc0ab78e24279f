// `letta __sandbox-exec -- argv…`: confines itself and becomes the command. Not for people: the plan comes through
// descriptor 3. What is set here binds the calling thread only, and an exec from that thread carries it over to the
// whole new program. Anything that fails ends the process before the command has run (exit code 125).

import { ptr } from "bun:ffi";
import { closeSync, readFileSync } from "node:fs";
import { sendDescriptor } from "@/lib/descriptor-socket.ts";
import { cString, type Libc, openLibc } from "@/lib/linux-calls.ts";
import type { LandlockPlan } from "./landlock.ts";
import type { MetadataRules } from "./metadata.ts";
import { SETUP_FAILED } from "./report.ts";
import { encodeProgram, seccompProgram, TAG_LIMIT } from "./seccomp.ts";

const PLAN_FD = 3;
/** Goes to whoever answers what the kernel asks. */
const ATTENDANT_FD = 4;
export const EXIT_SETUP_FAILED = 125;

/** What descriptor 3 carries, as JSON. */
export interface ExecPlan {
  landlock: LandlockPlan;
  /** The command may use this machine's network. */
  inet: boolean;
  /** Marks the command's processes, in a way they can neither remove nor hide: as a limit they inherit. */
  tag: number;
  metadata: MetadataRules;
}

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
const SECCOMP_SET_MODE_FILTER = 1;
const WITH_LISTENER = 8;
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

function readPlan(): ExecPlan {
  const plan = JSON.parse(readFileSync(PLAN_FD, "utf8")) as Partial<ExecPlan>;
  closeSync(PLAN_FD);
  if (!Array.isArray(plan.landlock?.grants) || typeof plan.inet !== "boolean" || !Number.isSafeInteger(plan.tag))
    throw new Error("the plan is damaged");
  return plan as ExecPlan;
}

function confine(libc: Libc, { landlock, inet, tag, metadata }: ExecPlan): void {
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
  const program = encodeProgram(seccompProgram({ architecture, inet, ownNamespaces: false }));
  const header = new BigUint64Array([BigInt(program.length / 8), BigInt(ptr(program))]);
  const listener = check("seccomp", libc.call(SYS.seccomp, SECCOMP_SET_MODE_FILTER, WITH_LISTENER, header));
  sendDescriptor(libc, ATTENDANT_FD, listener, JSON.stringify(metadata));
  libc.call(SYS.close, ATTENDANT_FD);

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
