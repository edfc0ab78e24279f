// Several replacements in one file, all or none.

import * as v from "valibot";
import { defineTool } from "./define-tool.ts";
import { planOf, toEdit } from "./edit.ts";
import { applyChange, previewChange } from "./file-change.ts";
import description from "./multi-edit.md" with { type: "text" };
import { contextPath, displayPath } from "./paths.ts";

export const multiEditTool = defineTool({
  name: "MultiEdit",
  toolsets: { default: "MultiEdit" },
  description,
  args: v.strictObject({
    file_path: v.string(),
    edits: v.pipe(
      v.array(
        v.strictObject({
          old_string: v.string(),
          new_string: v.string(),
          replace_all: v.optional(v.boolean(), false),
        }),
      ),
      v.minLength(1),
    ),
  }),
  targets: ({ file_path }, context) => [{ kind: "file", family: "Edit", path: contextPath(file_path, context) }],
  resource: ({ file_path }, context) => ({ kind: "write", path: contextPath(file_path, context) }),
  title: ({ file_path }, cwd) => displayPath(file_path, cwd),
  preview: ({ file_path, edits }, context) => previewChange(file_path, planOf(edits.map(toEdit)), context),
  run: ({ file_path, edits }, context) => applyChange(file_path, planOf(edits.map(toEdit)), context),
});
