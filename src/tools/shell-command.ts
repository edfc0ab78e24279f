// Shell tools of older Codex models. They are in no set; `--tools` can bring them in.

import * as v from "valibot";
import { defineTool, type ToolContext } from "./define-tool.ts";
import { directoryOf, execTargets } from "./exec-command.ts";
import description from "./run-shell-command.md" with { type: "text" };
import { commandTitle, runShell } from "./shell-run.ts";

/** What both take. More than the sandbox allows is the person's to decide: it asks. */
const COMMON = {
  workdir: v.optional(v.string()),
  timeout_ms: v.optional(v.number()),
  sandbox_permissions: v.optional(v.picklist(["use_default", "require_escalated"])),
  justification: v.optional(v.string()),
  prefix_rule: v.optional(v.array(v.string())),
};

export const shellCommandTool = defineTool({
  name: "shell_command",
  toolsets: {},
  also: ["ShellCommand"],
  description,
  args: v.strictObject({
    command: v.pipe(v.string(), v.nonEmpty("must not be empty")),
    description: v.optional(v.string()),
    login: v.optional(v.boolean(), true),
    ...COMMON,
  }),
  targets: (args, context) => execTargets({ ...args, outside: isEscalated(args) }, context),
  title: ({ command }) => commandTitle(command),
  run: async ({ command, login, workdir, timeout_ms, sandbox_permissions }, context) => {
    const unconfined = isEscalated({ sandbox_permissions });
    return runShell({ command, login, timeoutMs: timeout_ms, unconfined, ...placeOf(workdir, context) }, context);
  },
});

export const shellTool = defineTool({
  name: "shell",
  toolsets: {},
  also: ["Shell"],
  description:
    "Runs a program with arguments, given as a list of words. Use a list such as bash, -lc, COMMAND for shell syntax.",
  args: v.strictObject({ command: v.pipe(v.array(v.string()), v.minLength(1)), ...COMMON }),
  targets: (args, context) =>
    execTargets({ command: quoted(args.command), workdir: args.workdir, outside: isEscalated(args) }, context),
  title: ({ command }) => commandTitle(command.join(" ")),
  run: async ({ command, workdir, timeout_ms, sandbox_permissions }, context) => {
    const unconfined = isEscalated({ sandbox_permissions });
    return runShell(
      { command: quoted(command), timeoutMs: timeout_ms, unconfined, ...placeOf(workdir, context) },
      context,
    );
  },
});

function isEscalated({ sandbox_permissions }: { sandbox_permissions?: string | undefined }): boolean {
  return sandbox_permissions === "require_escalated";
}

function placeOf(workdir: string | undefined, context: ToolContext): { cwd?: string } {
  return workdir === undefined ? {} : { cwd: directoryOf(workdir, context) };
}

/** Words of the shell that are these words, whatever is in them. */
function quoted(words: string[]): string {
  return words
    .map((word) => (/^[A-Za-z0-9_@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`))
    .join(" ");
}
