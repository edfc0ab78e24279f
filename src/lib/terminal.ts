// The terminal of this process: raw bytes in, text out, size, raw mode, and its restoration on every way out. It opens
// the tty descriptors itself, because `process.stdin` and `process.stdout` cost several milliseconds before the first
// prompt. Nothing here knows keys or layout.

import { writeSync } from "node:fs";
import { isatty, ReadStream, WriteStream } from "node:tty";
import { systemErrorCode } from "./errors.ts";

export interface Terminal {
  /** Keys can be read one by one and the cursor can be moved. */
  readonly interactive: boolean;
  /** A person types: what arrives before a question is no answer to it. False for pipes, where everything does. */
  readonly typed: boolean;
  readonly columns: number;
  readonly rows: number;
  write(text: string): void;
  /** Resolves when what was written is (nearly) out: a slow terminal slows us down instead of filling memory. */
  drain(): Promise<void>;
  /** Called with bytes as they arrive, and once with null at the end of input. */
  onData(listener: (bytes: Uint8Array | null) => void): void;
  onResize(listener: () => void): void;
  /** Called after the process was stopped and continued; raw mode is back. */
  onContinue(listener: () => void): void;
  /** Stops this process like Ctrl-Z does in a shell. */
  suspend(): void;
  /** Raw mode off and on, around something else that uses the terminal. */
  pause(): void;
  resume(): void;
  /** Restores the terminal; safe to call twice. */
  close(): void;
}

/** Bracketed paste; Kitty keys (so that Shift-Enter and Ctrl-Enter differ from Enter), where the terminal knows them. */
const ENTER_MODES = "\x1b[?2004h\x1b[>1u\x1b[>4;1m";
const LEAVE_MODES = "\x1b[>4;0m\x1b[<u\x1b[?2004l\x1b[?25h\x1b[0m";
/** How soon a full terminal is tried again. */
const WRITE_RETRY_MS = 4;
/** Bytes that may wait for a terminal before producers are held back. */
const MAX_PENDING_BYTES = 256 * 1024;

/** `dumb` (TERM=dumb) or a stream that is no terminal means: lines in, lines out, nothing else. */
export function openTerminal(options: { dumb: boolean }): Terminal {
  return !options.dumb && isatty(0) && isatty(1) ? new TtyTerminal() : new LineTerminal();
}

/** Writes everything, in order, even when the descriptor is non-blocking and full. */
class FdWriter {
  #pending = Buffer.alloc(0);
  #timer: Timer | undefined;
  #broken = false;
  #drained: (() => void)[] = [];

  constructor(private readonly fd: number) {}

