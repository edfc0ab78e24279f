// The todo list of a Gemini model, shown to people.

import * as v from "valibot";
import { ToolError } from "@/lib/errors.ts";
import { defineTool } from "./define-tool.ts";
import description from "./update-plan.md" with { type: "text" };

export const writeTodosTool = defineTool({
  name: "WriteTodos",
  toolsets: { gemini: "WriteTodos", gemini_snake: "write_todos" },
  description,
  args: v.strictObject({
    todos: v.array(
      v.strictObject({
        description: v.string(),
        status: v.picklist(["pending", "in_progress", "completed", "cancelled"]),
      }),
    ),
  }),
  targets: () => [{ kind: "none" }],
  resource: () => ({ kind: "read" }),
  title: ({ todos }) => `${todos.filter((todo) => todo.status === "completed").length}/${todos.length} done`,
  run: async ({ todos }) => {
    const current = todos.filter((todo) => todo.status === "in_progress");
    if (current.length > 1) throw new ToolError("Only one todo may be in_progress at a time.");
    return {
      status: "success",
      output: "Todos updated. Go on with the current item.",
      summary: current[0]?.description ?? `${todos.length} items`,
    };
  },
});
