// Where a subcommand's words go. Writes are synchronous: whatever was written has left the process when the command
// returns, so an early exit cuts nothing and a slow reader slows us down instead of filling memory.

import { writeSync } from "node:fs";
import { isatty } from "node:tty";
import { systemErrorCode } from "@/lib/errors.ts";
import { isReaderGone, stdoutError } from "@/lib/output-error.ts";
import type { Env } from "@/store/env.ts";

export interface Io {
  /** Throws `storage` when the device is full; a reader that left is not an error (see `closed`). */
  stdout(text: string): void;
  stderr(text: string): void;
  /** stdout is a terminal. */
  isTty: boolean;
  /** Cells of the terminal; 80 when unknown. */
  width: number;
  color: boolean;
  /** True once the reader of stdout is gone: commands that go on and on stop then. */
  readonly closed: boolean;
  /** Asks a person; absent when nobody can answer. */
  confirm?: (question: string) => Promise<boolean>;
}

/** Narrower terminals get a plain question. */
const MIN_COLUMNS = 20;

/** The real thing. `process.stdout` is not touched unless stdout is a terminal (it costs 9 ms). */
export function processIo(env: Env): Io {
  const isTty = isatty(1);
  let closed = false;
  // A terminal that does not tell its size (0 columns) would get one character per line.
  const plain = env.dumbTerminal || !isTty || (process.stdout.columns || 0) < MIN_COLUMNS;
  const canAsk = isatty(0) && isTty;
  return {
    isTty,
    width: (isTty && process.stdout.columns) || 80,
    color: isTty && !env.noColor,
    get closed() {
      return closed;
    },
    stdout(text) {
      if (!closed) closed = !writeAll(1, text);
    },
    stderr(text) {
      writeAll(2, text);
    },
    ...(canAsk ? { confirm: (question: string) => askYesNo(question, plain) } : {}),
  };
}

/** False when nobody reads any more. */
function writeAll(fd: number, text: string): boolean {
  const bytes = Buffer.from(text);
  let offset = 0;
  while (offset < bytes.length) {
    try {
      offset += writeSync(fd, bytes, offset);
    } catch (error) {
      if (isReaderGone(error)) return false;
      if (systemErrorCode(error) === "EAGAIN") {
        // The pipe is non-blocking and full (a parent shares it so): wait for the reader without spinning.
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5);
        continue;
      }
      if (fd === 2) return false;
      throw stdoutError(error);
    }
  }
  return true;
}

async function askYesNo(question: string, plain: boolean): Promise<boolean> {
  // Bun's own `confirm`: one line, y or n, no cursor movement.
  if (plain) return globalThis.confirm(question);
  const { confirm } = await import("@clack/prompts");
  const answer = await confirm({ message: question, initialValue: false });
  return answer === true;
}
