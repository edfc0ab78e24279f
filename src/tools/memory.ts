// Edits the agent's own memory, one commit per call.

import * as v from "valibot";
import { ToolError } from "@/lib/errors.ts";
import { defineTool } from "./define-tool.ts";
import description from "./memory.md" with { type: "text" };
import { editMemory, type FindMemory, type MemoryCommit, type MemoryEditor } from "./memory-editor.ts";

const text = (about: string) => v.optional(v.pipe(v.string(), v.description(about)));

const ArgsSchema = v.strictObject({
  command: v.picklist(["create", "str_replace", "insert", "delete", "rename", "update_description"]),
  reason: v.pipe(v.string(), v.description("Why; becomes the commit message")),
  file_path: text("For example system/human.md"),
  old_path: v.optional(v.string()),
  new_path: v.optional(v.string()),
  old_string: v.optional(v.string()),
  new_string: text("May be empty"),
  replace_all: v.optional(v.boolean()),
  insert_line: v.optional(v.pipe(v.number(), v.description("Before this line of the body, from 1"))),
  insert_text: v.optional(v.string()),
  description: text("One line: what the file holds and when to read it"),
  file_text: text("The body; may be empty"),
  expected_sha: text("Refuse when the file changed since this commit"),
});
type Args = v.InferOutput<typeof ArgsSchema>;

export function memoryTool(findMemory: FindMemory) {
  return defineTool({
    name: "memory",
    toolsets: { default: "memory", gemini: "memory", gemini_snake: "memory" },
    description,
    args: ArgsSchema,
    targets: (args) => [{ kind: "tool", name: "memory", args, memory: true }],
    title: ({ command, file_path, old_path }) => `${command} ${file_path ?? old_path ?? ""}`.trim(),
    run: (args, context) => editMemory(findMemory, context, args.command, (memory) => edit(memory, args)),
  });
}

function edit(memory: MemoryEditor, args: Args): Promise<MemoryCommit> {
  if (args.reason.trim() === "") throw new ToolError("`reason` is empty. Say why memory changes.");
  const options = { reason: args.reason, ...(args.expected_sha && { expectedSha: args.expected_sha }) };
  const need = <Key extends keyof Args>(key: Key): NonNullable<Args[Key]> => {
    const value = args[key];
    if (value === undefined) throw new ToolError(`\`${args.command}\` needs \`${key}\`.`);
    return value as NonNullable<Args[Key]>;
  };
  switch (args.command) {
    case "create":
      return memory.create(
        { file: need("file_path"), description: need("description"), text: args.file_text ?? "" },
        options,
      );
    case "str_replace":
      return memory.strReplace(
        {
          file: need("file_path"),
          oldString: need("old_string"),
          newString: need("new_string"),
          replaceAll: args.replace_all ?? false,
        },
        options,
      );
    case "insert":
      return memory.insert({ file: need("file_path"), line: need("insert_line"), text: need("insert_text") }, options);
    case "delete":
      return memory.delete(need("file_path"), options);
    case "rename":
      return memory.rename({ from: need("old_path"), to: need("new_path") }, options);
    case "update_description":
      return memory.updateDescription({ file: need("file_path"), description: need("description") }, options);
  }
}
