// Edits several files of the agent's own memory with one patch and one commit, for models that think in patches.

import * as v from "valibot";
import { ToolError } from "@/lib/errors.ts";
import { defineTool } from "./define-tool.ts";
import description from "./memory-apply-patch.md" with { type: "text" };
import { editMemory, type FindMemory } from "./memory-editor.ts";
import { parsePatch } from "./patch-parse.ts";

export function memoryApplyPatchTool(findMemory: FindMemory) {
  return defineTool({
    name: "memory_apply_patch",
    toolsets: { codex: "memory_apply_patch", codex_snake: "memory_apply_patch" },
    description,
    args: v.strictObject({
      reason: v.pipe(v.string(), v.description("Why; becomes the commit message")),
      input: v.pipe(v.string(), v.description("The whole patch")),
    }),
    targets: (args) => [{ kind: "tool", name: "memory_apply_patch", args, memory: true }],
    title: ({ input }) =>
      parsePatch(input)
        .map(({ path }) => path)
        .join(", "),
    run: ({ reason, input }, context) => {
      if (reason.trim() === "") throw new ToolError("`reason` is empty. Say why memory changes.");
      return editMemory(findMemory, context, "patch", (memory) => memory.applyPatch(input, { reason }));
    },
  });
}
