// The compiled binary for end-to-end tests: built once when sources are newer, run in a throw-away home with a minimal
// environment, so that nothing on the developer's machine (keys, settings, agents) can reach a test.

import { Database } from "bun:sqlite";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  realpathSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { Subprocess } from "bun";

const ROOT = join(import.meta.dir, "../..");
const DEFAULT_TIMEOUT_MS = 30_000;

export interface TempDir extends Disposable {
  /** Absolute, symlinks resolved. */
  readonly path: string;
}

export interface TempHome extends TempDir {
  /** Default working directory: inside the home, but not the home itself, which has no project settings. */
  readonly workdir: string;
}

export interface LettaOptions {
  /** Default: a fresh one, removed afterwards. */
  home?: TempHome;
  /** Default: the home's `workdir`. */
  cwd?: string;
  /** Added to the minimal environment; undefined removes a variable. */
  env?: Record<string, string | undefined>;
}

export interface RunOptions extends LettaOptions {
  /** Sent and closed. Default: no stdin (`/dev/null`). */
  stdin?: string | Uint8Array;
  /** After it the whole process group is killed and the call rejects with what was printed. Default 30 s. */
  timeoutMs?: number;
}

export interface RunResult {
  stdout: string;
  stderr: string;
  /** 128 + signal number when a signal ended it. */
  exitCode: number;
  durationMs: number;
}

export interface LettaProcess extends AsyncDisposable {
  readonly child: Subprocess<"pipe", "pipe", "pipe">;
  /** Everything printed so far. */
  readonly stdout: () => string;
  readonly stderr: () => string;
  /** Resolves with the match once the stream holds it; rejects when the process ends or the time passes first. */
  waitFor(stream: "stdout" | "stderr", pattern: RegExp, timeoutMs?: number): Promise<RegExpExecArray>;
  /** To the process alone, as a supervisor would send it. */
  kill(signal: NodeJS.Signals): void;
  /** Output complete and process gone. */
  readonly exited: Promise<RunResult>;
}

let building: Promise<string> | undefined;

/** Path of `dist/letta`, compiled first when any source is newer. Safe from many files and processes at once. */
export function builtBinary(): Promise<string> {
  building ??= buildOnce();
  return building;
}

/** Runs the compiled binary to its end. */
export async function runLetta(args: string[], options: RunOptions = {}): Promise<RunResult> {
  using ownHome = options.home ? undefined : tempHome();
  const home = options.home ?? ownHome!;
  const binary = await builtBinary();
  const startedAt = performance.now();
  const child = Bun.spawn([binary, ...args], {
    cwd: options.cwd ?? home.workdir,
    env: childEnv(home, options.env),
    stdin: typeof options.stdin === "string" ? Buffer.from(options.stdin) : (options.stdin ?? "ignore"),
    stdout: "pipe",
    stderr: "pipe",
    detached: true,
  });
  let timedOut = false;
  const timeoutMs = options.timeoutMs ?? DEFAULT_TIMEOUT_MS;
  const timer = setTimeout(() => {
    timedOut = true;
    killGroup(child.pid);
  }, timeoutMs);
  try {
    const [stdout, stderr] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
    const result = toResult(child, startedAt, stdout, stderr);
    if (timedOut) throw new Error(`letta ${args.join(" ")}: no end after ${timeoutMs} ms\n${stdout}\n${stderr}`);
    return result;
  } finally {
    clearTimeout(timer);
  }
}

/** Starts the compiled binary with open pipes. Disposal kills what is left of its process group. */
export async function spawnLetta(args: string[], options: LettaOptions = {}): Promise<LettaProcess> {
  const ownHome = options.home ? undefined : tempHome();
  const home = options.home ?? ownHome!;
  const binary = await builtBinary();
  const startedAt = performance.now();
  const child = Bun.spawn([binary, ...args], {
    cwd: options.cwd ?? home.workdir,
    env: childEnv(home, options.env),
    stdin: "pipe",
    stdout: "pipe",
    stderr: "pipe",
    detached: true,
  });
  const output = { stdout: collect(child.stdout), stderr: collect(child.stderr) };
  const exited = Promise.all([output.stdout.ended, output.stderr.ended, child.exited]).then(() =>
    toResult(child, startedAt, output.stdout.text(), output.stderr.text()),
  );
  return {
    child,
    stdout: output.stdout.text,
    stderr: output.stderr.text,
    waitFor: (stream, pattern, timeoutMs = DEFAULT_TIMEOUT_MS) => output[stream].waitFor(pattern, timeoutMs),
    kill: (signal) => child.kill(signal),
    exited,
    async [Symbol.asyncDispose]() {
      killGroup(child.pid);
      await child.exited;
      ownHome?.[Symbol.dispose]();
    },
  };
}

/** An empty home directory with its own temp directory. */
export function tempHome(): TempHome {
  const { path, [Symbol.dispose]: dispose } = tempDir("letta-home-");
  const workdir = join(path, "work");
  mkdirSync(workdir);
  mkdirSync(join(path, "tmp"));
  return { path, workdir, [Symbol.dispose]: dispose };
}

