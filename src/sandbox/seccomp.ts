// The system calls a confined command may not make, as a seccomp program (classic BPF). Everything else is allowed: this
// closes ways around the file rules and the network, it does not shrink the kernel.

export type Architecture = "x64" | "arm64";

export interface SeccompOptions {
  architecture: Architecture;
  /** The command has a network of its own, or may use ours. */
  inet: boolean;
  /** It runs in namespaces of its own: it cannot see processes outside, and what it may not write is mounted read-only. */
  ownNamespaces: boolean;
}

/** Number on x86_64 and aarch64; null where there is no such call. */
const CALLS = {
  socket: [41, 198],
  socketpair: [53, 199],
  ioctl: [16, 29],
  clone: [56, 220],
  unshare: [272, 97],
  clone3: [435, 435],
  io_uring_setup: [425, 425],
  io_uring_enter: [426, 426],
  io_uring_register: [427, 427],
  ptrace: [101, 117],
  process_vm_readv: [310, 270],
  process_vm_writev: [311, 271],
  pidfd_getfd: [438, 438],
  kcmp: [312, 272],
  setns: [308, 268],
  mount: [165, 40],
  umount2: [166, 39],
  pivot_root: [155, 41],
  chroot: [161, 51],
  open_tree: [428, 428],
  move_mount: [429, 429],
  fsopen: [430, 430],
  fsconfig: [431, 431],
  fsmount: [432, 432],
  fspick: [433, 433],
  mount_setattr: [442, 442],
  open_by_handle_at: [304, 265],
  bpf: [321, 280],
  perf_event_open: [298, 241],
  userfaultfd: [323, 282],
  add_key: [248, 217],
  request_key: [249, 218],
  keyctl: [250, 219],
  init_module: [175, 105],
  finit_module: [313, 273],
  delete_module: [176, 106],
  kexec_load: [246, 104],
  kexec_file_load: [320, 294],
  reboot: [169, 142],
  swapon: [167, 224],
  swapoff: [168, 225],
  acct: [163, 89],
  quotactl: [179, 60],
  quotactl_fd: [443, 443],
  shmget: [29, 194],
  shmat: [30, 196],
  shmctl: [31, 195],
  semget: [64, 190],
  semop: [65, 193],
  semtimedop: [220, 192],
  semctl: [66, 191],
  msgget: [68, 186],
  msgsnd: [69, 189],
  msgrcv: [70, 188],
  msgctl: [71, 187],
  mq_open: [240, 180],
  mq_unlink: [241, 181],
  setxattr: [188, 5],
  lsetxattr: [189, 6],
  fsetxattr: [190, 7],
  removexattr: [197, 14],
  lremovexattr: [198, 15],
  fremovexattr: [199, 16],
  setxattrat: [463, 463],
  removexattrat: [466, 466],
  file_setattr: [469, 469],
  setrlimit: [160, 164],
  prlimit64: [302, 261],
  sched_setaffinity: [203, 122],
  sched_setscheduler: [144, 119],
  sched_setparam: [142, 118],
  sched_setattr: [314, 274],
  migrate_pages: [256, 238],
  move_pages: [279, 239],
  setpriority: [141, 140],
  ioprio_set: [251, 30],
  process_madvise: [440, 440],
  iopl: [172, null],
  ioperm: [173, null],
} as const;
type Call = keyof typeof CALLS;

/** Calls that change what a file is, but not what is in it: where their arguments are. Numbers are positions. */
export interface MetadataCall {
  what: "mode" | "owner" | "times";
  /** Where the new mode, owner or times are. */
  at: number;
  times: "seconds" | "micro" | "nano" | null;
  /** Null: no path, only a descriptor. */
  path: number | null;
  /** Descriptor the path starts from, or the file itself; null: the working directory. */
  directory: number | null;
  flags: number | null;
  /** A link at the end of the path. */
  follows: boolean;
}

const mode = { what: "mode", times: null, flags: null, follows: true } as const;
const owner = { what: "owner", times: null, flags: null, follows: true } as const;
const times = { what: "times", flags: null, follows: true } as const;
const METADATA: { numbers: readonly [number | null, number | null]; call: MetadataCall }[] = [
  { numbers: [90, null], call: { ...mode, path: 0, directory: null, at: 1 } }, // chmod
  { numbers: [91, 52], call: { ...mode, path: null, directory: 0, at: 1 } }, // fchmod
  { numbers: [268, 53], call: { ...mode, directory: 0, path: 1, at: 2 } }, // fchmodat
  { numbers: [452, 452], call: { ...mode, directory: 0, path: 1, at: 2, flags: 3 } }, // fchmodat2
  { numbers: [92, null], call: { ...owner, path: 0, directory: null, at: 1 } }, // chown
  { numbers: [93, 55], call: { ...owner, path: null, directory: 0, at: 1 } }, // fchown
  { numbers: [94, null], call: { ...owner, path: 0, directory: null, at: 1, follows: false } }, // lchown
  { numbers: [260, 54], call: { ...owner, directory: 0, path: 1, at: 2, flags: 4 } }, // fchownat
  { numbers: [132, null], call: { ...times, path: 0, directory: null, at: 1, times: "seconds" } }, // utime
  { numbers: [235, null], call: { ...times, path: 0, directory: null, at: 1, times: "micro" } }, // utimes
  { numbers: [261, null], call: { ...times, directory: 0, path: 1, at: 2, times: "micro" } }, // futimesat
  { numbers: [280, 88], call: { ...times, directory: 0, path: 1, at: 2, times: "nano", flags: 3 } }, // utimensat
];

