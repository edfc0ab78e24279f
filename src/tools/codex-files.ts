// Readers of older Codex models. They are in no set; `--tools` can bring them in.

import { type Dirent, readdirSync } from "node:fs";
import { join } from "node:path";
import * as v from "valibot";
import { systemErrorCode, ToolError } from "@/lib/errors.ts";
import { findChild, type HeldDirectory, holdDirectory } from "@/lib/held-directory.ts";
import { formatCount, plural, takeHead } from "@/lib/text.ts";
import { adaptTool } from "./adapt-tool.ts";
import { defineTool, type ToolContext } from "./define-tool.ts";
import { fileError } from "./file-store.ts";
import { GrepArgs, grepTool } from "./grep.ts";
import { blockAround } from "./indentation.ts";
import {
  CODEX_LINE_CHARS,
  CODEX_NAME_CHARS,
  LIST_DIR_CHILDREN,
  LIST_DIR_COLLECTED,
  LIST_DIR_DEPTH,
  LIST_DIR_LIMIT,
  READ_CHARS,
  READ_LINES,
} from "./limits.ts";
import { contextPath, contextPlace, displayPath, escapeControls } from "./paths.ts";
import { readSeen } from "./read.ts";
import { decodeTextFile } from "./text-file.ts";

const Positive = v.pipe(v.number(), v.integer(), v.minValue(1));

export const codexReadFileTool = defineTool({
  name: "read_file",
  toolsets: {},
  also: ["ReadFile"],
  description:
    "Reads a text file as lines `L<number>: <text>`. `mode` `slice` (default) takes `limit` lines from `offset`; `indentation` takes the block around `indentation.anchor_line`.",
  args: v.strictObject({
    file_path: v.string(),
    offset: v.optional(Positive, 1),
    limit: v.optional(Positive, READ_LINES),
    mode: v.optional(v.picklist(["slice", "indentation"]), "slice"),
    indentation: v.optional(
      v.strictObject({
        anchor_line: v.optional(Positive),
        max_levels: v.optional(v.pipe(v.number(), v.integer(), v.minValue(0)), 0),
        include_siblings: v.optional(v.boolean(), false),
        include_header: v.optional(v.boolean(), true),
        max_lines: v.optional(Positive),
      }),
    ),
  }),
  targets: ({ file_path }, context) => [{ kind: "file", family: "Read", path: contextPath(file_path, context) }],
  resource: ({ file_path }, context) => ({ kind: "read", path: contextPath(file_path, context) }),
  title: ({ file_path }, cwd) => displayPath(file_path, cwd),
  run: async ({ file_path, offset, limit, mode, indentation }, context) => {
    const place = contextPlace(file_path, context);
    const lines = decodeTextFile((await readSeen(place, context)).bytes, place.lexical).text.split(/\r?\n/);
    if (lines.at(-1) === "") lines.pop();
    const anchor = mode === "indentation" ? (indentation?.anchor_line ?? offset) : offset;
    if (anchor > lines.length)
      throw new ToolError(`Line ${anchor} is beyond the end: the file has ${formatCount(lines.length)} lines.`);
    const range =
      mode === "slice"
        ? { first: offset, last: Math.min(lines.length, offset + limit - 1) }
        : blockAround(lines, anchor, {
            maxLines: Math.min(limit, indentation?.max_lines ?? limit),
            maxLevels: indentation?.max_levels ?? 0,
            siblings: indentation?.include_siblings ?? false,
            header: indentation?.include_header ?? true,
          });
    return { status: "success", output: numbered(lines, range), summary: plural(range.last - range.first + 1, "line") };
  },
});

function numbered(lines: string[], { first, last }: { first: number; last: number }): string {
  const shown: string[] = [];
  let chars = 0;
  for (let number = first; number <= last; number++) {
    const row = `L${number}: ${takeHead(lines[number - 1]!, CODEX_LINE_CHARS)}`;
    chars += row.length + 1;
    if (chars > READ_CHARS) {
      shown.push(`[Lines ${number}-${last} are not shown. Continue with offset ${number}.]`);
      break;
    }
    shown.push(row);
  }
  return shown.join("\n");
}

