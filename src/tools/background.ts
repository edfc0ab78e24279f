// Background shells of this process: their log files, their end, and the one notification each of them gives.

import { existsSync, lstatSync, mkdirSync, mkdtempSync, readdirSync, realpathSync, rmSync } from "node:fs";
import { join } from "node:path";
import { errorMessage, ToolError } from "@/lib/errors.ts";
import { formatCount, takeTail } from "@/lib/text.ts";
import type { Env } from "@/store/env.ts";
import {
  BACKGROUND_KEPT,
  BACKGROUND_MAX_RUNNING,
  BACKGROUND_READ_BYTES,
  NOTIFICATION_CHARS,
  NOTIFICATION_LINES,
  OVERFLOW_MAX_AGE_MS,
} from "./limits.ts";
import { OutputFile } from "./output-file.ts";
import type { OutputReader, SecretGuard } from "./secret-guard.ts";
import type { BackgroundTask, BackgroundTasks, TaskOwner } from "./services.ts";
import type { RunningShell, Shells } from "./shell.ts";

const LOGS_PREFIX = "letta-background-";
/** Tail kept in memory, for the notification. */
const TAIL_CHARS = 30_000;

interface Entry {
  task: BackgroundTask;
  shell: RunningShell;
  text: OutputReader;
  log: OutputFile;
  tail: string;
  lines: number;
  attended: boolean;
  /** Resolves when the task is over and its log complete. */
  ended: PromiseWithResolvers<void>;
  timer?: Timer;
  /** Why it was ended, when it did not end by itself. */
  timedOutMs?: number;
}

export interface BackgroundOptions {
  env: Env;
  shells: Shells;
  secrets: Pick<SecretGuard, "openOutput">;
}

export function createBackgroundTasks({ env, shells, secrets }: BackgroundOptions): BackgroundTasks {
  return new ShellTasks(env, shells, secrets);
}

class ShellTasks implements BackgroundTasks {
  readonly #entries = new Map<string, Entry>();
  readonly #listeners = new Set<(task: BackgroundTask, notification: string) => void>();
  #untold: { task: BackgroundTask; notification: string }[] = [];
  #directory: string | null = null;
  #count = 0;

  constructor(
    private readonly env: Env,
    private readonly shells: Shells,
    private readonly secrets: BackgroundOptions["secrets"],
  ) {}

  get directory(): string | null {
    return this.#directory;
  }

  start: BackgroundTasks["start"] = (command, { timeoutMs, ...owner }) => {
    this.ensureRoom();
    let entry: Entry | undefined;
    const early: Uint8Array[] = [];
    const shell = this.shells.start(command, (bytes) => (entry ? push(entry, bytes) : early.push(bytes)));
    entry = this.#add(shell, command.command, owner);
    for (const bytes of early) push(entry, bytes);
    const added = entry;
    if (timeoutMs !== undefined) {
      added.timer = setTimeout(() => {
        added.timedOutMs = timeoutMs;
        void shell.kill();
      }, timeoutMs);
      added.timer.unref?.();
    }
    void shell.exited.then(async (code) => {
      // What the shell's own children still hold is part of the task.
      await shell.closed;
      this.#end(added, code);
    });
    return added.task;
  };

