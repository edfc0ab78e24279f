// Ends a command with everything it started: its process group, its descendants in other sessions (`setsid`), and
// processes that lost their parents but still carry the command's mark in their environment.

import { readdirSync, readFileSync } from "node:fs";
import { isPidAlive, readProcessStat } from "./process-stat.ts";

/** The variable that marks a command's processes; its value is unique per command. */
export const MARK_VARIABLE = "LETTA_SHELL_ID";

/** A number processes carry as a limit (`RLIMIT_RTTIME`) that they inherit and, confined, cannot change: unlike the
 *  variable it cannot be left behind. Linux only. */
export interface ProcessTag {
  /** Of one command. */
  own: string;
  /** Start of the tags of all commands of this process. */
  all: string;
}

/** What a tag looks like in `/proc/<pid>/limits`, before its digits. */
export const TAG_LINE = "Max realtime timeout";

/** Each call a tag of its own. */
export function createTags(): () => ProcessTag {
  const [random = 0] = crypto.getRandomValues(new Uint32Array(1));
  // Ten digits for the process, five for the command: microseconds of real-time work, which is years.
  const all = `${1_000_000_000 + random}`.padStart(10, "1");
  let count = 0;
  return () => ({ own: `${all}${String(count++ % 100_000).padStart(5, "0")}`, all });
}

export interface ProcessTree {
  /** Leader of the group and root of the tree. */
  pid: number;
  /** Value of `MARK_VARIABLE` in the environment of the tree. */
  mark: string;
  /** The leader has ended and was waited for, so its number may have been reused. */
  leaderGone?: boolean;
  /** Only what is in the group and carries the mark; processes that moved to other sessions are left alone. */
  groupOnly?: boolean;
  /** Whatever carries it belongs to the tree, too. */
  tag?: string | undefined;
}

export interface KillPauses {
  afterIntMs: number;
  afterTermMs: number;
}

/** INT, TERM, then STOP until nothing new appears, and KILL; each only while something is left. Resolves when nothing is
 *  (or cannot be ended). */
export async function killTree(tree: ProcessTree, pauses: KillPauses): Promise<void> {
  if (process.platform === "win32") return killOnWindows(tree.pid);
  const known = new Map<number, string>();
  const { mark, tag, groupOnly } = tree;
  const isOurs = (pid: number) => !groupOnly && (hasMark(pid, mark) || (tag !== undefined && hasTag(pid, tag)));
  return killListed(() => listTree(tree, known), isOurs, pauses);
}

/** The same for everything with a tag that starts so. */
export function killTagged(tag: string, pauses: KillPauses): Promise<void> {
  return killListed(
    async () => (await listProcesses()).map(({ pid }) => pid).filter((pid) => hasTag(pid, tag)),
    (pid) => hasTag(pid, tag),
    pauses,
  );
}

async function killListed(
  list: () => Promise<number[]>,
  isOurs: (pid: number) => boolean,
  pauses: KillPauses,
): Promise<void> {
  const steps = [
    { signal: "SIGINT", pauseMs: pauses.afterIntMs },
    { signal: "SIGTERM", pauseMs: pauses.afterTermMs },
  ] as const;
  for (const { signal, pauseMs } of steps) {
    const alive = await list();
    if (alive.length === 0) return;
    for (const pid of alive) send(pid, signal);
    // A stopped process handles nothing before it goes on.
    if (signal === "SIGTERM") for (const pid of alive) send(pid, "SIGCONT");
    const deadline = performance.now() + pauseMs;
    while (performance.now() < deadline) {
      await Bun.sleep(Math.min(20, pauseMs));
      if ((await list()).length === 0) return;
    }
  }
  await killForGood(list, isOurs);
}

/** How long something that keeps starting successors is chased. */
const CHASE_MS = 2_000;

/** A process that hands over to a successor and ends is gone before a signal reaches it; the successor cannot hand over
 *  once it is stopped. So all are stopped, the youngest first and each as soon as it is seen, until a look finds nobody
 *  new; then they are killed. */
async function killForGood(list: () => Promise<number[]>, isOurs: (pid: number) => boolean): Promise<void> {
  const deadline = performance.now() + CHASE_MS;
  do {
    stopSuccessors(isOurs, deadline);
    const alive = await list();
    if (alive.length === 0) return;
    for (const pid of alive) send(pid, "SIGKILL");
    await Bun.sleep(10);
    if ((await list()).length === 0) return;
  } while (performance.now() < deadline);
}

