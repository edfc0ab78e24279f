// How every subcommand speaks. One rule:
//   --format text   for people
//   --format json   the documented JSON value, pretty-printed, alone on stdout
//   --json          one envelope, also for failures: {"ok":true,"data":…} or {"ok":false,"error":{code,message,hint}}
//   none of them    text on a terminal; in a pipe what the command documents (`piped`): JSON for data, text otherwise
// Failures without `--json` are thrown: cli.ts prints them once.

import type { ArgsDef } from "citty";
import { EXIT_CODES, EXIT_OK } from "@/exit-codes.ts";
import { codeOf, describeError, formatError, LettaError } from "@/lib/errors.ts";
import type { TableOptions } from "@/lib/table.ts";
import type { Io } from "./io.ts";

/** Spread into the `args` of every command. */
export const outputArgs = {
  json: { type: "boolean", description: 'Print one JSON envelope: {"ok":true,"data":…}' },
  format: { type: "enum", options: ["text", "json"], description: "Print text or the plain JSON value" },
} satisfies ArgsDef;

/** The same for commands that print JSON into a pipe unless told otherwise (`piped`). */
export const dataArgs = {
  ...outputArgs,
  format: { ...outputArgs.format, description: "Print text or the plain JSON value; a pipe gets JSON" },
} satisfies ArgsDef;

export interface OutputArgs {
  json?: boolean;
  format?: string;
}

export type OutputFormat = "text" | "json" | "envelope";

export interface Presentation<T> {
  /** What a pipe gets when no flag says otherwise. Default: text. */
  piped?: "text" | "json";
  /** For people; must end in a newline unless empty. */
  text(data: T): string;
  /** What JSON shows, when it is not `data` itself. */
  value?(data: T): unknown;
  /** Default: 0. */
  exitCode?(data: T): number;
}

/** Runs one command's work and prints its result in the format asked for. Returns the exit code. */
export async function present<T>(
  io: Io,
  args: OutputArgs,
  work: () => Promise<T> | T,
  presentation: Presentation<T>,
): Promise<number> {
  const format = outputFormat(io, args, presentation.piped);
  try {
    const data = await work();
    const value = presentation.value ? presentation.value(data) : data;
    if (format === "text") io.stdout(presentation.text(data));
    else io.stdout(renderJson(format === "envelope" ? { ok: true, data: value ?? null } : value));
    return presentation.exitCode?.(data) ?? EXIT_OK;
  } catch (error) {
    if (format !== "envelope") throw error;
    return presentFailure(io, error);
  }
}

/** The failure envelope on stdout, a line for people on stderr. */
export function presentFailure(io: Io, error: unknown): number {
  io.stdout(renderJson({ ok: false, error: describeError(error) }));
  io.stderr(`${formatError(error)}\n`);
  return EXIT_CODES[codeOf(error)];
}

export function outputFormat(io: Io, args: OutputArgs, piped: "text" | "json" = "text"): OutputFormat {
  if (args.json && args.format === "text") {
    throw new LettaError("usage", "--json does not go with --format text");
  }
  if (args.json) return "envelope";
  if (args.format === "text" || args.format === "json") return args.format;
  if (args.format !== undefined) {
    throw new LettaError("usage", `--format takes text or json, not "${args.format}"`);
  }
  return io.isTty ? "text" : piped;
}

/** Table width and heading style that fit where the output goes. */
export function tableOptions(io: Io): TableOptions {
  if (!io.isTty) return {};
  return { width: io.width, ...(io.color ? { heading: (text: string) => `\x1b[2m${text}\x1b[22m` } : {}) };
}

/** Destroying something needs a yes: asked on a terminal, `--yes` elsewhere. */
export async function requireConsent(io: Io, args: { yes?: boolean }, question: string): Promise<void> {
  if (args.yes) return;
  if (!io.confirm) {
    throw new LettaError("usage", `${question} Nobody is here to answer.`, { hint: "Pass --yes to do it anyway." });
  }
  if (!(await io.confirm(question))) throw new LettaError("cancelled", "Nothing was changed.");
}

/** A count from a flag: a whole number of at least `min`. */
export function parseCount(flag: string, text: string | undefined, fallback: number, min = 1): number {
  if (text === undefined) return fallback;
  const value = Number(text);
  if (!/^\d+$/.test(text) || value < min || !Number.isSafeInteger(value)) {
    throw new LettaError("usage", `--${flag} needs a whole number of ${min} or more, not "${text}"`);
  }
  return value;
}

function renderJson(value: unknown): string {
  return `${JSON.stringify(value ?? null, null, 2)}\n`;
}
