// From argv to an exit code: other spellings, `--backend` from anywhere, subcommand or prompt. Everything is loaded
// only when it is known to be needed. Expected failures are printed here, once.

import { type BackendKind, parseBackendKind } from "@/agent/choose-backend.ts";
import type { CommandContext } from "@/commands/context.ts";
import type { FoundCommand } from "@/commands/registry.ts";
import { EXIT_CODES } from "@/exit-codes.ts";
import { codeOf, formatError, LettaError } from "@/lib/errors.ts";
import { escapeDeceptive } from "@/lib/terminal-text.ts";
import { readEnv } from "@/store/env.ts";

export async function runCli(argv: string[], vars?: Record<string, string | undefined>): Promise<number> {
  const env = readEnv(vars);
  try {
    const { backend, rest } = takeBackend(rewriteAliases(argv));
    const context = { cwd: currentDirectory(), env, ...(backend && { backend }) };
    // A word in front may be a command; a flag never is, so that a plain `letta -p …` loads no command table.
    const first = rest[0];
    if (first !== undefined && !first.startsWith("-")) {
      const { findCommand } = await import("@/commands/registry.ts");
      const found = findCommand(first);
      if (found) return await runSubcommand(found, rest.slice(1), context);
    }
    const { runRoot } = await import("@/commands/root.ts");
    return await runRoot(rest, context);
  } catch (error) {
    console.error(escapeDeceptive(formatError(error, { stack: env.debug })));
    return EXIT_CODES[codeOf(error)];
  }
}

/** Spellings of other versions; both `--conv ID` and `--conv=ID` forms are the flag table's business. */
export function rewriteAliases(argv: string[]): string[] {
  const [first, ...rest] = argv;
  if (first === "upgrade" || first === "--update" || first === "--upgrade") return ["update", ...rest];
  return argv;
}

/** Takes `--backend X` and `--backend=X` out of argv, wherever they stand before `--`. The last one wins. What follows
 *  `script` belongs to the script. */
export function takeBackend(argv: string[]): { backend?: BackendKind; rest: string[] } {
  if (argv[0] === "script") return { rest: argv };
  const rest: string[] = [];
  let backend: BackendKind | undefined;
  for (let index = 0; index < argv.length; index++) {
    const token = argv[index]!;
    if (token === "--") return { ...(backend && { backend }), rest: [...rest, ...argv.slice(index)] };
    if (token === "--backend") backend = parseBackend(argv[++index]);
    else if (token.startsWith("--backend=")) backend = parseBackend(token.slice("--backend=".length));
    else rest.push(token);
  }
  return { ...(backend && { backend }), rest };
}

function parseBackend(value: string | undefined): BackendKind {
  const kind = parseBackendKind(value);
  if (kind) return kind;
  throw new LettaError("usage", `--backend must be api or local${value === undefined ? "" : `, not "${value}"`}`);
}

async function runSubcommand(
  found: FoundCommand,
  argv: string[],
  context: Omit<CommandContext, "io">,
): Promise<number> {
  const [{ loadCommand }, { runCommand }, { processIo }] = await Promise.all([
    import("@/commands/registry.ts"),
    import("@/commands/run-command.ts"),
    import("@/commands/io.ts"),
  ]);
  const command = await loadCommand(found);
  const io = processIo(context.env);
  try {
    return await runCommand([found.name], command, argv, { ...context, io });
  } catch (error) {
    // Also what failed before the command could see its flags, for example a wrong one.
    if (!argv.includes("--json")) throw error;
    const { presentFailure } = await import("@/commands/output.ts");
    return presentFailure(io, error);
  }
}

function currentDirectory(): string {
  try {
    return process.cwd();
  } catch (cause) {
    throw new LettaError("not_found", "the current directory no longer exists", { cause, hint: "cd to another one." });
  }
}
