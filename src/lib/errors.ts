// The one error base of the product. Every expected failure has a stable `code`; `src/exit-codes.ts` maps codes to
// exit codes, front ends print `message` and, on its own line, `hint`. Stacks are debug output.

/** Stable, tested names of expected failures. Messages may be reworded, codes may not. */
export type ErrorCode =
  | "usage" // bad flag, bad argument, impossible combination
  | "auth" // wrong, expired or missing credentials
  | "no_provider" // nothing is connected that could serve a model
  | "not_found" // agent, conversation, message, provider, file of ours
  | "busy" // another process holds the conversation
  | "conflict" // what was to be changed is not what it was expected to be
  | "lease_lost" // this process lost the right to write to the conversation
  | "limit" // max turns, cost, tokens or time of a run reached
  | "denied" // a tool was denied and the agent could not go on
  | "rate_limit" // provider rate limit
  | "quota" // credits or plan exhausted
  | "context_overflow" // the request does not fit the model's window, also after compaction
  | "provider" // the provider failed or answered something broken
  | "stream_cut" // the provider's stream ended before the response was complete
  | "network" // no connection to the provider or server
  | "cancelled" // the user or a signal stopped it
  | "invalid_data" // a file or reply that does not parse
  | "storage" // disk full, read-only, database damaged
  | "untrusted" // needs workspace trust first
  | "tool" // what a tool wants the model to read
  | "internal"; // a bug

export interface LettaErrorOptions {
  cause?: unknown;
  /** What the user can do next; printed on its own line. */
  hint?: string;
}

/** Base of every error we throw on purpose. */
export class LettaError extends Error {
  override name = "LettaError";
  readonly hint?: string;

  constructor(
    readonly code: ErrorCode,
    message: string,
    { cause, hint }: LettaErrorOptions = {},
  ) {
    super(message, cause === undefined ? undefined : { cause });
    if (hint !== undefined) this.hint = hint;
  }
}

/** Thrown by tools for what the model should read. Anything else a tool throws is a bug. */
export class ToolError extends LettaError {
  override name = "ToolError";
  constructor(message: string, options?: LettaErrorOptions) {
    super("tool", message, options);
  }
}

/** One line about any thrown value, without its stack. */
export function errorMessage(error: unknown): string {
  if (error instanceof Error) return error.message || error.name;
  return String(error);
}

/** True for the errors that an aborted `AbortSignal` causes in fetch, streams and our own waits. */
export function isAbortError(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  return error.name === "AbortError" || systemErrorCode(error) === "ABORT_ERR" || codeOf(error) === "cancelled";
}

/** The code of an expected failure, `internal` for anything else. */
export function codeOf(error: unknown): ErrorCode {
  return error instanceof LettaError ? error.code : "internal";
}

/** What the user can do next, when the error says it. */
export function hintOf(error: unknown): string | undefined {
  return error instanceof LettaError ? error.hint : undefined;
}

/** What there is to say about any thrown value, without its stack. */
export function describeError(error: unknown): { code: ErrorCode; message: string; hint?: string } {
  const hint = hintOf(error);
  return { code: codeOf(error), message: errorMessage(error), ...(hint !== undefined && { hint }) };
}

/** `Error: …`, the hint on its own line, and on request the stack: how every surface tells people about a failure. */
export function formatError(error: unknown, { stack = false } = {}): string {
  const { message, hint } = describeError(error);
  const where = stack && error instanceof Error ? error.stack : undefined;
  return [`Error: ${message}`, hint, where].filter(Boolean).join("\n");
}

/** The `code` Node, Bun and SQLite put on their errors (`ENOSPC`, `SQLITE_FULL`). */
export function systemErrorCode(error: unknown): string | undefined {
  const code = error instanceof Error ? (error as { code?: unknown }).code : undefined;
  return typeof code === "string" ? code : undefined;
}

/** What went wrong in words, where our own text names the file already: `ENOENT: no such file or directory, open '/x'`
 *  becomes `no such file or directory`. */
export function systemReason(error: unknown): string {
  const message = errorMessage(error);
  const code = systemErrorCode(error);
  return code !== undefined && message.startsWith(`${code}: `)
    ? message.slice(code.length + 2).split(",")[0]!
    : message;
}