export const grepFilesTool = adaptTool(grepTool, {
  name: "grep_files",
  toolsets: {},
  also: ["GrepFiles"],
  description: "Lists the files whose content matches a ripgrep regular expression. `include` limits the files (*.ts).",
  args: v.strictObject({
    pattern: v.pipe(v.string(), v.nonEmpty("must not be empty")),
    include: v.optional(v.string()),
    path: v.optional(v.string()),
    limit: v.optional(Positive, 100),
  }),
  toArgs: ({ pattern, include, path, limit }) =>
    v.parse(GrepArgs, { pattern, glob: include, path, head_limit: limit, output_mode: "files_with_matches" }),
});

export const listDirTool = defineTool({
  name: "list_dir",
  toolsets: {},
  also: ["ListDir"],
  description:
    "Lists a directory as a tree: `/` marks directories, `@` links, `?` other things. `depth` levels (default 2), `limit` entries (default 25) from `offset`.",
  args: v.strictObject({
    dir_path: v.string(),
    offset: v.optional(Positive, 1),
    limit: v.optional(v.pipe(Positive, v.maxValue(LIST_DIR_LIMIT)), 25),
    depth: v.optional(v.pipe(Positive, v.maxValue(LIST_DIR_DEPTH)), 2),
  }),
  targets: ({ dir_path }, context) => [{ kind: "file", family: "ListDir", path: contextPath(dir_path, context) }],
  resource: () => ({ kind: "read" }),
  title: ({ dir_path }, cwd) => displayPath(dir_path, cwd),
  run: async ({ dir_path, offset, limit, depth }, context) => {
    const { lexical: root, real } = contextPlace(dir_path, context);
    const rows: string[] = [];
    using folder = holdRoot(root, real);
    collect({ folder, path: root }, { level: 0, depth, rows }, context);
    if (rows.length > 0 && offset > rows.length)
      throw new ToolError(`offset ${offset} is beyond the end: there are ${rows.length} entries.`);
    const shown = rows.slice(offset - 1, offset - 1 + limit);
    const next = offset + shown.length;
    const more = next <= rows.length ? [`More entries follow; continue with offset ${next}.`] : [];
    const capped =
      rows.length >= LIST_DIR_COLLECTED
        ? [`Only the first ${formatCount(LIST_DIR_COLLECTED)} entries were collected.`]
        : [];
    const output = [`Absolute path: ${escapeControls(root)}`, ...shown, ...more, ...capped].join("\n");
    return { status: "success", output, summary: plural(shown.length, "entry", "entries") };
  },
});

/** Depth first, so that a page never has children without their parent. */
function collect(
  { folder, path }: { folder: HeldDirectory; path: string },
  { level, depth, rows }: { level: number; depth: number; rows: string[] },
  context: ToolContext,
): void {
  const entries = entriesIn(folder, path, level === 0)
    .filter((entry) => !context.services.isHidden(join(path, entry.name)))
    .sort((a, b) => (a.name < b.name ? -1 : 1));
  const indent = "  ".repeat(level);
  for (const entry of entries.slice(0, LIST_DIR_CHILDREN)) {
    if (rows.length >= LIST_DIR_COLLECTED) return;
    rows.push(`${indent}${takeHead(escapeControls(entry.name), CODEX_NAME_CHARS)}${suffixOf(entry)}`);
    if (entry.isDirectory() && level + 1 < depth) {
      using child = findChild(folder, entry.name);
      const inner = { level: level + 1, depth, rows };
      if (child) collect({ folder: child, path: join(path, entry.name) }, inner, context);
    }
  }
  const more = entries.length - LIST_DIR_CHILDREN;
  if (more > 0) rows.push(`${indent}… (${formatCount(more)} more entries)`);
}

function suffixOf(entry: Dirent): string {
  if (entry.isDirectory()) return "/";
  if (entry.isSymbolicLink()) return "@";
  return entry.isFile() ? "" : "?";
}

function holdRoot(path: string, real: string): HeldDirectory {
  try {
    return holdDirectory(real);
  } catch (error) {
    if (systemErrorCode(error) === "ENOTDIR") throw new ToolError(`Not a directory: ${path}.`);
    throw fileError(error, path);
  }
}

/** Below the root, what cannot be read is shown without its content. */
function entriesIn(folder: HeldDirectory, path: string, isRoot: boolean): Dirent[] {
  try {
    return readdirSync(folder.at(), { withFileTypes: true });
  } catch (error) {
    if (!isRoot) return [];
    throw fileError(error, path);
  }
}