  adopt: BackgroundTasks["adopt"] = (shell, { title, as, ...owner }) => {
    const entry = this.#add(shell, title, owner, as);
    void Promise.all([shell.exited, shell.closed]).then(([code]) => this.#end(entry, as === "bash" ? null : code));
    return {
      task: entry.task,
      push: (bytes) => push(entry, bytes),
      tell: (text) => this.#tell(entry.task, text),
      get attended() {
        return entry.attended;
      },
      set attended(value) {
        entry.attended = value;
      },
    };
  };

  ensureRoom = (): void => {
    const running = this.list().filter((task) => task.state === "running").length;
    if (running < BACKGROUND_MAX_RUNNING) return;
    throw new ToolError(
      `${running} background tasks are running, the most there may be. Stop one with TaskStop first.`,
    );
  };

  pathFor = (name: string): string => {
    this.#directory ??= this.#openDirectory();
    return join(this.#directory, name);
  };

  list = (): BackgroundTask[] => [...this.#entries.values()].map((entry) => entry.task);

  find = (id: string): BackgroundTask | undefined => this.#entries.get(id)?.task;

  read: BackgroundTasks["read"] = (id, offset) => {
    const entry = this.#entries.get(id);
    if (!entry) return { text: "", nextOffset: offset };
    const available = Math.min(entry.log.size - offset, BACKGROUND_READ_BYTES);
    if (available <= 0) return { text: "", nextOffset: offset };
    const bytes = Buffer.alloc(available);
    try {
      const length = completeCharacters(bytes.subarray(0, entry.log.read(bytes, offset)));
      return { text: bytes.toString("utf8", 0, length), nextOffset: offset + length };
    } catch {
      return { text: takeTail(entry.tail, available), nextOffset: entry.log.size }; // The log is gone; memory has the end.
    }
  };

  wait: BackgroundTasks["wait"] = async (id, timeoutMs, signal) => {
    const entry = this.#entries.get(id);
    if (entry?.task.state !== "running" || signal.aborted) return;
    const stop = Promise.withResolvers<void>();
    const timer = setTimeout(stop.resolve, timeoutMs);
    signal.addEventListener("abort", () => stop.resolve(), { once: true });
    await Promise.race([entry.ended.promise, stop.promise]);
    clearTimeout(timer);
  };

  stop: BackgroundTasks["stop"] = async (id) => {
    const entry = this.#entries.get(id);
    if (entry?.task.state !== "running") return false;
    entry.task.state = "stopped";
    await entry.shell.kill();
    await entry.ended.promise;
    return true;
  };

  onFinished: BackgroundTasks["onFinished"] = (listener) => {
    this.#listeners.add(listener);
    const untold = this.#untold;
    this.#untold = [];
    for (const { task, notification } of untold) listener(task, notification);
    return () => this.#listeners.delete(listener);
  };

  stopAll = async (): Promise<void> => {
    await Promise.all([...this.#entries.keys()].map((id) => this.stop(id)));
    await this.shells.killAll();
  };

  #add(shell: RunningShell, title: string, { agentId, conversationId }: TaskOwner, prefix = "bash"): Entry {
    const { id, path } = this.#nextLog(prefix);
    const entry: Entry = {
      task: {
        id,
        kind: "shell",
        title,
        agentId,
        conversationId,
        state: "running",
        exitCode: null,
        startedAt: Date.now(),
        outputFile: path,
      },
      shell,
      text: this.secrets.openOutput(),
      log: new OutputFile(path),
      tail: "",
      lines: 0,
      attended: false,
      ended: Promise.withResolvers(),
    };
    this.#entries.set(id, entry);
    this.#forgetOld();
    return entry;
  }

  #nextLog(prefix: string): { id: string; path: string } {
    this.#directory ??= this.#openDirectory();
    // A shared scratchpad may hold the logs of another process.
    for (;;) {
      const number = ++this.#count;
      const path = join(this.#directory, `${prefix}_${number}.log`);
      // A session's id is a number: its model was trained on numbers.
      if (!existsSync(path)) return { id: prefix === "exec" ? String(number) : `${prefix}_${number}`, path };
    }
  }

  #openDirectory(): string {
    if (this.env.scratchpad === undefined) {
      removeOldLogs(this.env.tmpdir);
      return realpathSync(mkdtempSync(join(this.env.tmpdir, LOGS_PREFIX)));
    }
    mkdirSync(this.env.scratchpad, { recursive: true, mode: 0o700 });
    return realpathSync(this.env.scratchpad);
  }

  #end(entry: Entry, code: number | null): void {
    clearTimeout(entry.timer);
    append(entry, entry.text.finish().text);
    const stopped = entry.task.state === "stopped";
    const blocked = stopped || code === null ? null : explainEnd(entry, code);
    if (blocked !== null) append(entry, `${entry.tail === "" || entry.tail.endsWith("\n") ? "" : "\n"}${blocked}\n`);
    entry.task.exitCode = code;
    append(entry, `${entry.tail === "" || entry.tail.endsWith("\n") ? "" : "\n"}${endLine(entry, code, stopped)}\n`);
    entry.log.close();
    if (!stopped) {
      entry.task.state = entry.timedOutMs !== undefined || (code ?? 0) !== 0 ? "failed" : "completed";
      if (!entry.attended) this.#tell(entry.task, notification(entry));
    }
    entry.ended.resolve();
  }

  #tell(task: BackgroundTask, text: string): void {
    if (this.#listeners.size === 0) this.#untold.push({ task, notification: text });
    for (const listener of this.#listeners) listener(task, text);
  }

  /** Ended tasks stay readable until many newer ones exist. */
  #forgetOld(): void {
    for (const [id, { task }] of this.#entries) {
      if (this.#entries.size <= BACKGROUND_KEPT) return;
      if (task.state !== "running") this.#entries.delete(id);
    }
  }
}

function push(entry: Entry, bytes: Uint8Array): void {
  append(entry, entry.text.push(bytes).text);
}

function append(entry: Entry, text: string): void {
  if (text === "") return;
  entry.log.write(text);
  entry.lines += text.split("\n").length - 1;
  entry.tail += text;
  if (entry.tail.length > TAIL_CHARS * 2) entry.tail = takeTail(entry.tail, TAIL_CHARS);
}

/** What the sandbox had to do with it, also when it could not be set up. */
function explainEnd({ shell, tail }: Entry, exitCode: number): string | null {
  try {
    return shell.explain({ exitCode, output: tail });
  } catch (error) {
    return errorMessage(error);
  }
}

function endLine(entry: Entry, code: number | null, stopped: boolean): string {
  if (stopped) return "[stopped]";
  if (entry.timedOutMs !== undefined) return `[timeout after ${entry.timedOutMs} ms]`;
  return code === null ? "[ended]" : `[exit code: ${code}]`;
}

function notification(entry: Entry): string {
  const { task } = entry;
  const outcome = endLine(entry, task.exitCode, false).slice(1, -1);
  const command = `$ ${takeTail(task.title, 1_000)}`;
  const lines = entry.tail.trimEnd().split("\n");
  // The last line is the outcome, which is said before.
  const shown = lines.slice(0, -1).slice(-NOTIFICATION_LINES);
  const heading =
    entry.lines - 1 > shown.length
      ? `[output - last ${shown.length} of ${formatCount(entry.lines - 1)} lines]`
      : "[output]";
  const output = shown.length === 0 ? "" : `\n${heading}\n${takeTail(shown.join("\n"), NOTIFICATION_CHARS)}`;
  return [
    "<task-notification>",
    `<task-id>${task.id}</task-id><status>${task.state}</status><summary>${escapeXml(
      `Background command ${task.state} (${outcome})`,
    )}</summary><result>${escapeXml(`${command}\n${outcome}${output}`)}</result>`,
    "</task-notification>",
    `Full transcript available at: ${task.outputFile}`,
  ].join("\n");
}

export function escapeXml(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

/** Length without a UTF-8 character that is cut at the end. */
function completeCharacters(bytes: Uint8Array): number {
  for (let back = 1; back <= Math.min(3, bytes.length); back++) {
    const byte = bytes[bytes.length - back]!;
    if ((byte & 0xc0) === 0x80) continue;
    const needed = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
    return needed > back ? bytes.length - back : bytes.length;
  }
  return bytes.length;
}

/** Logs outlive their process, because the conversation names them; a day is enough. */
function removeOldLogs(directory: string, now = Date.now()): void {
  for (const name of readdirSync(directory)) {
    if (!name.startsWith(LOGS_PREFIX)) continue;
    const path = join(directory, name);
    const stat = lstatSync(path, { throwIfNoEntry: false });
    if (!stat?.isDirectory() || stat.uid !== process.getuid?.()) continue;
    if (now - stat.mtimeMs > OVERFLOW_MAX_AGE_MS) rmSync(path, { recursive: true, force: true });
  }
}
