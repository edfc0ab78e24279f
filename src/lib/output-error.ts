// What it means when a write to a descriptor of ours failed.

import { LettaError, systemErrorCode, systemReason } from "./errors.ts";

/** Whoever read has left: not an error, but nothing needs to be written any more. */
export function isReaderGone(error: unknown): boolean {
  const code = systemErrorCode(error);
  return code === "EPIPE" || code === "ECONNRESET";
}

export function stdoutError(cause: unknown): LettaError {
  return new LettaError("storage", `cannot write to standard output: ${systemReason(cause)}`, { cause });
}
