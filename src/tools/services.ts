// What tools are handed instead of globals. Built once per process in app.ts; each part is an interface here so that
// a tool's test can pass a small real one.

import { createWatchdog } from "@/lib/watchdog.ts";
import type { Place } from "@/permissions/places.ts";
import { type Sandbox, withoutSandbox } from "@/sandbox/types.ts";
import type { Env } from "@/store/env.ts";
import type { Paths } from "@/store/paths.ts";
import type { ShadowStore } from "@/store/shadow.ts";
import { createBackgroundTasks } from "./background.ts";
import { buildAgentEnv, buildChildEnv } from "./child-env.ts";
import { createExecSessions, type ExecSessions } from "./exec-sessions.ts";
import { createFileStore } from "./file-store.ts";
import { CLEAN_AFTER_MS } from "./limits.ts";
import { cleanOverflowFiles } from "./output.ts";
import { findRipgrep } from "./ripgrep.ts";
import { NO_SECRET_GUARD, type SecretGuard } from "./secret-guard.ts";
import { createShells, type RunningShell, type ShellCommand, type Shells } from "./shell.ts";

export interface ToolServices {
  env: Env;
  paths: Paths;
  /** Reads and writes files with fidelity, remembers what each conversation has seen, keeps pre-images for undo. */
  files: FileStore;
  /** Starts shell commands and leaves none behind. */
  shells: Shells;
  /** Background shells of this process. */
  background: BackgroundTasks;
  /** What shells run in. */
  sandbox: Sandbox;
  /** Programs that exec_command left running. */
  sessions: ExecSessions;
  /** Variables a child process gets (spec 03 §5), without secrets and without Bun's own switches. */
  childEnv(context: { agentId: string | null; conversationId: string; cwd: string }): Record<string, string>;
  /** What an agent's commands are told of it besides: its name, and where its memory is. */
  agentEnv(agentId: string | null): Promise<Record<string, string>>;
  /** Gives commands the secrets they name, and takes values out of what comes back. */
  secrets: SecretGuard;
  planMode: PlanMode;
  /** Path of a ripgrep to run, null when there is none. */
  findRipgrep(): string | null;
  /** True for files that rules keep from the model: searches leave them out. `path` is absolute. */
  isHidden(path: string): boolean;
}

/** The permission mode in which nothing can be changed, as its tools see it. */
export interface PlanMode {
  isOn(): boolean;
  enter(): void;
  /** Back to the mode before; returns its name. */
  leave(): string;
}

/** Identity of a file's content when a conversation last saw it. */
export interface SeenFile {
  mtimeMs: number;
  size: number;
  sha256: string;
}

export interface FileStore {
  /** Notes what the conversation now knows about a file. */
  markSeen(conversationId: string, place: Place, seen: SeenFile): void;
  findSeen(conversationId: string, place: Place): SeenFile | undefined;
  /** Writes atomically (temp file, fsync, rename) at the real path and nowhere else, keeping mode and owner, after putting
   *  the old bytes into the undo store of the turn. `bytes` null deletes; `mode` is for a file that is not there. Returns
   *  the directories it had to make, outermost first; when it fails they are gone again. Throws ToolError naming the
   *  path. */
  write(
    turn: { conversationId: string; turnId: string },
    place: Place,
    change: { bytes: Uint8Array | null; mode?: number | undefined },
  ): Promise<string[]>;
}

export interface BackgroundTask {
  id: string;
  kind: "shell";
  title: string;
  /** Who started it, and who is told of its end. */
  agentId: string | null;
  conversationId: string;
  state: "running" | "completed" | "failed" | "stopped";
  exitCode: number | null;
  startedAt: number;
  outputFile: string;
}

export type TaskOwner = Pick<BackgroundTask, "agentId" | "conversationId">;

export interface BackgroundTasks {
  /** Where output files are; null before the first task. */
  readonly directory: string | null;
  /** Starts a command. Without `timeoutMs` it may run as long as this process. Throws ToolError at the limit. */
  start(command: ShellCommand, task: TaskOwner & { timeoutMs?: number }): BackgroundTask;
  /** Path of a further private file beside the logs. */
  pathFor(name: string): string;
  /** Throws ToolError at the limit of running tasks. */
  ensureRoom(): void;
  /** Takes over a running command. As `bash`: its shell has ended, a process it started still holds the output. */
  adopt(shell: RunningShell, task: TaskOwner & { title: string; as: "bash" | "exec" | "monitor" }): AdoptedTask;
  list(): BackgroundTask[];
  find(id: string): BackgroundTask | undefined;
  /** Text since `offset` (bytes of the task's whole output) and the next offset. */
  read(id: string, offset: number): { text: string; nextOffset: number };
  /** Resolves when the task ended, the time passed, or the signal aborted. */
  wait(id: string, timeoutMs: number, signal: AbortSignal): Promise<void>;
  /** INT → TERM → KILL on the whole process group. Resolves when it is gone. */
  stop(id: string): Promise<boolean>;
  /** Called once per task that ended by itself, and for what tasks tell about themselves; the text is a
   *  `<task-notification>`. What nobody listened to is told to the first listener. Returns the unsubscribe function. */
  onFinished(listener: (task: BackgroundTask, notification: string) => void): () => void;
  /** Ends every task; called before the process ends. */
  stopAll(): Promise<void>;
}

export interface AdoptedTask {
  task: BackgroundTask;
  /** Where the output goes from now on. */
  push(bytes: Uint8Array): void;
  /** Tells its conversation something about it. */
  tell(text: string): void;
  /** While true somebody waits for its end and will tell it: no notification is given. */
  attended: boolean;
}

export interface ToolServicesOptions {
  env: Env;
  paths: Paths;
  /** Null: changes cannot be undone. */
  shadow: ShadowStore | null;
  /** Default: nothing is hidden. */
  isHidden?: (path: string) => boolean;
  /** Default: none. */
  sandbox?: Sandbox;
  /** Default: there are no secrets. */
  secrets?: SecretGuard;
  /** Default: never on. */
  planMode?: PlanMode;
  /** Null for an agent that does not exist. Default: nobody is known. */
  describeAgent?: (agentId: string) => Promise<{ name: string; memoryDir: string | null } | null>;
}

const NO_PLAN_MODE: PlanMode = { isOn: () => false, enter: () => {}, leave: () => "" };

export function createToolServices(options: ToolServicesOptions): ToolServices {
  const {
    env,
    paths,
    shadow,
    isHidden = () => false,
    planMode = NO_PLAN_MODE,
    describeAgent = async () => null,
    secrets = NO_SECRET_GUARD,
    sandbox = withoutSandbox(),
  } = options;
  // Old overflow files go when this process has lived a moment; a short one has nothing to spare for them.
  setTimeout(() => cleanOverflowFiles(paths.projects), CLEAN_AFTER_MS).unref();
  const shells = createShells(createWatchdog({ path: env.all.PATH }), sandbox);
  const background = createBackgroundTasks({ env, shells, secrets });
  let ripgrep: string | null = null;
  return {
    env,
    paths,
    files: createFileStore({ shadow }),
    shells,
    sandbox,
    secrets,
    background,
    sessions: createExecSessions({ shells, background, secrets }),
    planMode,
    // Verifying it reads megabytes: once per process.
    findRipgrep: () => {
      ripgrep ??= findRipgrep(paths, env.all.PATH);
      return ripgrep;
    },
    childEnv: (context) => buildChildEnv(env, paths, context),
    agentEnv: async (agentId) => buildAgentEnv(agentId === null ? null : await describeAgent(agentId)),
    isHidden,
  };
}
