// How a shell command is run for a tool: in the foreground, where what it leaves running becomes a background task, or in
// the background from the start. The tools of all model families that run commands to their end share this.

import { statSync } from "node:fs";
import { dirname } from "node:path";
import { ToolError } from "@/lib/errors.ts";
import { hardenEnv } from "@/shell/hardened-env.ts";
import { commandEnv } from "./command-env.ts";
import type { ToolContext, ToolResult } from "./define-tool.ts";
import {
  LIVE_CHARS_PER_WINDOW,
  LIVE_WINDOW_MS,
  SHELL_DRAIN_MS,
  SHELL_MAX_TIMEOUT_MS,
  SHELL_TIMEOUT_MS,
} from "./limits.ts";
import { BoundedOutput, cleanOverflowFiles, overflowPath } from "./output.ts";
import type { ShellCommand } from "./shell.ts";
import { checkCommandText, findLongSleep } from "./shell-checks.ts";
import { endOf, type ShellEnd, within } from "./shell-end.ts";

export interface ShellRequest {
  command: string;
  /** Default: the conversation's directory, or its nearest living parent. Must exist. */
  cwd?: string;
  login?: boolean;
  timeoutMs?: number | undefined;
  background?: boolean | undefined;
  /** Not in the sandbox; a person was asked. */
  unconfined?: boolean;
}

/** Throws ToolError for what is not started at all, and the signal's reason when aborted. */
export async function runShell(request: ShellRequest, context: ToolContext): Promise<ToolResult> {
  checkCommandText(request.command);
  const { cwd, note } = request.cwd === undefined ? existingDirectory(context.cwd) : { cwd: request.cwd, note: "" };
  // It is on the command's PATH once it is unpacked.
  if (/\brg\b/.test(request.command)) context.services.findRipgrep();
  const written: ShellCommand = {
    command: request.command,
    cwd,
    env: await commandEnv(request.command, { ...context, cwd }),
    strict: context.services.env.bashStrict,
    login: request.login ?? false,
    unconfined: request.unconfined ?? false,
  };
  const command = asProven(written, context);
  if (request.background) return startInBackground(command, request.timeoutMs, note, context);
  const sleep = findLongSleep(request.command);
  if (sleep) {
    throw new ToolError(
      `\`${sleep}\` would block this conversation. Start the wait, or what you are waiting for, with run_in_background: you are told when it ends.`,
    );
  }
  const timeoutMs = Math.min(SHELL_MAX_TIMEOUT_MS, Math.max(1, request.timeoutMs ?? SHELL_TIMEOUT_MS));
  return runInForeground(command, timeoutMs, note, context);
}

/** What was allowed because it only reads runs as it was proven, not as it was written: every tool that starts a shell
 *  command of the model passes it through here. */
export function asProven(command: ShellCommand, { proven }: Pick<ToolContext, "proven">): ShellCommand {
  if (!proven) return command;
  // No terminal either: on one, programs page, prompt, and write what they would have printed to files (`nohup`).
  const { shell: _, terminal: __, ...rest } = command;
  const env = hardenEnv(command.env, proven.closedRoots);
  return { ...rest, command: proven.command, env, login: false, bare: true };
}

/** One line for people. */
export function commandTitle(command: string): string {
  const [first = "", ...rest] = command.trim().split("\n");
  return rest.length > 0 ? `${first} …` : first;
}

function startInBackground(
  command: ShellCommand,
  timeoutMs: number | undefined,
  note: string,
  { services, agentId, conversationId }: ToolContext,
): ToolResult {
  const task = services.background.start(command, {
    agentId,
    conversationId,
    ...(timeoutMs === undefined ? {} : { timeoutMs: Math.max(1, timeoutMs) }),
  });
  return {
    status: "success",
    output: `${note}Command running in background with ID: ${task.id}\nOutput file: ${task.outputFile}`,
    summary: `running as ${task.id}`,
  };
}

