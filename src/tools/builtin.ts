// The built-in tools, in the order they are sent. One line each.

import { applyPatchTool } from "./apply-patch.ts";
import { askUserQuestionTool } from "./ask-user-question.ts";
import { bashTool } from "./bash.ts";
import { codexReadFileTool, grepFilesTool, listDirTool } from "./codex-files.ts";
import type { AnyTool } from "./define-tool.ts";
import { editTool } from "./edit.ts";
import { execCommandTool } from "./exec-command.ts";
import {
  globFilesTool,
  listDirectoryTool,
  readFileTool,
  replaceTool,
  searchFileContentTool,
  writeFileTool,
} from "./gemini-files.ts";
import { globTool } from "./glob.ts";
import { grepTool } from "./grep.ts";
import { lsTool } from "./ls.ts";
import { memoryTool } from "./memory.ts";
import { memoryApplyPatchTool } from "./memory-apply-patch.ts";
import type { FindMemory } from "./memory-editor.ts";
import { monitorTool } from "./monitor.ts";
import { multiEditTool } from "./multi-edit.ts";
import { enterPlanModeTool, exitPlanModeTool } from "./plan-mode.ts";
import { readTool } from "./read.ts";
import { readManyFilesTool } from "./read-many-files.ts";
import { runShellCommandTool } from "./run-shell-command.ts";
import { shellCommandTool, shellTool } from "./shell-command.ts";
import { type LoadSkill, skillTool } from "./skill.ts";
import { taskOutputTool } from "./task-output.ts";
import { taskStopTool } from "./task-stop.ts";
import { todoWriteTool } from "./todo-write.ts";
import { updatePlanTool } from "./update-plan.ts";
import { viewImageTool } from "./view-image.ts";
import { webFetchTool } from "./web-fetch.ts";
import { writeTool } from "./write.ts";
import { writeStdinTool } from "./write-stdin.ts";
import { writeTodosTool } from "./write-todos.ts";

export interface BuiltinToolOptions {
  /** Default: agents have no memory, and no tools for it. */
  findMemory?: FindMemory;
  /** Default: there are no skills. */
  loadSkill?: LoadSkill;
}

export function builtinTools({ findMemory, loadSkill }: BuiltinToolOptions = {}): AnyTool[] {
  return [
    askUserQuestionTool,
    bashTool,
    execCommandTool,
    writeStdinTool,
    runShellCommandTool,
    shellCommandTool,
    shellTool,
    monitorTool,
    taskOutputTool,
    taskStopTool,
    readTool,
    readFileTool,
    readManyFilesTool,
    codexReadFileTool,
    listDirTool,
    grepFilesTool,
    viewImageTool,
    editTool,
    multiEditTool,
    replaceTool,
    writeTool,
    writeFileTool,
    applyPatchTool,
    globTool,
    globFilesTool,
    grepTool,
    searchFileContentTool,
    lsTool,
    listDirectoryTool,
    webFetchTool,
    todoWriteTool,
    updatePlanTool,
    writeTodosTool,
    enterPlanModeTool,
    exitPlanModeTool,
    ...(loadSkill ? [skillTool(loadSkill)] : []),
    ...(findMemory ? [memoryTool(findMemory), memoryApplyPatchTool(findMemory)] : []),
  ];
}
