// Runs a command and, when it takes longer, leaves it running as a session that write_stdin goes on with.

import { randomBytes } from "node:crypto";
import { statSync } from "node:fs";
import * as v from "valibot";
import { ToolError } from "@/lib/errors.ts";
import type { PermissionTarget } from "@/permissions/types.ts";
import { commandEnv } from "./command-env.ts";
import { defineTool, type ToolContext, type ToolResult } from "./define-tool.ts";
import description from "./exec-command.md" with { type: "text" };
import type { ExecSession } from "./exec-sessions.ts";
import { EXEC_OUTPUT_TOKENS, EXEC_YIELD_MS, SHELL_OUTPUT_CHARS, TERMINAL_SIZE } from "./limits.ts";
import { truncateOutput } from "./output.ts";
import { leaving, OutsideSandbox } from "./outside-sandbox.ts";
import { contextPath } from "./paths.ts";
import { checkCommandText } from "./shell-checks.ts";
import { asProven, commandTitle } from "./shell-run.ts";

const Milliseconds = v.pipe(v.number(), v.description("Milliseconds"));

export const execCommandTool = defineTool({
  name: "exec_command",
  toolsets: { codex: "exec_command", codex_snake: "exec_command" },
  description,
  args: v.strictObject({
    cmd: v.pipe(v.string(), v.nonEmpty("must not be empty")),
    description: v.optional(v.pipe(v.string(), v.description("What it does, in 5-10 words"))),
    workdir: v.optional(v.string()),
    tty: v.optional(v.boolean(), false),
    yield_time_ms: v.optional(Milliseconds),
    max_output_tokens: v.optional(v.number()),
    shell: v.optional(v.pipe(v.string(), v.description("Default: bash"))),
    login: v.optional(v.boolean(), true),
    outside_sandbox: OutsideSandbox,
  }),
  targets: ({ cmd, shell, workdir, outside_sandbox }, context) =>
    execTargets({ command: cmd, shell, workdir, outside: outside_sandbox }, context),
  title: ({ cmd }) => commandTitle(cmd),
  run: async (args, context) => {
    checkCommandText(args.cmd);
    const cwd = directoryOf(args.workdir, context);
    const { services, agentId, conversationId, signal } = context;
    signal.throwIfAborted();
    if (/\brg\b/.test(args.cmd)) services.findRipgrep();
    const startedAt = performance.now();
    const session = services.sessions.start(
      asProven(
        {
          command: args.cmd,
          cwd,
          env: await commandEnv(args.cmd, { ...context, cwd }),
          strict: services.env.bashStrict,
          login: args.login,
          unconfined: args.outside_sandbox ?? false,
          ...(args.shell !== undefined && { shell: args.shell }),
          ...(args.tty && { terminal: TERMINAL_SIZE }),
        },
        context,
      ),
      { agentId, conversationId },
    );
    await session.wait(clamp(args.yield_time_ms, EXEC_YIELD_MS), context);
    if (signal.aborted && session.exitCode === undefined) {
      await session.kill();
      throw signal.reason;
    }
    return describeSession(session, { startedAt, maxTokens: args.max_output_tokens });
  },
});

interface ExecRequest {
  command: string;
  shell?: string | undefined;
  workdir?: string | undefined;
  /** Without the sandbox. */
  outside?: boolean | undefined;
}

/** A shell of the model's choice is a program that runs what it is given; another directory is looked into. */
export function execTargets(
  { command, shell, workdir, outside }: ExecRequest,
  context: Pick<ToolContext, "cwd" | "services">,
): PermissionTarget[] {
  const cwd = workdir === undefined ? context.cwd : contextPath(workdir, context);
  const text = shell === undefined ? command : `${shellQuote(shell)} -c ${shellQuote(command)}`;
  const target: PermissionTarget = { kind: "shell", command: text, cwd, ...leaving(outside, context.services) };
  return workdir === undefined ? [target] : [target, { kind: "file", family: "ListDir", path: cwd }];
}

/** Throws ToolError when it is not there: running elsewhere would be worse. */
export function directoryOf(workdir: string | undefined, context: Pick<ToolContext, "cwd" | "services">): string {
  const cwd = workdir === undefined ? context.cwd : contextPath(workdir, context);
  if (!statSync(cwd, { throwIfNoEntry: false })?.isDirectory())
    throw new ToolError(`Working directory not found: ${cwd}`);
  return cwd;
}

export function clamp(value: number | undefined, range: { default: number; min: number; max: number }): number {
  return Math.min(range.max, Math.max(range.min, value ?? range.default));
}

/** What both tools of a session answer. */
export function describeSession(
  session: ExecSession,
  { startedAt, maxTokens = EXEC_OUTPUT_TOKENS }: { startedAt: number; maxTokens?: number | undefined },
): ToolResult {
  const { exitCode, id, isHeld, outputFile } = session;
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(4);
  const text = session.take();
  const room = Math.min(Math.max(1, maxTokens) * 4, SHELL_OUTPUT_CHARS);
  const state =
    exitCode === undefined ? `Process running with session ID ${id}` : `Process exited with code ${exitCode}`;
  const held = isHeld
    ? [`[A process it started is still running as background task ${id}; what it writes goes to ${outputFile}.]`]
    : [];
  const blocked = exitCode === undefined ? null : session.explain(text);
  const lines = [
    `Chunk ID: ${randomBytes(3).toString("hex")}`,
    `Wall time: ${seconds} seconds`,
    state,
    `Original token count: ${Math.ceil(Buffer.byteLength(text) / 4)}`,
    "Output:",
    truncateOutput(text, { maxChars: room }).trimEnd(),
    ...(blocked === null ? [] : [blocked]),
    ...held,
  ];
  return {
    status: (exitCode ?? 0) === 0 ? "success" : "error",
    output: lines.join("\n"),
    summary:
      exitCode === undefined ? `running as session ${id}` : exitCode === 0 ? lastLine(text) : `exit code ${exitCode}`,
  };
}

function shellQuote(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

function lastLine(text: string): string {
  return text.trimEnd().split("\n").at(-1) || "(no output)";
}
