// Contents of files, by regular expression.

import { existsSync } from "node:fs";
import * as v from "valibot";
import { ToolError } from "@/lib/errors.ts";
import { formatCount, plural } from "@/lib/text.ts";
import { isSecretPath } from "@/permissions/protected.ts";
import { defineTool, type ToolContext, type ToolResult } from "./define-tool.ts";
import description from "./grep.md" with { type: "text" };
import { grepWithoutRipgrep } from "./grep-fallback.ts";
import { GREP_BUFFER_BYTES, GREP_CHARS, GREP_HEAD_LIMIT, SEARCH_TIMEOUT_MS } from "./limits.ts";
import { truncateOutput } from "./output.ts";
import { contextPath, relativePath } from "./paths.ts";
import { runRipgrep } from "./ripgrep.ts";
import { PLAIN_NOTE } from "./search.ts";

const SECRETS_NOTE = "[Matches in files that look like secrets are left out. Search such a file by its own path.]";

const Count = v.pipe(v.number(), v.integer(), v.minValue(0));

export const GrepArgs = v.strictObject({
  pattern: v.pipe(v.string(), v.nonEmpty("must not be empty")),
  path: v.optional(v.pipe(v.string(), v.description("File or directory; default: the working directory"))),
  glob: v.optional(v.pipe(v.string(), v.description("For example *.{ts,tsx}"))),
  type: v.optional(v.pipe(v.string(), v.description("For example js, py, rust"))),
  output_mode: v.optional(v.picklist(["content", "files_with_matches", "count"]), "files_with_matches"),
  "-A": v.optional(Count),
  "-B": v.optional(Count),
  "-C": v.optional(Count),
  context: v.optional(Count),
  "-n": v.optional(v.boolean(), true),
  "-i": v.optional(v.boolean(), false),
  head_limit: v.optional(Count, GREP_HEAD_LIMIT),
  offset: v.optional(Count, 0),
  multiline: v.optional(v.boolean(), false),
});
export type GrepArgs = v.InferOutput<typeof GrepArgs>;

export const grepTool = defineTool({
  name: "Grep",
  description,
  args: GrepArgs,
  targets: ({ path }, context) => [{ kind: "file", family: "Grep", path: contextPath(path ?? ".", context) }],
  resource: () => ({ kind: "read" }),
  title: ({ pattern, path }) => (path === undefined ? pattern : `${pattern} in ${path}`),
  run: async (args, context) => {
    const path = contextPath(args.path ?? ".", context);
    if (!existsSync(path)) throw new ToolError(`Path does not exist: ${path}`);
    const { records: all, cut, plain } = await search(args, path, context);
    const visible = all.filter((record) => !context.services.isHidden(record.file));
    // A search must not print what reading would ask for; a search of that very file was asked for.
    const records = visible.filter((record) => record.file === path || !isSecretPath(record.file));
    const shown = page(records, args);
    const result = formats[args.output_mode](records, shown, args);
    const notes = [
      ...(records.length < visible.length ? [SECRETS_NOTE] : []),
      ...(cut ? ["[The search was stopped: too much output, or too long. Narrow it.]"] : []),
      ...(plain ? [PLAIN_NOTE] : []),
    ];
    const output = truncateOutput([result.output, ...notes].join("\n\n"), { maxChars: GREP_CHARS });
    return { status: "success", output, summary: result.summary };
  },
});

/** One line of a result, or a whole file of it. */
export interface GrepRecord {
  /** Absolute. */
  file: string;
  /** For display: relative to cwd inside it, one line. */
  path: string;
  /** `content`: what follows the path (`12:text`, `13-text`); `count`: the number. */
  rest: string;
  /** A gap before this line (context output). */
  gap?: boolean;
}

interface Found {
  records: GrepRecord[];
  cut: boolean;
  plain: boolean;
}

async function search(args: GrepArgs, path: string, context: ToolContext): Promise<Found> {
  const program = context.services.findRipgrep();
  if (program === null) {
    return { records: grepWithoutRipgrep(args, path, context), cut: false, plain: true };
  }
  // `--regexp=` and `--`: neither a pattern nor a path can become an option.
  const run = await runRipgrep(program, [...ripgrepOptions(args), `--regexp=${args.pattern}`, "--", path], {
    cwd: context.cwd,
    maxBytes: GREP_BUFFER_BYTES,
    signal: context.signal,
    shells: context.services.shells,
  });
  if (run.timedOut && run.stdout === "") {
    throw new ToolError(
      `Nothing was found in ${SEARCH_TIMEOUT_MS / 1000} seconds, and the search was stopped. Name a smaller path, a glob or a simpler pattern.`,
    );
  }
  // 2 also means that a single file could not be read; then there may still be results.
  if (run.exitCode === 2 && run.stdout === "") throw new ToolError(ripgrepError(run.stderr));
  const records = parseRecords(run.stdout, args.output_mode, context.cwd);
  // Its threads finish files in any order; the sort is stable, so lines stay in order.
  records.sort((a, b) => (a.path < b.path ? -1 : a.path > b.path ? 1 : 0));
  return { records, cut: run.cut, plain: false };
}