/** Of this machine; null: another call. */
export function metadataCall(number: number): MetadataCall | null {
  return METADATA.find(({ numbers }) => numbers[process.arch === "arm64" ? 1 : 0] === number)?.call ?? null;
}

/** Callers fall back to something else when told the call does not exist: io_uring would make sockets unseen, and the
 *  flags of clone3 are behind a pointer. */
const UNKNOWN: Call[] = ["clone3", "io_uring_setup", "io_uring_enter", "io_uring_register"];
/** Their first argument is a process; 0 is the caller. */
const OF_FIRST: Call[] = [
  ...(["sched_setaffinity", "sched_setscheduler", "sched_setparam", "sched_setattr"] as const),
  ...(["migrate_pages", "move_pages"] as const),
];
/** Their first argument says what the second is, and which value of it means all processes of a user. */
const OF_SECOND = { setpriority: 2, ioprio_set: 3 } as const;
const CHECKED: Call[] = [
  ...(["socket", "socketpair", "ioctl", "clone", "unshare", "setrlimit", "prlimit64"] as const),
  ...OF_FIRST,
  ...(["setpriority", "ioprio_set"] as const),
];
/** Programs that copy files know file systems without them. */
const UNSUPPORTED: Call[] = [
  ...(["setxattr", "lsetxattr", "fsetxattr", "removexattr", "lremovexattr", "fremovexattr"] as const),
  ...(["setxattrat", "removexattrat", "file_setattr"] as const),
];
/** Harmless where only the command's own processes, and what they share, are in reach. */
const OF_PROCESSES: Call[] = [
  ...(["ptrace", "process_vm_readv", "process_vm_writev", "pidfd_getfd", "kcmp"] as const),
  ...(["shmget", "shmat", "shmctl", "semget", "semop", "semtimedop", "semctl"] as const),
  ...(["msgget", "msgsnd", "msgrcv", "msgctl", "mq_open", "mq_unlink", "setrlimit", "prlimit64"] as const),
  "process_madvise",
];

const EPERM = 1;
const EACCES = 13;
const ENOSYS = 38;
const EOPNOTSUPP = 95;
const AF_INET = 2;
const AF_INET6 = 10;
const AF_NETLINK = 16;
const SOCK_STREAM = 1;
const SOCK_SEQPACKET = 5;
/** Typing into a terminal for whoever reads it; setting attributes (`chattr`) of a file that was opened for reading. */
const FORBIDDEN_CONTROLS = [0x5412, 0x541c, 0x40086602, 0x401c5820];
/** The limit whose value marks the processes of a command: `RLIMIT_RTTIME`, which means nothing to ordinary ones. */
export const TAG_LIMIT = 15;
/** CLONE_NEW{NS,CGROUP,UTS,IPC,USER,PID,NET}. */
const NEW_NAMESPACES = 0x7e020000;

const LOAD = 0x20;
const JUMP_EQUAL = 0x15;
const JUMP_AT_LEAST = 0x35;
const JUMP_ANY_BIT = 0x45;
const AND = 0x54;
const RETURN = 0x06;
const ALLOW = 0x7fff0000;
const ASK = 0x7fc00000;
const KILL_PROCESS = 0x80000000;
const NUMBER_AT = 0;
const ARCHITECTURE_AT = 4;

export type Instruction = readonly [code: number, ifTrue: number, ifFalse: number, value: number];

export function seccompProgram({ architecture, inet, ownNamespaces }: SeccompOptions): Instruction[] {
  const arm = architecture === "arm64";
  const plain = (Object.keys(CALLS) as Call[]).filter(
    (call) =>
      !CHECKED.includes(call) && !(ownNamespaces && (OF_PROCESSES.includes(call) || UNSUPPORTED.includes(call))),
  );
  const when = (call: Call, body: Instruction[]): Instruction[] => {
    const number = CALLS[call][arm ? 1 : 0];
    return number === null ? [] : [[JUMP_EQUAL, 0, body.length, number], ...body];
  };
  return [
    [LOAD, 0, 0, ARCHITECTURE_AT],
    [JUMP_EQUAL, 1, 0, arm ? 0xc00000b7 : 0xc000003e],
    [RETURN, 0, 0, KILL_PROCESS],
    [LOAD, 0, 0, NUMBER_AT],
    // The x32 calls of x86_64 have other numbers for the same deeds.
    ...(arm ? [] : ([[JUMP_AT_LEAST, 0, 1, 0x40000000], refuse(ENOSYS)] as Instruction[])),
    ...plain.flatMap((call) => when(call, [refuse(errnoFor(call))])),
    ...when("socket", socketRule(inet)),
    // Pairs of other types (datagram, and raw, which means datagram) can be pointed at a socket file afterwards.
    ...when("socketpair", [
      argument(1),
      [AND, 0, 0, 0xf],
      [JUMP_EQUAL, 2, 0, SOCK_STREAM],
      [JUMP_EQUAL, 1, 0, SOCK_SEQPACKET],
      refuse(EACCES),
      [RETURN, 0, 0, ALLOW],
    ]),
    ...when("ioctl", [
      argument(1),
      ...FORBIDDEN_CONTROLS.flatMap((request): Instruction[] => [[JUMP_EQUAL, 0, 1, request], refuse(EPERM)]),
      [RETURN, 0, 0, ALLOW],
    ]),
    ...(["clone", "unshare"] as const).flatMap((call) =>
      when(call, [argument(0), [JUMP_ANY_BIT, 0, 1, NEW_NAMESPACES], refuse(EPERM), [RETURN, 0, 0, ALLOW]]),
    ),
    ...(ownNamespaces ? [] : [...limitRules(when), ...scheduleRules(when), ...metadataRules(arm)]),
    [RETURN, 0, 0, ALLOW],
  ];
}

