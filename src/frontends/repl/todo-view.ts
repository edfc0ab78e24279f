// A todo list among a call's arguments, shown as a list. Recognised by its shape, whatever the tool is called.

import * as v from "valibot";
import { toPlainLine } from "@/lib/terminal-text.ts";
import type { Theme } from "./theme.ts";

const Status = v.picklist(["pending", "in_progress", "completed", "cancelled"]);

/** As the model families write them; what an item is called differs, what it means does not. */
const TodosSchema = v.union([
  v.object({ todos: v.array(v.object({ content: v.string(), status: Status })) }),
  v.pipe(
    v.object({ todos: v.array(v.object({ description: v.string(), status: Status })) }),
    v.transform(({ todos }) => ({
      todos: todos.map(({ description, status }) => ({ content: description, status })),
    })),
  ),
  v.pipe(
    v.object({ plan: v.array(v.object({ step: v.string(), status: Status })) }),
    v.transform(({ plan }) => ({ todos: plan.map(({ step, status }) => ({ content: step, status })) })),
  ),
]);

/** Undefined when the arguments hold no todo list. */
export function formatTodos(args: unknown, theme: Theme): string[] | undefined {
  const parsed = v.safeParse(TodosSchema, args);
  if (!parsed.success || parsed.output.todos.length === 0) return undefined;
  return parsed.output.todos.map(({ content, status }) => {
    const text = toPlainLine(content);
    if (status === "completed" || status === "cancelled") return theme.dim(`☒ ${text}`);
    return status === "in_progress" ? theme.bold(`☐ ${text}`) : `☐ ${text}`;
  });
}
