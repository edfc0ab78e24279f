// A plan shown to people. Nothing is stored: the conversation itself holds the last list.

import * as v from "valibot";
import { defineTool } from "./define-tool.ts";
import description from "./todo-write.md" with { type: "text" };

export const todoWriteTool = defineTool({
  name: "TodoWrite",
  description,
  args: v.strictObject({
    todos: v.array(
      v.strictObject({
        content: v.pipe(v.string(), v.description("Imperative: Run the tests")),
        status: v.picklist(["pending", "in_progress", "completed"]),
        activeForm: v.optional(v.pipe(v.string(), v.description("Running the tests"))),
      }),
    ),
  }),
  targets: () => [{ kind: "none" }],
  resource: () => ({ kind: "read" }),
  title: ({ todos }) => `${todos.filter((todo) => todo.status === "completed").length}/${todos.length} done`,
  run: async ({ todos }) => {
    const current = todos.find((todo) => todo.status === "in_progress");
    return {
      status: "success",
      output: "Todos updated. Go on with the current item.",
      summary: current ? (current.activeForm ?? current.content) : `${todos.length} items`,
    };
  },
});
