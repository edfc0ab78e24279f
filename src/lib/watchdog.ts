// Keeps shell commands from outliving this process, also when it is killed with SIGKILL. One tiny `sh` (1 ms, 2 MB; a
// second copy of the binary would take 25 ms and 25 MB) holds the read end of a pipe. It is told what runs; when the
// pipe closes, this process is gone, and it kills what is left: the groups, and everything carrying a command's mark.

import { closeSync, writeSync } from "node:fs";
import { openPipe } from "./pipe.ts";
import { MARK_VARIABLE, TAG_LINE } from "./process-tree.ts";

export interface Watchdog {
  /** Before the command starts, so that no moment is uncovered. */
  begin(mark: string): void;
  /** The command runs as this process group. */
  started(mark: string, group: number): void;
  /** Nothing of the command is left to watch. */
  end(mark: string): void;
  /** The command ended, processes of its group did not: they end with this process. */
  left(mark: string, group: number): void;
  /** What carries a tag that starts so ends with this process. */
  tagged(tag: string): void;
  /** Lets the watchdog go. What it still watches is killed. */
  close(): void;
}

/** Starts nothing before the first `begin`. `path` is where `grep` and `sleep` are found. */
export function createWatchdog({ path = "/usr/bin:/bin" }: { path?: string } = {}): Watchdog {
  let fd: number | null = null;
  const watched = new Map<string, string>();
  const tell = (line: string): void => {
    if (process.platform === "win32") return;
    fd ??= startScript(path);
    if (fd === null) return;
    try {
      writeSync(fd, line);
    } catch {
      // Somebody killed it. A new one is told everything.
      closeSync(fd);
      fd = startScript(path);
      if (fd !== null) writeSync(fd, [...watched.values()].join(""));
    }
  };
  const watch = (mark: string, line: string): void => {
    watched.set(mark, line);
    tell(line);
  };
  return {
    begin: (mark) => watch(mark, `+ ${mark} 0\n`),
    started: (mark, group) => watch(mark, `+ ${mark} ${group}\n`),
    left: (mark, group) => watch(mark, `~ ${mark} ${group}\n`),
    tagged: (tag) => {
      if (!watched.has(tag)) watch(tag, `t ${tag}\n`);
    },
    end: (mark) => {
      watched.delete(mark);
      if (fd !== null) tell(`- ${mark}\n`);
    },
    close: () => {
      if (fd !== null) closeSync(fd);
      fd = null;
    },
  };
}

function startScript(path: string): number | null {
  const pipe = openPipe();
  if (pipe === null) return null;
  try {
    const child = Bun.spawn(["/bin/sh", "-c", 'eval "$LETTA_WATCHDOG"', "letta-watchdog"], {
      cwd: "/",
      // Not in argv: process lists show that.
      env: { PATH: path, LETTA_WATCHDOG: SCRIPT },
      stdin: pipe.readFd,
      stdout: "ignore",
      stderr: "ignore",
      // A session of its own: Ctrl-C and the end of the terminal do not reach it.
      detached: true,
    });
    child.unref();
    return pipe.writeFd;
  } catch {
    closeSync(pipe.writeFd);
    return null; // No `sh`: then there is no shell tool to watch either.
  } finally {
    closeSync(pipe.readFd);
  }
}

// `active` holds `mark:group` words, `remaining` those whose command has ended. A remaining group's number may have
// been reused since, so only its processes that carry the mark are killed.
const SCRIPT = `
trap '' HUP INT TERM QUIT PIPE
active= remaining= tag=
without() { # kept = words of $1 that are not of mark $2
  kept=
  for word in $1; do case $word in "$2":*) ;; *) kept="$kept $word" ;; esac; done
}
while read -r what mark group; do
  without "$active" "$mark"; active=$kept
  without "$remaining" "$mark"; remaining=$kept
  case $what in
    t) tag=$mark ;;
    +) active="$active $mark:$group" ;;
    "~") remaining="$remaining $mark:$group" ;;
  esac
done
marked() { # pids whose environment carries mark $1
  grep -lF "${MARK_VARIABLE}=$1" /proc/[0-9]*/environ 2>/dev/null | while IFS=/ read -r _ _ pid _; do echo "$pid"; done
}
group_of() { # process group of pid $1
  read -r stat 2>/dev/null < "/proc/$1/stat" || return
  set -- \${stat##*) }
  echo "$3"
}
sweep() { # sends $1 to everything left; prints something if there was anything
  for word in $active; do
    group=\${word#*:}
    [ "$group" != 0 ] && kill -s "$1" -- "-$group" 2>/dev/null && echo found
    for pid in $(marked "\${word%%:*}"); do kill -s "$1" "$pid" 2>/dev/null && echo found; done
  done
  for word in $remaining; do
    for pid in $(marked "\${word%%:*}"); do
      [ "$(group_of "$pid")" = "\${word#*:}" ] && kill -s "$1" "$pid" 2>/dev/null && echo found
    done
  done
  [ -n "$tag" ] || return
  for file in $(grep -l "^${TAG_LINE}  *$tag" /proc/[0-9]*/limits 2>/dev/null); do
    pid=\${file#/proc/}
    kill -s "$1" "\${pid%/limits}" 2>/dev/null && echo found
  done
}
[ -n "$active$remaining$tag" ] || exit 0
[ -n "$(sweep TERM)" ] || exit 0
sweep CONT >/dev/null
sleep 1
for round in 1 2 3 4 5; do
  [ -n "$(sweep KILL)" ] || exit 0
  sleep 1
done
`;
