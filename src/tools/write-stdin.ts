// Types into a running session, or looks at it.

import * as v from "valibot";
import { ToolError } from "@/lib/errors.ts";
import type { PermissionTarget } from "@/permissions/types.ts";
import { defineTool, type ToolContext } from "./define-tool.ts";
import { clamp, describeSession } from "./exec-command.ts";
import { ECHO_MS, POLL_YIELD_MS, TYPED_YIELD_MS } from "./limits.ts";
import { escapeControls } from "./paths.ts";
import { typedTarget } from "./typed-text.ts";
import description from "./write-stdin.md" with { type: "text" };

export const writeStdinTool = defineTool({
  name: "write_stdin",
  toolsets: { codex: "write_stdin", codex_snake: "write_stdin" },
  description,
  args: v.strictObject({
    session_id: v.number(),
    chars: v.optional(v.string(), ""),
    yield_time_ms: v.optional(v.pipe(v.number(), v.description("Milliseconds"))),
    max_output_tokens: v.optional(v.number()),
  }),
  // To look, or to interrupt or end one's own program, asks nobody.
  targets: (args, context) => [targetOf(args, context) ?? { kind: "none" }],
  title: ({ session_id, chars }) => (chars === "" ? `${session_id}` : `${session_id}: ${escapeControls(chars)}`),
  run: async ({ session_id, chars, yield_time_ms, max_output_tokens }, context) => {
    const { services, signal } = context;
    const session = services.sessions.find(session_id);
    if (!session)
      throw new ToolError(`There is no session ${session_id}: it never was, or it ended and its end was reported.`);
    if (chars !== "" && !session.hasTerminal)
      throw new ToolError(
        `Session ${session_id} has no terminal: its stdin is closed. Start it with tty: true to type.`,
      );
    // Calls of one batch are decided before any of them types: together they may say what none of them said.
    const target = targetOf({ session_id, chars }, context);
    if (target && context.allowedFor && !Bun.deepEquals(context.allowedFor, [target]))
      throw new ToolError(
        `The line in session ${session_id} is not what it was when this was decided: nothing was typed. Call again.`,
      );
    const startedAt = performance.now();
    if (chars !== "") session.write(chars);
    const waitMs = chars === "" ? clamp(yield_time_ms, POLL_YIELD_MS) : ECHO_MS + clamp(yield_time_ms, TYPED_YIELD_MS);
    await session.wait(waitMs, context);
    signal.throwIfAborted();
    return describeSession(session, { startedAt, maxTokens: max_output_tokens });
  },
});

function targetOf(
  { session_id, chars }: { session_id: number; chars: string },
  context: Pick<ToolContext, "cwd" | "services">,
): PermissionTarget | null {
  return typedTarget("write_stdin", chars, context.services.sessions.find(session_id), context);
}
