// Starts shell commands and sees them to their end. A command runs in its own session without a terminal, reads
// /dev/null, and writes stdout and stderr into one pipe, so that they interleave as they were written. Who must tell
// them apart (hooks) gets two pipes, and may give the command something to read.

import { randomUUID } from "node:crypto";
import { closeSync, statSync } from "node:fs";
import { systemErrorCode, systemReason, ToolError } from "@/lib/errors.ts";
import { type InputDescriptor, withInputs } from "@/lib/input-descriptors.ts";
import { openPipe } from "@/lib/pipe.ts";
import { isGroupAlive, killTagged, killTree, MARK_VARIABLE } from "@/lib/process-tree.ts";
import type { Watchdog } from "@/lib/watchdog.ts";
import type { Sandbox } from "@/sandbox/types.ts";
import { KILL_AFTER_INT_MS, KILL_AFTER_TERM_MS } from "./limits.ts";
import { spawnOnTerminal, type TerminalSize } from "./spawn-terminal.ts";

export interface ShellCommand {
  command: string;
  /** Absolute. */
  cwd: string;
  env: Record<string, string>;
  /** Run with `set -euo pipefail`. */
  strict?: boolean;
  /** bash without any start-up file, whatever the platform's usual shell. */
  bare?: boolean;
  /** What it can read. Default: nothing. */
  stdin?: string;
  /** Run by this program instead of the usual shell. */
  shell?: string;
  /** As a login shell, which reads the user's profile. */
  login?: boolean;
  /** On a terminal of this size instead of a pipe without stdin. */
  terminal?: TerminalSize;
  /** Never in the sandbox: the user's own commands, and what a person let out of it. */
  unconfined?: boolean;
}

export interface RunningShell {
  readonly pid: number;
  /** It runs in a sandbox. */
  readonly confined: boolean;
  /** Exit code of the shell itself; 128 + n when signal n ended it. Never rejects. */
  readonly exited: Promise<number>;
  /** Resolves when the last process holding the output has closed it. Never rejects. */
  readonly closed: Promise<void>;
  /** What the sandbox had to do with this end, in one line; null: nothing. Throws ToolError when it could not be set up. */
  explain(end: { exitCode: number; output: string }): string | null;
  /** Ends everything the command started (INT, TERM, KILL). Resolves when it is gone and its output is read. */
  kill(): Promise<void>;
  /** Types into its terminal; absent when it has none. */
  write?(text: string): void;
}

type OnBytes = (bytes: Uint8Array) => void;

export interface Shells {
  /** Throws ToolError when it cannot be started. `onBytes` gets the output as it comes, without stderr when there is an
   *  `onErrorBytes` for it. */
  start(command: ShellCommand, onBytes: OnBytes, onErrorBytes?: OnBytes): RunningShell;
  /** Keeps a program that is started elsewhere, in a process group of its own, from outliving this process. */
  guard(): Guard;
  /** Ends what is still running, and what finished commands left in their process group. */
  killAll(): Promise<void>;
}

export interface Guard extends Disposable {
  /** For the program's environment. */
  readonly env: Record<string, string>;
  started(pid: number): void;
}

/** A flood of output is garbage as soon as it is read; left alone, the collector lets memory grow with it. */
const COLLECT_EVERY_BYTES = 8 * 1024 * 1024;

/** Carries PATH past the profile of a login shell. */
const PATH_VARIABLE = "LETTA_SHELL_PATH";

const PAUSES = { afterIntMs: KILL_AFTER_INT_MS, afterTermMs: KILL_AFTER_TERM_MS };

