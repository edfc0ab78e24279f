// Ends a background task.

import * as v from "valibot";
import { defineTool } from "./define-tool.ts";
import { unknownTask } from "./task-output.ts";
import description from "./task-stop.md" with { type: "text" };

export const taskStopTool = defineTool({
  name: "TaskStop",
  toolsets: { default: "TaskStop", codex: "TaskStop" },
  description,
  args: v.strictObject({ task_id: v.string() }),
  targets: () => [{ kind: "none" }],
  title: ({ task_id }) => task_id,
  run: async ({ task_id }, { services: { background } }) => {
    if (!background.find(task_id)) return { status: "error", output: unknownTask(background, task_id) };
    const killed = await background.stop(task_id);
    return { status: "success", output: JSON.stringify({ killed }), summary: killed ? "stopped" : "had already ended" };
  },
});
