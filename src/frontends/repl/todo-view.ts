// A todo list among a call's arguments, shown as a list. Recognised by its shape, whatever the tool is called.

import * as v from "valibot";
import { toPlainLine } from "@/lib/terminal-text.ts";
import type { Theme } from "./theme.ts";

const TodosSchema = v.object({
  todos: v.array(v.object({ content: v.string(), status: v.picklist(["pending", "in_progress", "completed"]) })),
});

/** Undefined when the arguments hold no todo list. */
export function formatTodos(args: unknown, theme: Theme): string[] | undefined {
  const parsed = v.safeParse(TodosSchema, args);
  if (!parsed.success || parsed.output.todos.length === 0) return undefined;
  return parsed.output.todos.map(({ content, status }) => {
    const text = toPlainLine(content);
    if (status === "completed") return theme.dim(`☒ ${text}`);
    return status === "in_progress" ? theme.bold(`☐ ${text}`) : `☐ ${text}`;
  });
}
