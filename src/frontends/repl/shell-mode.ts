// `!` lines: run with the user's own shell and its aliases, output streamed, no time limit. Command and output are kept
// and go to the model with the next message, so that both sides know what happened.

import { basename } from "node:path";
import type { App } from "@/app.ts";
import type { ConversationRef } from "@/backend/backend.ts";
import { errorMessage } from "@/lib/errors.ts";
import type { RedactingStream } from "@/lib/redactor.ts";
import { toPlainText } from "@/lib/terminal-text.ts";
import { shellQuote } from "@/lib/text.ts";
import type { RunningShell } from "@/tools/shell.ts";
import { BASH_REMINDER_CHARS } from "./limits.ts";

const CLOSE_WAIT_MS = 200;

export interface ShellModeOptions {
  app: Pick<App, "services" | "env" | "cwd">;
  place(): ConversationRef;
  print(lines: string[]): void;
  paintError(text: string): string;
  now(): number;
}

export class ShellMode {
  /** Of the running command; null when none runs. */
  startedAt: number | null = null;
  #running: RunningShell | null = null;
  #notes: string[] = [];

  constructor(private readonly options: ShellModeOptions) {}

  /** Resolves when the command has ended; never rejects. */
  async run(line: string): Promise<void> {
    this.startedAt = this.options.now();
    const redactor = await this.options.app.services.secrets.refresh();
    const output = new LineOutput((lines) => this.options.print(lines), redactor.stream());
    const exitCode = await this.#execute(line, output);
    this.startedAt = null;
    this.#running = null;
    output.finish();
    if (exitCode !== 0 && exitCode !== null) this.options.print([this.options.paintError(`exit code ${exitCode}`)]);
    this.#notes.push(shellReminder(line, output.kept, exitCode));
  }

  kill(): void {
    void this.#running?.kill();
  }

  /** What the model should know about commands since the last message. */
  takeNotes(): string[] {
    return this.#notes.splice(0);
  }

  /** Null when it could not be started; the output says why. */
  async #execute(line: string, output: LineOutput): Promise<number | null> {
    const { app, place } = this.options;
    const decoder = new TextDecoder();
    const noise = createNoiseFilter();
    const where = { ...place(), cwd: app.cwd };
    try {
      // What a person types themselves is theirs to run, whatever confines the model.
      const own = { cwd: app.cwd, env: app.services.childEnv(where), unconfined: true };
      const command = { command: shellLine(line, app.env.shell), ...own };
      const shell = app.services.shells.start(command, (bytes) =>
        output.add(noise(decoder.decode(bytes, { stream: true }))),
      );
      this.#running = shell;
      const exitCode = await shell.exited;
      // A background process may hold the output open; the prompt does not wait for it.
      await Promise.race([shell.closed, Bun.sleep(CLOSE_WAIT_MS)]);
      return exitCode;
    } catch (error) {
      output.add(`${errorMessage(error)}\n`);
      return null;
    }
  }
}

/** Whole lines for people as they come, and the last part of everything for the model. */
class LineOutput {
  kept = "";
  #partial = "";

  constructor(
    private readonly print: (lines: string[]) => void,
    private readonly redacting: RedactingStream,
  ) {}

  add(text: string): void {
    const lines = (this.#partial + text).split("\n");
    this.#partial = lines.pop() ?? "";
    if (this.#partial.length > BASH_REMINDER_CHARS) {
      lines.push(this.#partial);
      this.#partial = "";
    }
    this.#take(lines);
  }

  finish(): void {
    if (this.#partial !== "") this.#take([this.#partial]);
    this.#partial = "";
    this.#keep(this.redacting.finish());
  }

  /** Made plain line by line: an escape sequence may be cut between two reads, but not by a newline. */
  #take(lines: string[]): void {
    if (lines.length === 0) return;
    const plain = lines.map((line) => toPlainText(line.replace(/\r$/, "")));
    this.#keep(this.redacting.push(`${plain.join("\n")}\n`));
    this.print(plain);
  }

  /** Without secrets before it is cut: half of one would not be found. */
  #keep(text: string): void {
    this.kept = (this.kept + text).slice(-BASH_REMINDER_CHARS);
  }
}

/** What the model reads about it. */
function shellReminder(line: string, output: string, exitCode: number | null): string {
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
  return `exec ${shellQuote(shell)} -i -c ${shellQuote(line)} 2>&1`;
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
