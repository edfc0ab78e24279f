// One command hook: JSON in, exit code and text out. It runs in a process group of its own, which its timeout ends
// whole; nothing it does to its output, its group or its clock reaches the turn as more than a failed hook.

import { errorMessage } from "@/lib/errors.ts";
import type { Shells } from "@/tools/shell.ts";
import { endOf, within } from "@/tools/shell-end.ts";
import { DRAIN_MS, STDERR_CHARS, STDOUT_CHARS } from "./limits.ts";

export interface CommandRun {
  /** Null when it did not end by itself or never began. */
  exitCode: number | null;
  stdout: string;
  stderr: string;
  end: "exited" | "timeout" | "cancelled" | "not_started";
}

export interface CommandHookOptions {
  shells: Pick<Shells, "start">;
  command: string;
  cwd: string;
  env: Record<string, string>;
  /** One JSON object. */
  input: string;
  timeoutMs: number;
  signal: AbortSignal;
}

/** Never throws. */
export async function runCommandHook(options: CommandHookOptions): Promise<CommandRun> {
  const { shells, command, cwd, env, input, signal } = options;
  const stdout = new HeadText(STDOUT_CHARS);
  const stderr = new HeadText(STDERR_CHARS);
  if (signal.aborted) return { exitCode: null, stdout: "", stderr: "", end: "cancelled" };
  let shell: ReturnType<Shells["start"]>;
  try {
    // The user's own, like what they type themselves: whatever confines the model does not confine it.
    const what = { command, cwd, env, stdin: `${input}\n`, unconfined: true };
    shell = shells.start(
      what,
      (bytes) => stdout.push(bytes),
      (bytes) => stderr.push(bytes),
    );
  } catch (error) {
    return { exitCode: null, stdout: "", stderr: errorMessage(error), end: "not_started" };
  }
  const end = await endOf(shell.exited, options.timeoutMs, signal);
  // Something the hook left running may hold its output open; nobody waits for that.
  if (end.kind === "exited") await within(shell.closed, DRAIN_MS);
  else await shell.kill();
  const exitCode = end.kind === "exited" ? end.exitCode : null;
  return { exitCode, stdout: stdout.text, stderr: stderr.text, end: end.kind === "aborted" ? "cancelled" : end.kind };
}

/** The beginning of a text of any length. */
class HeadText {
  text = "";
  readonly #decoder = new TextDecoder();

  constructor(private readonly maxChars: number) {}

  push(bytes: Uint8Array): void {
    if (this.text.length >= this.maxChars) return;
    this.text = (this.text + this.#decoder.decode(bytes, { stream: true })).slice(0, this.maxChars);
  }
}