async function runInForeground(
  command: ShellCommand,
  timeoutMs: number,
  note: string,
  context: ToolContext,
): Promise<ToolResult> {
  const { services, signal } = context;
  signal.throwIfAborted();
  const output = new BoundedOutput({ file: overflowPath(services, context.cwd, "Bash") });
  const text = services.secrets.openOutput();
  const live = liveOutput(context.onOutput);
  let take = (bytes: Uint8Array): void => {
    const piece = text.push(bytes);
    output.push(piece.text);
    live(piece.live);
  };
  const shell = services.shells.start(command, (bytes) => take(bytes));
  const end = await endOf(shell.exited, timeoutMs, signal);
  if (end.kind !== "exited") await shell.kill();
  const open = !(await within(shell.closed, SHELL_DRAIN_MS));
  const rest = text.finish();
  output.push(rest.text);
  live(rest.live);

  if (end.kind === "aborted") {
    output.finish();
    throw signal.reason;
  }
  let holding = "";
  if (open && end.kind === "exited") {
    const adopted = services.background.adopt(shell, {
      agentId: context.agentId,
      conversationId: context.conversationId,
      title: command.command,
      as: "bash",
    });
    take = adopted.push;
    const { id, outputFile } = adopted.task;
    holding = `[A process started by this command is still running and holds its output. It is now background task ${id}; what it writes goes to ${outputFile}.]`;
  }
  const shown = output.finish();
  // Where these files grow, their total is kept in bounds.
  if (output.overflowed) cleanOverflowFiles(services.paths.projects);
  const blocked = end.kind === "exited" ? shell.explain({ exitCode: end.exitCode, output: shown }) : null;
  return result({ note, text: shown, blocked: blocked ?? "", holding, end, timeoutMs });
}

interface Run {
  note: string;
  text: string;
  /** What the sandbox had to do with it. */
  blocked: string;
  holding: string;
  end: ShellEnd;
  timeoutMs: number;
}

function result(run: Run): ToolResult {
  const parts = [withoutFinalNewlines(run.text), run.blocked, run.holding];
  if (run.end.kind === "timeout") parts.push(`Command timed out after ${run.timeoutMs} ms and was ended.`);
  const body = parts.filter(Boolean).join("\n");
  if (run.end.kind === "exited" && run.end.exitCode === 0) {
    return { status: "success", output: run.note + (body || "(Command completed with no output)") };
  }
  if (run.end.kind === "exited") {
    const { exitCode: code } = run.end;
    return {
      status: "error",
      output: `${run.note}Exit code: ${code}\n${body}`.trimEnd(),
      summary: `exit code ${code}`,
    };
  }
  return { status: "error", output: run.note + body, summary: "timed out" };
}

function withoutFinalNewlines(text: string): string {
  let end = text.length;
  while (text[end - 1] === "\n") end--;
  return text.slice(0, end);
}

/** Passes live output on, but not more per moment than a person could see. */
export function liveOutput(emit: (text: string) => void): (text: string) => void {
  let windowStart = 0;
  let chars = 0;
  return (text) => {
    const now = performance.now();
    if (now - windowStart > LIVE_WINDOW_MS) {
      windowStart = now;
      chars = 0;
    }
    const room = LIVE_CHARS_PER_WINDOW - chars;
    if (text === "" || room <= 0) return;
    chars += text.length;
    emit(text.slice(0, room));
  };
}

/** The working directory may have been deleted (a removed worktree): then its nearest living parent, said in one line. */
function existingDirectory(cwd: string): { cwd: string; note: string } {
  let directory = cwd;
  while (!statSync(directory, { throwIfNoEntry: false })?.isDirectory() && dirname(directory) !== directory) {
    directory = dirname(directory);
  }
  const note = directory === cwd ? "" : `[The working directory ${cwd} no longer exists; this ran in ${directory}.]\n`;
  return { cwd: directory, note };
}
