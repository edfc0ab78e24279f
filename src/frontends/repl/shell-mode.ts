// `!` lines: run with the user's own shell and its aliases, output streamed, no time limit. Command and output are kept
// and go to the model with the next message, so that both sides know what happened.

import { basename } from "node:path";
import type { App } from "@/app.ts";
import type { ConversationRef } from "@/backend/backend.ts";
import { toPlainText } from "@/lib/terminal-text.ts";
import { BASH_REMINDER_CHARS } from "./limits.ts";

export interface ShellRun {
  /** Never rejects; null when it could not be started (`output` says why). */
  readonly done: Promise<{ exitCode: number | null; output: string }>;
  kill(): void;
}

/** `onText` gets plain text as it comes. */
export function runShellLine(
  app: Pick<App, "services" | "env">,
  line: string,
  place: ConversationRef & { cwd: string },
  onText: (text: string) => void,
): ShellRun {
  const decoder = new TextDecoder();
  const noise = createNoiseFilter();
  let output = "";
  const add = (text: string): void => {
    if (text === "") return;
    // The end says how it went; the beginning of a long output is dropped.
    output = (output + text).slice(-BASH_REMINDER_CHARS);
    onText(text);
  };
  try {
    const command = { command: shellLine(line, app.env.shell), cwd: place.cwd, env: app.services.childEnv(place) };
    const shell = app.services.shells.start(command, (bytes) =>
      add(noise(toPlainText(decoder.decode(bytes, { stream: true })))),
    );
    const done = shell.exited.then(async (exitCode) => {
      // A background process may hold the output open; the prompt does not wait for it.
      await Promise.race([shell.closed, Bun.sleep(200)]);
      return { exitCode, output };
    });
    return { done, kill: () => void shell.kill() };
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    add(`${reason}\n`);
    return { done: Promise.resolve({ exitCode: null, output }), kill() {} };
  }
}

/** What the model reads about it. */
export function shellReminder(line: string, output: string, exitCode: number | null): string {
  const code = exitCode === 0 ? "" : `\nexit code: ${exitCode ?? "not started"}`;
  return [
    "The user ran this command in their own shell; it was not you.",
    `<bash-input>${line}</bash-input>`,
    `<bash-output>${output.trimEnd()}${code}</bash-output>`,
  ].join("\n");
}

/** Interactive shells read the file that defines aliases. Others run the line as it is. */
function shellLine(line: string, shell: string | undefined): string {
  const name = shell ? basename(shell) : "";
  if (!shell || !["bash", "zsh"].includes(name)) return line;
  return `exec ${quote(shell)} -i -c ${quote(line)} 2>&1`;
}

function quote(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

/** An interactive bash without a terminal complains about that first; its users know. */
function createNoiseFilter(): (text: string) => string {
  let buffer: string | null = "";
  return (text) => {
    if (buffer === null) return text;
    buffer += text;
    const lines = buffer.split("\n");
    while (lines.length > 1 && NOISE.test(lines[0] ?? "")) lines.shift();
    buffer = lines.join("\n");
    if (lines.length === 1 && "bash: ".startsWith(buffer.slice(0, 6)) && buffer.length < 200) return "";
    const rest = buffer;
    buffer = null;
    return rest;
  };
}

const NOISE = /^(?:\S*bash): (?:cannot set terminal process group|no job control in this shell|initialize_job_control)/;
