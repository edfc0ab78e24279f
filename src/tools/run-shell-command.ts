// The shell tool of the Gemini sets.

import * as v from "valibot";
import { defineTool } from "./define-tool.ts";
import { directoryOf, execTargets } from "./exec-command.ts";
import { OutsideSandbox } from "./outside-sandbox.ts";
import description from "./run-shell-command.md" with { type: "text" };
import { commandTitle, runShell } from "./shell-run.ts";

export const runShellCommandTool = defineTool({
  name: "RunShellCommand",
  toolsets: { gemini: "RunShellCommand", gemini_snake: "run_shell_command" },
  description,
  args: v.strictObject({
    command: v.pipe(v.string(), v.nonEmpty("must not be empty")),
    description: v.optional(v.pipe(v.string(), v.description("What it does, in 5-10 words"))),
    dir_path: v.optional(v.pipe(v.string(), v.description("Default: the working directory"))),
    outside_sandbox: OutsideSandbox,
  }),
  targets: ({ command, dir_path, outside_sandbox }, context) =>
    execTargets({ command, workdir: dir_path, outside: outside_sandbox }, context),
  title: ({ command }) => commandTitle(command),
  run: async ({ command, dir_path, outside_sandbox }, context) =>
    runShell(
      {
        command,
        unconfined: outside_sandbox ?? false,
        ...(dir_path !== undefined && { cwd: directoryOf(dir_path, context) }),
      },
      context,
    ),
});