function stopSuccessors(isOurs: (pid: number) => boolean, deadline: number): void {
  if (process.platform !== "linux") return;
  const known = new Set<number>([process.pid]);
  for (let grew = true; grew && performance.now() < deadline; ) {
    grew = false;
    // In the order of numbers: who was just started is looked at while it still lives.
    for (const name of readdirSync("/proc").reverse()) {
      const pid = Number(name);
      if (!Number.isInteger(pid) || known.has(pid)) continue;
      known.add(pid);
      if (!isOurs(pid)) continue;
      send(pid, "SIGSTOP");
      grew = true;
    }
  }
}

/** True while a process of the group is alive; zombies do not count. */
export async function isGroupAlive(pgid: number): Promise<boolean> {
  if (process.platform === "win32") return false;
  // Cheap first question: usually there is no such group any more.
  if (!isPidAlive(-pgid)) return false;
  return (await listProcesses()).some((entry) => entry.group === pgid);
}

interface ProcessEntry {
  pid: number;
  parent: number;
  group: number;
  /** With the pid, identifies a process although pids are reused. */
  started: string;
}

/** Living processes of the tree. `known` remembers members, so that they are still found after losing their parent. */
async function listTree(
  { pid, mark, leaderGone, groupOnly, tag }: ProcessTree,
  known: Map<number, string>,
): Promise<number[]> {
  const all = await listProcesses();
  if (groupOnly) {
    const marked = (entry: ProcessEntry): boolean => process.platform !== "linux" || hasMark(entry.pid, mark);
    return all.filter((entry) => entry.group === pid && marked(entry)).map((entry) => entry.pid);
  }
  const members = new Set<number>();
  // A living process with the number of a leader that ended is somebody else's, and so is its group.
  const ours = !(leaderGone && all.some((entry) => entry.pid === pid));
  for (const entry of all) {
    const member = (ours && entry.group === pid) || known.get(entry.pid) === entry.started;
    if (member || hasMark(entry.pid, mark) || (tag !== undefined && hasTag(entry.pid, tag))) members.add(entry.pid);
  }
  for (let grew = true; grew; ) {
    grew = false;
    for (const entry of all) {
      if (members.has(entry.pid) || !members.has(entry.parent)) continue;
      members.add(entry.pid);
      grew = true;
    }
  }
  members.delete(process.pid);
  for (const entry of all) if (members.has(entry.pid)) known.set(entry.pid, entry.started);
  return [...members];
}

async function listProcesses(): Promise<ProcessEntry[]> {
  if (process.platform !== "linux") return listWithPs();
  const entries: ProcessEntry[] = [];
  for (const name of readdirSync("/proc")) {
    if (!/^\d+$/.test(name)) continue;
    const stat = readProcessStat(name);
    if (!stat || stat.state === "Z" || stat.state === "X") continue;
    entries.push({ pid: Number(name), parent: stat.parent, group: stat.group, started: stat.startTicks });
  }
  return entries;
}

async function listWithPs(): Promise<ProcessEntry[]> {
  const child = Bun.spawn(["ps", "-axo", "pid=,ppid=,pgid=,stat=,lstart="], {
    stdin: "ignore",
    stdout: "pipe",
    stderr: "ignore",
  });
  const text = await child.stdout.text();
  await child.exited;
  return text.split("\n").flatMap((line) => {
    const [pid, parent, group, state, ...started] = line.trim().split(/\s+/);
    if (!pid || state === undefined || state.startsWith("Z")) return [];
    return [{ pid: Number(pid), parent: Number(parent), group: Number(group), started: started.join(" ") }];
  });
}

function hasMark(pid: number, mark: string): boolean {
  if (process.platform !== "linux") return false;
  try {
    return readFileSync(`/proc/${pid}/environ`, "latin1").includes(`${MARK_VARIABLE}=${mark}\0`);
  } catch {
    return false; // It ended meanwhile, or belongs to somebody else.
  }
}

function hasTag(pid: number, tag: string): boolean {
  try {
    const limits = readFileSync(`/proc/${pid}/limits`, "latin1");
    return limits
      .slice(limits.indexOf(TAG_LINE) + TAG_LINE.length)
      .trimStart()
      .startsWith(tag);
  } catch {
    return false; // It ended meanwhile, or belongs to somebody else.
  }
}

function send(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    /* ended meanwhile, or not ours to end */
  }
}

async function killOnWindows(pid: number): Promise<void> {
  const child = Bun.spawn(["taskkill", "/pid", String(pid), "/T", "/F"], {
    stdin: "ignore",
    stdout: "ignore",
    stderr: "ignore",
  });
  await child.exited;
}
