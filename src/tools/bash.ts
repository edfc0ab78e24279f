// The shell tool of the default set.

import * as v from "valibot";
import description from "./bash.md" with { type: "text" };
import { defineTool } from "./define-tool.ts";
import { leaving, OutsideSandbox } from "./outside-sandbox.ts";
import { commandTitle, runShell } from "./shell-run.ts";

export const bashTool = defineTool({
  name: "Bash",
  description,
  args: v.strictObject({
    command: v.pipe(v.string(), v.nonEmpty("must not be empty"), v.description("The command")),
    description: v.optional(v.pipe(v.string(), v.description("What it does, in 5-10 words"))),
    timeout: v.optional(v.pipe(v.number(), v.description("Milliseconds"))),
    run_in_background: v.optional(v.boolean()),
    outside_sandbox: OutsideSandbox,
  }),
  targets: ({ command, outside_sandbox }, { cwd, services }) => [
    { kind: "shell", command, cwd, ...leaving(outside_sandbox, services) },
  ],
  title: ({ command }) => commandTitle(command),
  run: ({ command, timeout, run_in_background, outside_sandbox }, context) =>
    runShell(
      { command, timeoutMs: timeout, background: run_in_background, unconfined: outside_sandbox ?? false },
      context,
    ),
});