export function createShells(watchdog: Watchdog, sandbox: Pick<Sandbox, "confine">): Shells {
  const running = new Set<RunningShell>();
  /** Groups with living members whose command has ended, by mark. */
  const remaining = new Map<string, number>();
  /** Start of the tags of confined commands, once there was one. */
  let allTags: string | null = null;

  const start: Shells["start"] = (command, onBytes, onErrorBytes) => {
    const memory = command.env.LETTA_MEMORY_DIR;
    const terminal = command.terminal !== undefined;
    const plain = { argv: shellCommand(command), cwd: command.cwd, terminal, ...(memory && { memory }) };
    const confined = command.unconfined ? null : sandbox.confine(plain);
    const { argv, inputs = [] }: { argv: string[]; inputs?: readonly InputDescriptor[] } = confined ?? plain;
    const mark = `${randomUUID()}.`;
    watchdog.begin(mark);
    const tag = confined?.tag;
    if (tag) {
      watchdog.tagged(tag.all);
      allTags = tag.all;
    }
    let child: Spawned & Pick<RunningShell, "write">;
    try {
      const env: Record<string, string> = { ...command.env, ...confined?.env, [MARK_VARIABLE]: mark };
      if (command.login && env.PATH !== undefined) env[PATH_VARIABLE] = env.PATH;
      child = withInputs(inputs, (files) =>
        command.terminal
          ? spawnOnTerminal(argv, { cwd: command.cwd, env, size: command.terminal, files }, onBytes)
          : spawn(argv, { ...command, env, files }, onBytes, onErrorBytes),
      );
    } catch (error) {
      confined?.release();
      watchdog.end(mark);
      throw startError(error, argv[0]!, command.cwd);
    }
    if (confined) void child.exited.then(confined.release);
    watchdog.started(mark, child.pid);
    let killed: Promise<void> | undefined;
    let leaderGone = false;
    void child.exited.then(() => {
      leaderGone = true;
    });
    const shell: RunningShell = {
      pid: child.pid,
      confined: confined !== null,
      exited: child.exited,
      closed: child.closed,
      explain: (end) => confined?.explain(end) ?? null,
      kill: () => {
        killed ??= killTree({ pid: child.pid, mark, leaderGone, tag: tag?.own }, PAUSES).then(child.stopReading);
        return killed;
      },
      ...(child.write && { write: child.write }),
    };
    running.add(shell);
    void Promise.all([child.exited, child.closed]).then(async () => {
      running.delete(shell);
      // The jobs of a terminal are in groups of their own and end with it.
      if (command.terminal) await shell.kill();
      if (await isGroupAlive(child.pid)) {
        remaining.set(mark, child.pid);
        watchdog.left(mark, child.pid);
      } else {
        watchdog.end(mark);
      }
    });
    return shell;
  };

  const guard = (): Guard => {
    const mark = `${randomUUID()}.`;
    watchdog.begin(mark);
    return {
      env: { [MARK_VARIABLE]: mark },
      started: (pid) => watchdog.started(mark, pid),
      [Symbol.dispose]: () => watchdog.end(mark),
    };
  };

  return {
    start,
    guard,
    killAll: async () => {
      await Promise.all([...running].map((shell) => shell.kill()));
      const groups = [...remaining];
      remaining.clear();
      await Promise.all(groups.map(([mark, pid]) => killTree({ pid, mark, groupOnly: true }, PAUSES)));
      if (allTags !== null) await killTagged(allTags, PAUSES);
      watchdog.close();
    },
  };
}

export interface Spawned {
  pid: number;
  exited: Promise<number>;
  closed: Promise<void>;
  stopReading(): Promise<void>;
}