/** A git repository (an empty one, on branch main) holding these files; keys are relative paths. */
export function tempRepo(files: Record<string, string | Uint8Array> = {}): TempDir {
  const folder = tempDir("letta-repo-");
  mkdirSync(join(folder.path, ".git/objects"), { recursive: true });
  mkdirSync(join(folder.path, ".git/refs/heads"), { recursive: true });
  writeFileSync(join(folder.path, ".git/HEAD"), "ref: refs/heads/main\n");
  writeFileSync(join(folder.path, ".git/config"), "[core]\n\trepositoryformatversion = 0\n\tbare = false\n");
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder.path, name)), { recursive: true });
    writeFileSync(join(folder.path, name), content);
  }
  return folder;
}

/** An empty directory, removed on disposal. */
export function tempDir(prefix = "letta-test-"): TempDir {
  const path = mkdtempSync(join(realpathSync(tmpdir()), prefix));
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) };
}

/** Parses JSON lines; a line that is not JSON fails with its text. */
export function jsonLines(text: string): Record<string, unknown>[] {
  return text
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => {
      try {
        return JSON.parse(line);
      } catch (cause) {
        throw new Error(`not a JSON line: ${line.slice(0, 200)}`, { cause });
      }
    });
}

/** The environment of a test's `letta`: nothing of the developer's but PATH. */
export function childEnv(home: TempHome, extra: Record<string, string | undefined> = {}): Record<string, string> {
  const env: Record<string, string | undefined> = {
    PATH: process.env.PATH,
    HOME: home.path,
    TMPDIR: join(home.path, "tmp"),
    LANG: "C.UTF-8",
    LETTA_SKIP_KEYCHAIN_CHECK: "1",
    ...extra,
  };
  return Object.fromEntries(Object.entries(env).filter((entry): entry is [string, string] => entry[1] !== undefined));
}

/** SQLite's file lock serialises builders and is released by the kernel when one is killed. */
async function buildOnce(): Promise<string> {
  const outfile = join(ROOT, "dist/letta");
  mkdirSync(dirname(outfile), { recursive: true });
  using lock = new Database(join(ROOT, "dist/.build-lock"), { create: true });
  lock.run("PRAGMA busy_timeout = 120000");
  lock.run("BEGIN EXCLUSIVE");
  if (isStale(outfile)) {
    const { compile } = await import("../../scripts/build.ts");
    const startedAt = new Date();
    await compile({ outfile });
    // A source saved while the build ran counts as newer.
    utimesSync(outfile, startedAt, startedAt);
  }
  lock.run("ROLLBACK");
  return outfile;
}

function isStale(outfile: string): boolean {
  if (!existsSync(outfile)) return true;
  const builtAt = statSync(outfile).mtimeMs;
  const folders = ["src", "skills", "agents"].map((name) => join(ROOT, name)).filter(existsSync);
  const sources = folders.flatMap((folder) =>
    readdirSync(folder, { recursive: true }).map((name) => join(folder, String(name))),
  );
  const inputs = [...sources, ...["package.json", "bun.lock", "scripts/build.ts"].map((name) => join(ROOT, name))];
  // A file that vanished while we looked was someone's temp file.
  return inputs.some((path) => (statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0) > builtAt);
}

function toResult(child: Subprocess, startedAt: number, stdout: string, stderr: string): RunResult {
  const signals: Record<string, number> = {
    SIGHUP: 1,
    SIGINT: 2,
    SIGABRT: 6,
    SIGKILL: 9,
    SIGSEGV: 11,
    SIGPIPE: 13,
    SIGTERM: 15,
  };
  const exitCode = child.signalCode ? 128 + (signals[child.signalCode] ?? 0) : (child.exitCode ?? -1);
  return {
    stdout,
    stderr,
    exitCode,
    durationMs: performance.now() - startedAt,
  };
}

function killGroup(pid: number): void {
  try {
    process.kill(-pid, "SIGKILL");
  } catch {
    /* the whole group is gone already */
  }
}

interface Collected {
  text(): string;
  waitFor(pattern: RegExp, timeoutMs: number): Promise<RegExpExecArray>;
  ended: Promise<void>;
}

function collect(stream: ReadableStream<Uint8Array>): Collected {
  let text = "";
  let done = false;
  const listeners = new Set<() => void>();
  const notify = () => {
    for (const listener of [...listeners]) listener();
  };
  const ended = (async () => {
    const decoder = new TextDecoder();
    for await (const bytes of stream) {
      text += decoder.decode(bytes, { stream: true });
      notify();
    }
    done = true;
    notify();
  })();
  const waitFor = (pattern: RegExp, timeoutMs: number) =>
    new Promise<RegExpExecArray>((resolve, reject) => {
      const finish = (settle: () => void) => {
        clearTimeout(timer);
        listeners.delete(check);
        settle();
      };
      const check = () => {
        const match = pattern.exec(text);
        if (match) finish(() => resolve(match));
        else if (done) finish(() => reject(new Error(`the stream ended without ${pattern}:\n${text}`)));
      };
      const timer = setTimeout(
        () => finish(() => reject(new Error(`no ${pattern} after ${timeoutMs} ms:\n${text}`))),
        timeoutMs,
      );
      listeners.add(check);
      check();
    });
  return { text: () => text, waitFor, ended };
}
