// Programs a model talks to over several calls: what they wrote since it last looked, and what it types. Each is a
// background task, too: it has a log, can be stopped, and its end is told when nobody was waiting for it.

import { takeTail } from "@/lib/text.ts";
import type { ToolContext } from "./define-tool.ts";
import { EXEC_KEPT_MS, EXEC_UNREAD_CHARS, SHELL_DRAIN_MS } from "./limits.ts";
import type { OutputReader, SecretGuard } from "./secret-guard.ts";
import type { AdoptedTask, BackgroundTasks, TaskOwner } from "./services.ts";
import type { RunningShell, ShellCommand, Shells } from "./shell.ts";
import { liveOutput } from "./shell-run.ts";
import { continueLine } from "./typed-text.ts";

export interface ExecSessions {
  /** Throws ToolError when it cannot be started, or too many tasks run. */
  start(command: ShellCommand, owner: TaskOwner): ExecSession;
  /** A session whose end has not been reported. */
  find(id: number): ExecSession | undefined;
}

export interface ExecSession {
  readonly id: number;
  /** Undefined while it runs. */
  readonly exitCode: number | undefined;
  /** It has ended, but a process it started still holds its output. */
  readonly isHeld: boolean;
  readonly hasTerminal: boolean;
  readonly outputFile: string;
  /** It runs in a sandbox. */
  readonly confined: boolean;
  /** Where it was started; it may have gone elsewhere. */
  readonly cwd: string;
  /** What was typed since the last Enter: the next text continues it. */
  readonly openLine: string;
  /** Resolves when it ended, the time passed, or the signal aborted. Output goes to people meanwhile. */
  wait(timeoutMs: number, watch: Pick<ToolContext, "signal" | "onOutput">): Promise<void>;
  /** What it wrote since the last call. Once it has ended, the session is over with this. */
  take(): string;
  /** What the sandbox had to do with its end. Throws ToolError when it could not be set up. */
  explain(output: string): string | null;
  write(text: string): void;
  kill(): Promise<void>;
}

export interface ExecSessionsDeps {
  shells: Shells;
  background: BackgroundTasks;
  secrets: Pick<SecretGuard, "openOutput">;
}

export function createExecSessions(deps: ExecSessionsDeps): ExecSessions {
  const sessions = new Map<number, ShellSession>();
  return {
    start: (command, owner) => {
      deps.background.ensureRoom();
      const session = new ShellSession(command, owner, deps, () => sessions.delete(session.id));
      sessions.set(session.id, session);
      return session;
    },
    find: (id) => sessions.get(id),
  };
}

class ShellSession implements ExecSession {
  readonly id: number;
  exitCode: number | undefined;
  isHeld = false;
  openLine = "";
  readonly cwd: string;
  readonly #shell: RunningShell;
  readonly #task: AdoptedTask;
  readonly #text: OutputReader;
  readonly #ended: Promise<void>;
  #unread = "";
  #show: ((text: string) => void) | null = null;

  constructor(
    command: ShellCommand,
    owner: TaskOwner,
    { shells, background, secrets }: ExecSessionsDeps,
    private readonly onOver: () => void,
  ) {
    this.cwd = command.cwd;
    this.#text = secrets.openOutput();
    const early: Uint8Array[] = [];
    let take = (bytes: Uint8Array): void => void early.push(bytes);
    this.#shell = shells.start(command, (bytes) => take(bytes));
    this.#task = background.adopt(this.#shell, { ...owner, title: command.command, as: "exec" });
    this.id = Number(this.#task.task.id);
    take = (bytes) => {
      this.#task.push(bytes);
      const { text, live } = this.#text.push(bytes);
      this.#unread += text;
      this.#show?.(live);
      if (this.#unread.length > EXEC_UNREAD_CHARS * 2) this.#unread = takeTail(this.#unread, EXEC_UNREAD_CHARS);
    };
    for (const bytes of early) take(bytes);
    this.#ended = this.#shell.exited.then(async (code) => {
      const late = Promise.withResolvers<boolean>();
      const timer = setTimeout(() => late.resolve(true), SHELL_DRAIN_MS);
      this.isHeld = await Promise.race([this.#shell.closed.then(() => false), late.promise]);
      clearTimeout(timer);
      this.exitCode = code;
      setTimeout(this.onOver, EXEC_KEPT_MS).unref();
    });
  }

  get hasTerminal(): boolean {
    return this.#shell.write !== undefined;
  }
  get confined(): boolean {
    return this.#shell.confined;
  }
  get outputFile(): string {
    return this.#task.task.outputFile;
  }

  async wait(timeoutMs: number, { signal, onOutput }: Pick<ToolContext, "signal" | "onOutput">): Promise<void> {
    this.#task.attended = true;
    this.#show = liveOutput(onOutput);
    const early = Promise.withResolvers<void>();
    const timer = setTimeout(early.resolve, timeoutMs);
    const onAbort = (): void => early.resolve();
    signal.addEventListener("abort", onAbort, { once: true });
    if (!signal.aborted) await Promise.race([this.#ended, early.promise]);
    clearTimeout(timer);
    signal.removeEventListener("abort", onAbort);
    this.#show = null;
    // What it leaves running is news when that ends.
    if (this.exitCode === undefined || this.isHeld) this.#task.attended = false;
  }

  take(): string {
    const isOver = this.exitCode !== undefined && !this.isHeld;
    const rest = isOver ? this.#text.finish().text : this.#text.takeOpenLine();
    const text = takeTail(this.#unread + rest, EXEC_UNREAD_CHARS);
    this.#unread = "";
    if (this.exitCode !== undefined) this.onOver();
    return text;
  }

  explain(output: string): string | null {
    return this.exitCode === undefined ? null : this.#shell.explain({ exitCode: this.exitCode, output });
  }

  write(text: string): void {
    this.openLine = continueLine(this.openLine, text);
    this.#shell.write?.(text);
  }

  kill(): Promise<void> {
    return this.#shell.kill();
  }
}