function spawn(
  argv: string[],
  { cwd, env, stdin, files }: Pick<ShellCommand, "cwd" | "env" | "stdin"> & { files: number[] },
  onBytes: OnBytes,
  onErrorBytes: OnBytes | undefined,
): Spawned {
  const pipes = [openPipe(), ...(onErrorBytes ? [openPipe()] : [])].filter((pipe) => pipe !== null);
  const [out = "pipe", err = out] = pipes.map((pipe) => pipe.writeFd);
  let child: Bun.Subprocess<"ignore" | Uint8Array, "pipe" | number, "pipe" | number>;
  try {
    const input = stdin === undefined ? "ignore" : Buffer.from(stdin);
    // `detached` is setsid: a process group of its own, and no controlling terminal to ask for passwords on.
    child = Bun.spawn(argv, { cwd, env, stdio: [input, out, err, ...files], detached: true });
  } catch (error) {
    for (const pipe of pipes) closeSync(pipe.readFd);
    throw error;
  } finally {
    for (const pipe of pipes) closeSync(pipe.writeFd);
  }
  const streams =
    pipes.length > 0
      ? pipes.map((pipe) => Bun.file(pipe.readFd).stream())
      : [child.stdout, child.stderr].filter((stream) => stream instanceof ReadableStream);
  const readers = streams.map((stream) => stream.getReader());
  const sinks = [onBytes, onErrorBytes ?? onBytes];
  const closed = Promise.all(readers.map((reader, index) => pump(reader, sinks[index] ?? onBytes))).then(() => {
    for (const pipe of pipes) closeSync(pipe.readFd);
  });
  return {
    pid: child.pid,
    exited: child.exited,
    closed,
    stopReading: async () => {
      // What the dead wrote is still in the pipe. A holder that cannot be killed must not keep us.
      const late = Bun.sleep(200);
      await Promise.race([closed, late]);
      await Promise.all(readers.map((reader) => reader.cancel()));
    },
  };
}

async function pump(
  reader: { read(): Promise<{ done: boolean; value?: Uint8Array }> },
  onBytes: (bytes: Uint8Array) => void,
): Promise<void> {
  let sinceCollection = 0;
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      if (!value) continue;
      onBytes(value);
      sinceCollection += value.byteLength;
      if (sinceCollection < COLLECT_EVERY_BYTES) continue;
      sinceCollection = 0;
      Bun.gc(true);
    }
  } catch {
    // Reading fails only when the pipe is gone, which ends the output like its end does.
  }
}

function shellCommand(wanted: ShellCommand): string[] {
  const { command, env, strict = false, bare = false, shell: program, login = false } = wanted;
  const path = env.PATH;
  // Profiles set PATH anew on many systems; what was on it stays reachable. On the first line: numbers stay right.
  const profiled = `PATH="$PATH:$${PATH_VARIABLE}"; ${command}`;
  if (program !== undefined && !bare)
    return login && takesLogin(program) ? [program, "-lc", profiled] : [program, "-c", command];
  const find = (...names: string[]): string | null => {
    for (const name of names) {
      const found = Bun.which(name, path === undefined ? {} : { PATH: path });
      if (found) return found;
    }
    return null;
  };
  if (process.platform === "win32") {
    const shell = find("pwsh", "powershell");
    const utf8 = "[Console]::OutputEncoding = [System.Text.Encoding]::UTF8; ";
    return shell ? [shell, "-NoProfile", "-Command", utf8 + command] : ["cmd.exe", "/d", "/s", "/c", command];
  }
  const own = login && !bare ? profiled : command;
  const text = strict ? `set -euo pipefail\n${own}` : own;
  const bash = bare ? find("/bin/bash", "bash") : null;
  if (bash) return [bash, "--noprofile", "--norc", "-c", text];
  // bash 3.2 of macOS misreads some here-documents.
  const shell =
    process.platform === "darwin" ? (find("/bin/zsh", "zsh", "bash") ?? "bash") : (find("bash", "/bin/bash") ?? null);
  if (shell) return [shell, ...(bare && shell.endsWith("zsh") ? ["-f"] : []), login && !bare ? "-lc" : "-c", text];
  const sh = find("sh", "/bin/sh");
  if (!sh) throw new ToolError("Executable not found: bash. Install bash, or put it on PATH.");
  return [sh, "-c", text];
}

function takesLogin(program: string): boolean {
  return /(?:^|\/)(?:bash|zsh)$/.test(program);
}

function startError(error: unknown, executable: string, cwd: string): ToolError {
  if (!statSync(cwd, { throwIfNoEntry: false })?.isDirectory()) {
    return new ToolError(`Working directory not found: ${cwd}`, { cause: error });
  }
  const code = systemErrorCode(error);
  if (code === "ENOENT") return new ToolError(`Executable not found: ${executable}`, { cause: error });
  if (code === "E2BIG") return new ToolError("The command is too long for this system.", { cause: error });
  return new ToolError(`The shell could not be started: ${systemReason(error)}`, { cause: error });
}