function ripgrepOptions(args: GrepArgs): string[] {
  const options = ["--hidden", "--null", "--no-heading", "--with-filename", "--no-messages"];
  if (args.output_mode === "files_with_matches") options.push("--files-with-matches");
  if (args.output_mode === "count") options.push("--count");
  if (args["-i"]) options.push("--ignore-case");
  if (args.multiline) options.push("--multiline", "--multiline-dotall");
  if (args.type !== undefined) options.push(`--type=${args.type}`);
  // `*` and `**` would only bring ignored files back in.
  if (args.glob !== undefined && !/^(\*\*\/)?\*+$/.test(args.glob)) options.push(`--glob=${args.glob}`);
  options.push("--glob=!.git");
  if (args.output_mode === "content") {
    options.push(args["-n"] ? "--line-number" : "--no-line-number", "--max-columns=1000", "--max-columns-preview");
    const around = args["-C"] ?? args.context;
    const before = args["-B"] ?? around;
    const after = args["-A"] ?? around;
    if (before !== undefined) options.push(`--before-context=${before}`);
    if (after !== undefined) options.push(`--after-context=${after}`);
  }
  return options;
}

/** ripgrep writes `path NUL rest NEWLINE`, in files mode `path NUL`. A path may hold newlines, a rest cannot, so the
 *  text between two NULs is a rest, a newline, perhaps `--` for a gap, and the next path. */
function parseRecords(stdout: string, mode: GrepArgs["output_mode"], cwd: string): GrepRecord[] {
  const pieces = stdout.split("\0");
  const place = (file: string): Pick<GrepRecord, "file" | "path"> => ({ file, path: relativePath(file, cwd) });
  if (mode === "files_with_matches") return pieces.slice(0, -1).map((file) => ({ ...place(file), rest: "" }));
  const records: GrepRecord[] = [];
  let path = pieces[0]!;
  let gap = false;
  for (const piece of pieces.slice(1)) {
    const end = piece.indexOf("\n");
    // Without an end the output was cut inside this line.
    if (end < 0) break;
    records.push({ ...place(path), rest: piece.slice(0, end).replace(/\r$/, ""), ...(gap ? { gap } : {}) });
    const next = piece.slice(end + 1);
    gap = next.startsWith("--\n");
    path = gap ? next.slice(3) : next;
  }
  return records;
}

function page(records: GrepRecord[], { offset, head_limit }: GrepArgs): GrepRecord[] {
  return records.slice(offset, head_limit === 0 ? undefined : offset + head_limit);
}

type Format = (
  all: GrepRecord[],
  shown: GrepRecord[],
  args: GrepArgs,
) => Required<Pick<ToolResult, "summary">> & { output: string };

const formats: Record<GrepArgs["output_mode"], Format> = {
  files_with_matches: (all, shown) => {
    if (all.length === 0) return { output: "No files found", summary: "0 files" };
    const part = shown.length < all.length ? ` (showing ${shown.length})` : "";
    const head = `Found ${plural(all.length, "file")}${part}`;
    return { output: [head, ...shown.map((record) => record.path)].join("\n"), summary: plural(all.length, "file") };
  },
  count: (all, shown) => {
    const total = all.reduce((sum, record) => sum + Number(record.rest), 0);
    const lines = shown.map((record) => `${record.path}:${record.rest}`);
    const sentence = `Found ${plural(total, "matching line")} in ${plural(all.length, "file")}.`;
    return { output: [...lines, sentence].join("\n"), summary: plural(total, "match", "matches") };
  },
  content: (all, shown, { offset }) => {
    if (all.length === 0) return { output: "No matches found", summary: "0 matches" };
    const separator = (record: GrepRecord): string => (/^\d+-/.test(record.rest) ? "-" : ":");
    const lines = shown.flatMap((record) => [
      ...(record.gap ? ["--"] : []),
      `${record.path}${separator(record)}${record.rest}`,
    ]);
    const next = offset + shown.length;
    if (next < all.length)
      lines.push("", `[Lines ${offset + 1}-${next} of ${formatCount(all.length)}; continue with offset ${next}.]`);
    return { output: lines.join("\n"), summary: plural(all.length, "line") };
  },
};

function ripgrepError(stderr: string): string {
  const text = stderr.replace(/^rg: /gm, "").trim();
  return text === "" ? "The search failed without a reason." : `The search failed: ${text.slice(0, 1_000)}`;
}
