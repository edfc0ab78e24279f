// Replaces one text in a file.

import * as v from "valibot";
import { plural } from "@/lib/text.ts";
import { defineTool } from "./define-tool.ts";
import description from "./edit.md" with { type: "text" };
import { type Edit, planEdit } from "./edit-plan.ts";
import { applyChange, type Plan, previewChange } from "./file-change.ts";
import { contextPath, displayPath } from "./paths.ts";

export const editTool = defineTool({
  name: "Edit",
  description,
  args: v.strictObject({
    file_path: v.string(),
    old_string: v.string(),
    new_string: v.string(),
    replace_all: v.optional(v.boolean(), false),
  }),
  targets: ({ file_path }, context) => [{ kind: "file", family: "Edit", path: contextPath(file_path, context) }],
  resource: ({ file_path }, context) => ({ kind: "write", path: contextPath(file_path, context) }),
  title: ({ file_path }, cwd) => displayPath(file_path, cwd),
  preview: (args, context) => previewChange(args.file_path, planOf([toEdit(args)]), context),
  run: (args, context) => applyChange(args.file_path, planOf([toEdit(args)]), context),
});

export function toEdit(args: { old_string: string; new_string: string; replace_all: boolean }): Edit {
  return { oldString: args.old_string, newString: args.new_string, replaceAll: args.replace_all };
}

/** The result is JSON because front ends take `startLine` from it. */
export function planOf(edits: Edit[]): Plan {
  return (path, before) => {
    const { after, replacements, startLine, notes } = planEdit(path, before, edits);
    const how = notes.length > 0 ? ` (${notes.join("; ")})` : "";
    const what = before === null ? `Created ${path}` : `Replaced ${plural(replacements, "occurrence")} in ${path}`;
    return { after, message: JSON.stringify({ message: `${what}${how}.`, replacements, startLine }) };
  };
}
