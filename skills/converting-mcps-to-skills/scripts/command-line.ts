// What both commands understand on their command lines.

import { parseArgs } from "node:util";
import { type Action, Failure } from "./session.ts";

/** Options of one command: `string` ones may be given once, `list` ones often. */
export type OptionTable = Record<string, "flag" | "string" | "list">;

export interface CommandLine {
  words: string[];
  flag(name: string): boolean;
  text(name: string): string | undefined;
  list(name: string): string[];
}

export function readCommandLine(argv: string[], table: OptionTable): CommandLine {
  const options = Object.fromEntries(
    Object.entries(table).map(([name, kind]) => [
      name,
      { type: kind === "flag" ? ("boolean" as const) : ("string" as const), multiple: kind === "list" },
    ]),
  );
  try {
    const { values, positionals } = parseArgs({ args: argv, options, allowPositionals: true, strict: true });
    return {
      words: positionals,
      flag: (name) => values[name] === true,
      text: (name) => values[name] as string | undefined,
      list: (name) => (values[name] as string[] | undefined) ?? [],
    };
  } catch (error) {
    throw new Failure((error as Error).message, 2);
  }
}

/** `tools`, `tool NAME`, `call NAME [ARGUMENTS]`. */
export function readAction(words: string[]): Action {
  const [kind, name, args = "{}", ...more] = words;
  if (kind === "tools" && name === undefined) return { kind };
  if (kind === "tool" && name !== undefined && words.length === 2) return { kind, name };
  if (kind === "call" && name !== undefined && more.length === 0) return { kind, name, args };
  throw new Failure(`expected tools, tool NAME or call NAME [ARGUMENTS], not "${words.join(" ")}"; --help explains`, 2);
}

/** `90`, `90s`, `2m`; milliseconds. */
export function readTimeout(text = "60s"): number {
  const [, number, unit] = /^(\d+)(s|m)?$/.exec(text) ?? [];
  const ms = Number(number) * (unit === "m" ? 60_000 : 1000);
  if (number === undefined || ms < 1 || ms > 3_600_000)
    throw new Failure(`--timeout must be like 90s or 2m, not "${text}"`, 2);
  return ms;
}

/** Values name secrets instead of holding them: `$NAME` and `${NAME}` are the environment's. */
export function expand(text: string): string {
  return text.replace(/\$\{([A-Z][A-Z0-9_]*)\}|\$([A-Z][A-Z0-9_]*)/g, (_, braced, plain) => {
    const name: string = braced ?? plain;
    const value = process.env[name];
    if (!value) throw new Failure(`the variable ${name} is not set`, 2);
    return value;
  });
}

/** Runs a program's work and ends it: 0 done, 1 failed, 2 wrong usage, 3 a login is needed. */
export async function runProgram(help: string, work: (argv: string[]) => Promise<number>): Promise<never> {
  const argv = process.argv.slice(2);
  const end = argv.indexOf("--");
  if (
    argv.length === 0 ||
    argv.slice(0, end === -1 ? undefined : end).some((word) => word === "--help" || word === "-h")
  ) {
    console.log(help.trim());
    process.exit(argv.length === 0 ? 2 : 0);
  }
  try {
    process.exit(await work(argv));
  } catch (error) {
    const { message } = error as Error;
    console.error(
      `error: ${error instanceof DOMException && error.name === "TimeoutError" ? "no answer in time; --timeout allows more" : message}`,
    );
    process.exit(error instanceof Failure ? error.exitCode : 1);
  }
}