  drain(): Promise<void> {
    if (this.#pending.length <= MAX_PENDING_BYTES) return Promise.resolve();
    return new Promise((resolve) => this.#drained.push(resolve));
  }

  write(text: string): void {
    if (this.#broken) return;
    this.#pending = Buffer.concat([this.#pending, Buffer.from(text)]);
    if (!this.#timer) this.#drain();
  }

  /** Blocks until everything is out, or the other side is gone. */
  finish(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    // Bounded: a terminal that takes nothing for two seconds is gone.
    for (let tries = 0; this.#pending.length > 0 && !this.#broken && tries < 500; tries++) {
      if (this.#drain()) tries = 0;
      clearTimeout(this.#timer);
      this.#timer = undefined;
      if (this.#pending.length > 0) Bun.sleepSync(WRITE_RETRY_MS);
    }
  }

  /** True when at least one byte went out. */
  #drain(): boolean {
    this.#timer = undefined;
    const progress = this.#writePending();
    if (this.#pending.length <= MAX_PENDING_BYTES) for (const resolve of this.#drained.splice(0)) resolve();
    return progress;
  }

  #writePending(): boolean {
    let progress = false;
    while (this.#pending.length > 0) {
      try {
        const written = writeSync(this.fd, this.#pending);
        progress ||= written > 0;
        this.#pending = this.#pending.subarray(written);
      } catch (error) {
        if (["EAGAIN", "EINTR"].includes(systemErrorCode(error) ?? "")) {
          this.#timer = setTimeout(() => this.#drain(), WRITE_RETRY_MS);
        } else {
          // Closed pipe or vanished terminal: nobody reads any more.
          this.#broken = true;
          this.#pending = Buffer.alloc(0);
        }
        return progress;
      }
    }
    return progress;
  }
}

class TtyTerminal implements Terminal {
  readonly interactive = true;
  readonly typed = true;
  readonly #input = new ReadStream(0);
  #size = new WriteStream(1);
  readonly #writer = new FdWriter(1);
  #continued: () => void = () => {};
  #onResize: () => void = () => {};
  #closed = false;
  #raw = false;
  readonly #restore = () => this.close();
  readonly #onContinue = () => {
    if (this.#closed) return;
    this.resume();
    this.#continued();
  };

  constructor() {
    // `exit` also runs after an uncaught exception: the shell must get its terminal back in any case.
    process.on("exit", this.#restore);
    process.on("SIGCONT", this.#onContinue);
    this.resume();
  }

  get columns(): number {
    return this.#size.getWindowSize()[0] || 80;
  }

  get rows(): number {
    return this.#size.getWindowSize()[1] || 24;
  }

  write(text: string): void {
    this.#writer.write(text);
  }

  drain(): Promise<void> {
    return this.#writer.drain();
  }

  onData(listener: (bytes: Uint8Array | null) => void): void {
    this.#input.on("data", (chunk: Buffer) => listener(chunk));
    this.#input.on("end", () => listener(null));
    this.#input.on("error", () => listener(null));
  }

  onResize(listener: () => void): void {
    this.#onResize = () => {
      // A WriteStream of our own keeps the size it was opened with: only the one behind process.stdout is refreshed.
      this.#size = new WriteStream(1);
      listener();
    };
    process.on("SIGWINCH", this.#onResize);
  }

  onContinue(listener: () => void): void {
    this.#continued = listener;
  }

  suspend(): void {
    this.pause();
    process.kill(process.pid, "SIGTSTP");
  }

  pause(): void {
    if (!this.#raw) return;
    this.#raw = false;
    this.#writer.write(LEAVE_MODES);
    this.#writer.finish();
    try {
      this.#input.setRawMode(false);
    } catch {
      /* the terminal is gone; there is nothing to restore */
    }
  }

  resume(): void {
    if (this.#raw || this.#closed) return;
    this.#raw = true;
    this.#input.setRawMode(true);
    this.#writer.write(ENTER_MODES);
  }

  close(): void {
    if (this.#closed) return;
    this.pause();
    this.#closed = true;
    process.off("exit", this.#restore);
    process.off("SIGCONT", this.#onContinue);
    process.off("SIGWINCH", this.#onResize);
    this.#writer.finish();
    this.#input.destroy();
  }
}

class LineTerminal implements Terminal {
  readonly interactive = false;
  readonly typed = isatty(0);
  readonly columns = 80;
  readonly rows = 24;
  readonly #writer = new FdWriter(1);
  #reader: { cancel(): Promise<void> } | undefined;

  write(text: string): void {
    this.#writer.write(text);
  }

  drain(): Promise<void> {
    return this.#writer.drain();
  }

  onData(listener: (bytes: Uint8Array | null) => void): void {
    const reader = Bun.stdin.stream().getReader();
    this.#reader = reader;
    void (async () => {
      try {
        for (;;) {
          const { done, value } = await reader.read();
          if (done) break;
          listener(value);
        }
      } catch {
        /* a broken input is an ended one */
      }
      listener(null);
    })();
  }

  onResize(): void {}
  onContinue(): void {}
  suspend(): void {}
  pause(): void {}
  resume(): void {}

  close(): void {
    this.#writer.finish();
    void this.#reader?.cancel();
  }
}
