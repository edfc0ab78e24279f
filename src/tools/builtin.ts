// The built-in tools, in the order they are sent. One line each.

import { askUserQuestionTool } from "./ask-user-question.ts";
import { bashTool } from "./bash.ts";
import type { AnyTool } from "./define-tool.ts";
import { taskOutputTool } from "./task-output.ts";
import { taskStopTool } from "./task-stop.ts";
import { todoWriteTool } from "./todo-write.ts";

export function builtinTools(): AnyTool[] {
  return [askUserQuestionTool, bashTool, taskOutputTool, taskStopTool, todoWriteTool];
}
