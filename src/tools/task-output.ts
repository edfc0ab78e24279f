// Reads a background task, waiting for it when asked to.

import * as v from "valibot";
import { defineTool, type ToolContext } from "./define-tool.ts";
import { SHELL_MAX_TIMEOUT_MS } from "./limits.ts";
import { BoundedOutput } from "./output.ts";
import type { BackgroundTask, BackgroundTasks } from "./services.ts";
import description from "./task-output.md" with { type: "text" };

export const taskOutputTool = defineTool({
  name: "TaskOutput",
  toolsets: { default: "TaskOutput", codex: "TaskOutput" },
  description,
  args: v.strictObject({
    task_id: v.string(),
    block: v.optional(v.boolean(), true),
    timeout: v.optional(v.pipe(v.number(), v.minValue(0), v.maxValue(SHELL_MAX_TIMEOUT_MS)), 30_000),
  }),
  targets: () => [{ kind: "none" }],
  resource: () => ({ kind: "read" }),
  title: ({ task_id }) => task_id,
  run: async ({ task_id, block, timeout }, context) => {
    const { background } = context.services;
    const task = background.find(task_id);
    if (!task) return { status: "success", output: unknownTask(background, task_id) };
    if (block) await waitShowing(task, timeout, context);
    context.signal.throwIfAborted();
    return { status: "success", output: describe(background, task), summary: task.state };
  },
});

export function unknownTask(background: BackgroundTasks, id: string): string {
  const known = background.list().map((task) => task.id);
  return `No background task with ID ${id}.${known.length > 0 ? ` Known: ${known.join(", ")}.` : ""}`;
}

/** Waits, and passes new output on to people meanwhile. */
async function waitShowing(task: BackgroundTask, timeoutMs: number, context: ToolContext): Promise<void> {
  const { services, signal, onOutput } = context;
  const { background } = services;
  let offset = 0;
  const show = (): void => {
    const { text, nextOffset } = background.read(task.id, offset);
    offset = nextOffset;
    if (text !== "") onOutput(text);
  };
  const poll = setInterval(show, 100);
  try {
    await background.wait(task.id, timeoutMs, signal);
  } finally {
    clearInterval(poll);
  }
  show();
}

function describe(background: BackgroundTasks, task: BackgroundTask): string {
  const head = task.state === "running" ? "status: running (still running)" : `status: ${task.state}`;
  // The log has everything, so a cut text points there.
  const output = new BoundedOutput();
  let offset = 0;
  for (;;) {
    const { text, nextOffset } = background.read(task.id, offset);
    if (nextOffset === offset) break;
    output.push(text);
    offset = nextOffset;
  }
  const exit = task.exitCode === null ? "" : `\nexit code: ${task.exitCode}`;
  return `${head}${exit}\noutput file: ${task.outputFile}\n\n${output.finish() || "(no output yet)"}`;
}
