// What was piped in, beside or instead of a prompt. A pipe nobody writes to or closes must not hold the run: after a
// silence it is left. A closed stdin, /dev/null and a terminal cost nothing.

import { fstatSync } from "node:fs";
import { isatty } from "node:tty";
import { LettaError } from "@/lib/errors.ts";

/** More is cut. */
export const MAX_STDIN_BYTES = 1024 * 1024;
/** A pipe that is silent this long is left, unless `--stdin` was given. */
export const STDIN_SILENCE_MS = 3000;

export interface PipedInput {
  /** "" when there was none. */
  text: string;
  /** Only the first `MAX_STDIN_BYTES` are here. */
  truncated: boolean;
  /** The pipe was still open when it was left. */
  abandoned: boolean;
}

export interface StdinOptions {
  mode: "auto" | "wait" | "never";
  silenceMs?: number;
  maxBytes?: number;
}

const NOTHING: PipedInput = { text: "", truncated: false, abandoned: false };

/** Reads descriptor 0. Throws `usage` when it is not text. */
export async function readPipedInput(options: StdinOptions): Promise<PipedInput> {
  if (options.mode === "never" || !isReadable(options.mode)) return NOTHING;
  return readInput(Bun.stdin.stream(), options);
}

/** Same for any stream; leaves it cancelled, so that it keeps no process alive. */
export async function readInput(stream: ReadableStream<Uint8Array>, options: StdinOptions): Promise<PipedInput> {
  const { mode, silenceMs = STDIN_SILENCE_MS, maxBytes = MAX_STDIN_BYTES } = options;
  const reader = stream.getReader();
  const chunks: Uint8Array[] = [];
  let size = 0;
  let abandoned = false;
  while (size <= maxBytes) {
    const next = await (mode === "wait" ? reader.read() : readWithin(reader, silenceMs));
    if (next === "silent") {
      abandoned = true;
      break;
    }
    if (next.done) break;
    chunks.push(next.value);
    size += next.value.length;
  }
  await reader.cancel();
  const bytes = Buffer.concat(chunks);
  return { text: decode(bytes.subarray(0, maxBytes), size > maxBytes), truncated: size > maxBytes, abandoned };
}

function isReadable(mode: "auto" | "wait"): boolean {
  try {
    if (!fstatSync(0).isCharacterDevice()) return true;
    return mode === "wait" || !isatty(0);
  } catch {
    // Closed by whoever started us.
    return false;
  }
}

async function readWithin<Chunk>(reader: { read(): Promise<Chunk> }, silenceMs: number): Promise<Chunk | "silent"> {
  let timer: Timer | undefined;
  const silence = new Promise<"silent">((resolve) => {
    timer = setTimeout(() => resolve("silent"), silenceMs);
  });
  try {
    return await Promise.race([reader.read(), silence]);
  } finally {
    clearTimeout(timer);
  }
}

function decode(bytes: Uint8Array, cut: boolean): string {
  if (bytes.includes(0)) throw notText();
  try {
    // `stream` leaves out a character the cut went through, instead of failing on it.
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes, { stream: cut });
  } catch {
    throw notText();
  }
}

function notText(): LettaError {
  return new LettaError("usage", "stdin is not UTF-8 text", {
    hint: "Write it to a file and name the file in the prompt, or pass --no-stdin.",
  });
}