function errnoFor(call: Call): number {
  if (UNKNOWN.includes(call)) return ENOSYS;
  return UNSUPPORTED.includes(call) ? EOPNOTSUPP : EPERM;
}

/** We are asked: metadata.ts. */
function metadataRules(arm: boolean): Instruction[] {
  return METADATA.flatMap(({ numbers }): Instruction[] => {
    const number = numbers[arm ? 1 : 0];
    return number == null
      ? []
      : [
          [JUMP_EQUAL, 0, 1, number],
          [RETURN, 0, 0, ASK],
        ];
  });
}

/** Limits of others stay as they are, and the one that marks the command's processes. */
function limitRules(when: (call: Call, body: Instruction[]) => Instruction[]): Instruction[] {
  return [
    ...when("setrlimit", [argument(0), [JUMP_EQUAL, 0, 1, TAG_LIMIT], refuse(EPERM), [RETURN, 0, 0, ALLOW]]),
    ...when("prlimit64", [
      // Without a new value, in both halves of its address, it only asks.
      argument(2),
      [JUMP_EQUAL, 0, 2, 0],
      upperHalf(2),
      [JUMP_EQUAL, 5, 0, 0],
      argument(0),
      [JUMP_EQUAL, 0, 2, 0],
      argument(1),
      [JUMP_EQUAL, 0, 1, TAG_LIMIT],
      refuse(EPERM),
      [RETURN, 0, 0, ALLOW],
    ]),
  ];
}

/** Where and when others run is not the command's to say. */
function scheduleRules(when: (call: Call, body: Instruction[]) => Instruction[]): Instruction[] {
  return [
    ...OF_FIRST.flatMap((call) =>
      when(call, [argument(0), [JUMP_EQUAL, 1, 0, 0], refuse(EPERM), [RETURN, 0, 0, ALLOW]]),
    ),
    ...(["setpriority", "ioprio_set"] as const).flatMap((call) =>
      when(call, [
        argument(0),
        [JUMP_EQUAL, 2, 0, OF_SECOND[call]],
        argument(1),
        [JUMP_EQUAL, 1, 0, 0],
        refuse(EPERM),
        [RETURN, 0, 0, ALLOW],
      ]),
    ),
  ];
}

/** Internet sockets where there is a network for them, and asking the kernel about interfaces; nothing that reaches
 *  another program on this machine, which would act with its own rights. */
function socketRule(inet: boolean): Instruction[] {
  return [
    argument(0),
    ...(inet ? [AF_INET, AF_INET6] : []).flatMap((family): Instruction[] => [
      [JUMP_EQUAL, 0, 1, family],
      [RETURN, 0, 0, ALLOW],
    ]),
    [JUMP_EQUAL, 1, 0, AF_NETLINK],
    refuse(EACCES),
    argument(2),
    // NETLINK_ROUTE.
    [JUMP_EQUAL, 1, 0, 0],
    refuse(EACCES),
    [RETURN, 0, 0, ALLOW],
  ];
}

/** The kernel reads 32 bits of these arguments as well. */
function argument(index: number): Instruction {
  return [LOAD, 0, 0, 16 + 8 * index];
}

function upperHalf(index: number): Instruction {
  return [LOAD, 0, 0, 20 + 8 * index];
}

function refuse(errno: number): Instruction {
  return [RETURN, 0, 0, 0x00050000 | errno];
}

/** As the kernel, and bubblewrap, read it: eight bytes per instruction. */
export function encodeProgram(program: readonly Instruction[]): Uint8Array {
  const bytes = new Uint8Array(program.length * 8);
  const view = new DataView(bytes.buffer);
  for (const [index, [code, ifTrue, ifFalse, value]] of program.entries()) {
    view.setUint16(index * 8, code, true);
    view.setUint8(index * 8 + 2, ifTrue);
    view.setUint8(index * 8 + 3, ifFalse);
    view.setUint32(index * 8 + 4, value >>> 0, true);
  }
  return bytes;
}
