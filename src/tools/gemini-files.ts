// The file tools of the Gemini sets: other names and arguments for what the default set does.

import { existsSync } from "node:fs";
import { join } from "node:path";
import * as v from "valibot";
import { ToolError } from "@/lib/errors.ts";
import { adaptTool } from "./adapt-tool.ts";
import { defineTool } from "./define-tool.ts";
import { editTool, planOf } from "./edit.ts";
import { applyChange, type Plan, previewChange } from "./file-change.ts";
import { globTool, runGlob } from "./glob.ts";
import { GrepArgs, grepTool } from "./grep.ts";
import { lsTool } from "./ls.ts";
import { contextPath } from "./paths.ts";
import { readTool } from "./read.ts";
import { writeTool } from "./write.ts";

/** How these models name what a listing should respect. */
const FILTERING = {
  respect_git_ignore: v.optional(v.boolean(), true),
  respect_gemini_ignore: v.optional(v.boolean(), true),
};
export const FilteringOptions = v.optional(v.strictObject(FILTERING));

export const readFileTool = adaptTool(readTool, {
  name: "ReadFileGemini",
  toolsets: { gemini: "ReadFileGemini", gemini_snake: "read_file" },
  also: ["read_file_gemini"],
  description:
    "Reads a file as numbered lines (`<number><tab><text>`); the number is not part of the file. Up to 2000 lines and 30000 characters; go on with `offset` (lines to skip) and `limit`. Images are shown.",
  args: v.strictObject({
    file_path: v.string(),
    offset: v.optional(v.pipe(v.number(), v.integer(), v.minValue(0), v.description("Lines to skip"))),
    limit: v.optional(v.pipe(v.number(), v.integer(), v.minValue(1))),
  }),
  toArgs: ({ file_path, offset, limit }) => ({
    file_path,
    offset: offset === undefined ? undefined : offset + 1,
    limit,
  }),
});

export const writeFileTool = adaptTool(writeTool, {
  name: "WriteFileGemini",
  toolsets: { gemini: "WriteFileGemini", gemini_snake: "write_file" },
  also: ["write_file_gemini"],
  description:
    "Writes a whole file, creating parent directories. An existing file must have been read in this conversation. Its line ends, byte order mark, encoding and mode are kept.",
  args: v.strictObject({ file_path: v.string(), content: v.string() }),
  toArgs: (args) => args,
});

const ReplaceArgs = v.strictObject({
  file_path: v.string(),
  old_string: v.string(),
  new_string: v.string(),
  expected_replacements: v.optional(
    v.pipe(v.number(), v.integer(), v.minValue(1), v.description("Replace exactly this many occurrences")),
  ),
  instruction: v.optional(v.string()),
});
type ReplaceArgs = v.InferOutput<typeof ReplaceArgs>;

/** Several expected replacements mean all of them, and exactly so many. */
function planReplace({ old_string, new_string, expected_replacements: expected = 1 }: ReplaceArgs): Plan {
  const plan = planOf([{ oldString: old_string, newString: new_string, replaceAll: expected > 1 }]);
  return (path, before, seen) => {
    const change = plan(path, before, seen);
    const { replacements } = JSON.parse(change.message) as { replacements: number };
    if (replacements !== expected)
      throw new ToolError(`Expected ${expected} occurrences of old_string in ${path}, found ${replacements}.`);
    return change;
  };
}

export const replaceTool = defineTool({
  name: "Replace",
  toolsets: { gemini: "Replace", gemini_snake: "replace" },
  description:
    "Replaces `old_string` by `new_string` in a file. `old_string` must be exactly as in the file, indentation included and without line numbers, and occur once, or `expected_replacements` times. An empty `old_string` creates a file that does not exist.",
  args: ReplaceArgs,
  targets: ({ file_path }, context) => [{ kind: "file", family: "Edit", path: contextPath(file_path, context) }],
  resource: ({ file_path }, context) => ({ kind: "write", path: contextPath(file_path, context) }),
  title: (args, cwd) => editTool.title({ ...args, replace_all: false }, cwd),
  preview: (args, context) => previewChange(args.file_path, planReplace(args), context),
  run: (args, context) => applyChange(args.file_path, planReplace(args), context),
});

export const listDirectoryTool = adaptTool(lsTool, {
  name: "ListDirectory",
  toolsets: { gemini: "ListDirectory", gemini_snake: "list_directory" },
  args: v.strictObject({
    dir_path: v.string(),
    ignore: v.optional(v.array(v.string()), []),
    file_filtering_options: FilteringOptions,
  }),
  toArgs: ({ dir_path, ignore }) => ({ path: dir_path, ignore }),
});

export const searchFileContentTool = adaptTool(grepTool, {
  name: "SearchFileContent",
  toolsets: { gemini: "SearchFileContent", gemini_snake: "search_file_content" },
  description:
    "Searches file contents with ripgrep regular expressions and returns the lines. `include` limits the files, for example *.{ts,tsx}. Ignored files (.gitignore) are left out.",
  args: v.strictObject({
    pattern: v.pipe(v.string(), v.nonEmpty("must not be empty")),
    dir_path: v.optional(v.pipe(v.string(), v.description("Default: the working directory"))),
    include: v.optional(v.string()),
  }),
  toArgs: ({ pattern, dir_path, include }) =>
    v.parse(GrepArgs, { pattern, path: dir_path, glob: include, output_mode: "content" }),
});

export const globFilesTool = defineTool({
  name: "GlobGemini",
  toolsets: { gemini: "GlobGemini", gemini_snake: "glob" },
  also: ["glob_gemini"],
  description: globTool.description,
  args: v.strictObject({
    pattern: v.pipe(v.string(), v.nonEmpty("must not be empty")),
    dir_path: v.optional(v.pipe(v.string(), v.description("Default: the working directory"))),
    case_sensitive: v.optional(v.boolean(), false),
    ...FILTERING,
  }),
  targets: ({ pattern, dir_path }, context) => globTool.targets({ pattern, path: dir_path }, context),
  resource: () => ({ kind: "read" }),
  title: ({ pattern, dir_path }, cwd) => globTool.title({ pattern, path: dir_path }, cwd),
  run: (args, context) =>
    runGlob({ pattern: args.pattern, path: args.dir_path }, context, {
      anyCase: !args.case_sensitive,
      ignored: !args.respect_git_ignore,
      ignoreFile: args.respect_gemini_ignore ? findGeminiIgnore(context.cwd) : undefined,
    }),
});

/** The project's list of files these models should not be bothered with. */
export function findGeminiIgnore(cwd: string): string | undefined {
  const file = join(cwd, ".geminiignore");
  return existsSync(file) ? file : undefined;
}
