// The one way to stdout. Lines are written in order by `fs.write` on the descriptor (process.stdout would cost 9 ms and
// loses the tail at exit). A slow reader slows the caller: `write` resolves only when little is waiting. A reader that
// left, or a full device, ends writing at once; the caller sees `closed` and stops the turn.

import { write } from "node:fs";
import { type LettaError, systemErrorCode } from "@/lib/errors.ts";
import { isReaderGone, stdoutError } from "@/lib/output-error.ts";
import { watchReader } from "@/lib/reader-watch.ts";

/** Bytes that may wait before callers do. */
const HIGH_WATER_BYTES = 256 * 1024;
/** Longest pause between two tries on a full non-blocking pipe. */
const MAX_RETRY_MS = 20;

export interface Writer {
  /** Never rejects. Resolves when the text is written or only little waits in front of the descriptor. */
  write(text: string): Promise<void>;
  /** Resolves when everything was written, or writing has ended for good. */
  drain(): Promise<void>;
  /** Nobody reads any more, or nothing can be written. Aborts once; a reader that left is noticed within a second, also
   *  while there is nothing to write. */
  readonly closed: AbortSignal;
  /** Why writing ended: null while open and when the reader simply left. */
  readonly failure: LettaError | null;
}

export function openWriter(fd: number): Writer {
  return new DescriptorWriter(fd);
}

class DescriptorWriter implements Writer {
  readonly #closed = new AbortController();
  readonly #fd: number;
  #waiting: string[] = [];
  #waitingBytes = 0;
  #flushing: Promise<void> | null = null;
  #batch: Promise<void> = Promise.resolve();
  #failure: LettaError | null = null;

  constructor(fd: number) {
    this.#fd = fd;
    watchReader(fd, () => this.#stop());
  }

  get closed(): AbortSignal {
    return this.#closed.signal;
  }

  get failure(): LettaError | null {
    return this.#failure;
  }

  async write(text: string): Promise<void> {
    if (this.closed.aborted || text === "") return;
    this.#waiting.push(text);
    this.#waitingBytes += text.length;
    this.#flushing ??= this.#flush();
    // One batch at a time is on its way; whoever made the backlog too long waits for it.
    while (this.#waitingBytes > HIGH_WATER_BYTES && !this.closed.aborted) await this.#batch;
  }

  async drain(): Promise<void> {
    while (this.#flushing) await this.#flushing;
  }

  async #flush(): Promise<void> {
    // Whatever was written in the same tick goes out together.
    await Promise.resolve();
    while (this.#waiting.length > 0) {
      const bytes = Buffer.from(this.#waiting.join(""));
      this.#waiting = [];
      this.#batch = this.#writeAll(bytes).catch((error: unknown) => this.#end(error));
      await this.#batch;
      this.#waitingBytes = this.#waiting.reduce((sum, text) => sum + text.length, 0);
    }
    this.#flushing = null;
  }

  async #writeAll(bytes: Buffer): Promise<void> {
    let offset = 0;
    let pauseMs = 1;
    while (offset < bytes.length) {
      const result = await writeOnce(this.#fd, bytes, offset);
      if (result === "again") {
        await Bun.sleep(pauseMs);
        pauseMs = Math.min(pauseMs * 2, MAX_RETRY_MS);
        continue;
      }
      pauseMs = 1;
      offset += result;
    }
  }

  #end(error: unknown): void {
    if (!isReaderGone(error)) this.#failure = stdoutError(error);
    this.#stop();
  }

  #stop(): void {
    this.#waiting = [];
    this.#waitingBytes = 0;
    this.#closed.abort();
  }
}

function writeOnce(fd: number, bytes: Buffer, offset: number): Promise<number | "again"> {
  return new Promise((resolve, reject) => {
    write(fd, bytes, offset, bytes.length - offset, null, (error, written) => {
      if (!error) resolve(written);
      else if (systemErrorCode(error) === "EAGAIN") resolve("again");
      else reject(error);
    });
  });
}
