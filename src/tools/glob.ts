// Files by name.

import { dirname, isAbsolute, join } from "node:path";
import * as v from "valibot";
import { plural } from "@/lib/text.ts";
import { defineTool, type ToolContext, type ToolResult } from "./define-tool.ts";
import description from "./glob.md" with { type: "text" };
import { GLOB_PATHS } from "./limits.ts";
import { contextPath, escapeControls, placeOf } from "./paths.ts";
import { holdSearchRoot, keepReal, type ListOptions, listFiles, PLAIN_NOTE } from "./search.ts";

export const globTool = defineTool({
  name: "Glob",
  description,
  args: v.strictObject({
    pattern: v.pipe(v.string(), v.nonEmpty("must not be empty")),
    path: v.optional(v.pipe(v.string(), v.description("Directory; default: the working directory"))),
  }),
  targets: (args, context) => [{ kind: "file", family: "Glob", path: searchOf(args, context).root }],
  resource: () => ({ kind: "read" }),
  title: ({ pattern, path }) => (path === undefined ? pattern : `${pattern} in ${path}`),
  run: (args, context) => runGlob(args, context),
});

export interface GlobOptions extends ListOptions {
  anyCase?: boolean;
}

export async function runGlob(
  args: { pattern: string; path?: string | undefined },
  context: ToolContext,
  { anyCase = false, ...options }: GlobOptions = {},
): Promise<ToolResult> {
  const { root, pattern } = searchOf(args, context);
  using folder = holdSearchRoot(placeOf(root, context));
  const files = await listFiles(folder, context, options);
  const folded = (text: string): string => (anyCase ? text.toLowerCase() : text);
  const glob = new Bun.Glob(folded(pattern));
  const visible = (path: string): boolean => !context.services.isHidden(join(root, path));
  const found = files.paths.filter((path) => glob.match(folded(path)) && visible(path)).sort();
  const shown = keepReal(folder, found.slice(0, GLOB_PATHS));
  if (shown.length === 0) return { status: "success", output: "No files found", summary: "0 files" };
  const lines = shown.map((path) => escapeControls(join(root, path)));
  if (found.length > GLOB_PATHS || files.cut)
    lines.push("", `[Showing ${lines.length} files; there are more. Narrow the pattern.]`);
  if (files.plain) lines.push("", PLAIN_NOTE);
  return { status: "success", output: lines.join("\n"), summary: plural(found.length, "file") };
}

/** An absolute pattern brings its own root: the directories before its first wildcard. */
export function searchOf(
  args: { pattern: string; path?: string | undefined },
  context: Parameters<typeof contextPath>[1],
): { root: string; pattern: string } {
  const pattern = args.pattern.replace(/^~(?=\/)/, () => context.services.env.home).replace(/^(\.\/)+/, "");
  if (isAbsolute(pattern)) {
    const fixed = dirname(`${pattern.split(/[*?[{]/, 1)[0]}x`);
    return { root: fixed, pattern: anyDepth(pattern.slice(fixed.length).replace(/^\//, "")) };
  }
  return { root: contextPath(args.path ?? ".", context), pattern: anyDepth(pattern) };
}

function anyDepth(pattern: string): string {
  return pattern.includes("/") ? pattern : `**/${pattern}`;
}
