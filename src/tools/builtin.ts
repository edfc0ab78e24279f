// The built-in tools, in the order they are sent. One line each.

import { applyPatchTool } from "./apply-patch.ts";
import { askUserQuestionTool } from "./ask-user-question.ts";
import { bashTool } from "./bash.ts";
import type { AnyTool } from "./define-tool.ts";
import { editTool } from "./edit.ts";
import { globTool } from "./glob.ts";
import { grepTool } from "./grep.ts";
import { lsTool } from "./ls.ts";
import { multiEditTool } from "./multi-edit.ts";
import { readTool } from "./read.ts";
import { taskOutputTool } from "./task-output.ts";
import { taskStopTool } from "./task-stop.ts";
import { todoWriteTool } from "./todo-write.ts";
import { writeTool } from "./write.ts";

export function builtinTools(): AnyTool[] {
  return [
    askUserQuestionTool,
    bashTool,
    taskOutputTool,
    taskStopTool,
    readTool,
    editTool,
    multiEditTool,
    writeTool,
    applyPatchTool,
    globTool,
    grepTool,
    lsTool,
    todoWriteTool,
  ];
}
