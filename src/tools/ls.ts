// One directory.

import { type Dirent, readdirSync } from "node:fs";
import { join } from "node:path";
import * as v from "valibot";
import { systemErrorCode, ToolError } from "@/lib/errors.ts";
import { holdDirectory } from "@/lib/held-directory.ts";
import { formatCount, plural } from "@/lib/text.ts";
import type { Place } from "@/permissions/places.ts";
import { defineTool } from "./define-tool.ts";
import { fileError } from "./file-store.ts";
import { LS_ENTRIES } from "./limits.ts";
import description from "./ls.md" with { type: "text" };
import { contextPath, contextPlace, displayPath, escapeControls } from "./paths.ts";

export const lsTool = defineTool({
  name: "LS",
  description,
  args: v.strictObject({
    path: v.optional(v.string(), "."),
    ignore: v.optional(v.array(v.string()), []),
  }),
  targets: ({ path }, context) => [{ kind: "file", family: "ListDir", path: contextPath(path, context) }],
  resource: () => ({ kind: "read" }),
  title: ({ path }, cwd) => displayPath(path, cwd),
  run: async ({ path, ignore }, context) => {
    const place = contextPlace(path, context);
    const directory = place.lexical;
    const globs = ignore.map((pattern) => new Bun.Glob(pattern));
    const names = listDirectory(place)
      .filter((entry) => !globs.some((glob) => glob.match(entry.name)))
      .filter((entry) => !context.services.isHidden(join(directory, entry.name)))
      .sort((a, b) => Number(b.isDirectory()) - Number(a.isDirectory()) || (a.name < b.name ? -1 : 1))
      .map((entry) => escapeControls(entry.name) + (entry.isDirectory() ? "/" : entry.isSymbolicLink() ? "@" : ""));
    const shown = names.slice(0, LS_ENTRIES).map((name) => `    - ${name}`);
    const more = names.length - shown.length;
    const lines = [
      `- ${escapeControls(directory)}/`,
      ...shown,
      ...(more > 0 ? [`    … (${formatCount(more)} more entries)`] : []),
    ];
    if (names.length === 0) lines.push("    (empty)");
    return { status: "success", output: lines.join("\n"), summary: plural(names.length, "entry", "entries") };
  },
});

function listDirectory({ lexical: path, real }: Place): Dirent[] {
  try {
    using folder = holdDirectory(real);
    return readdirSync(folder.at(), { withFileTypes: true });
  } catch (error) {
    if (systemErrorCode(error) === "ENOTDIR") throw new ToolError(`Not a directory: ${path}. Use Read.`);
    if (systemErrorCode(error) === "ENOENT") throw new ToolError(`Directory does not exist: ${path}`);
    throw fileError(error, path);
  }
}
