// Contents of files, by regular expression.

import { closeSync, fstatSync, readSync } from "node:fs";
import type { FileHandle } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import * as v from "valibot";
import { systemErrorCode, ToolError } from "@/lib/errors.ts";
import { type HeldDirectory, holdDirectory, openRegular, openRegularSync } from "@/lib/held-directory.ts";
import { pathInside } from "@/lib/path-inside.ts";
import { formatCount, plural } from "@/lib/text.ts";
import type { Place } from "@/permissions/places.ts";
import { isSecretPath } from "@/permissions/protected.ts";
import { defineTool, type ToolContext, type ToolResult } from "./define-tool.ts";
import { fileError } from "./file-store.ts";
import description from "./grep.md" with { type: "text" };
import { grepWithoutRipgrep } from "./grep-fallback.ts";
import { GREP_BUFFER_BYTES, GREP_CHARS, GREP_HEAD_LIMIT, SEARCH_TIMEOUT_MS, SHADOW_FILE_BYTES } from "./limits.ts";
import { truncateOutput } from "./output.ts";
import { contextPath, contextPlace, relativePath } from "./paths.ts";
import { runRipgrep } from "./ripgrep.ts";
import { PLAIN_NOTE } from "./search.ts";
import { decodeTextFile } from "./text-file.ts";

const SECRETS_NOTE = "[Matches in files that look like secrets are left out. Search such a file by its own path.]";

/** Longer lines are cut, with this at their end. */
const MAX_COLUMNS = 1000;
const PREVIEW_NOTE = / \[\.\.\. (?:omitted end of long line|\d+ more match(?:es)?)\]$/;

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
    const place = contextPlace(args.path ?? ".", context);
    await using root = await openRoot(place);
    const { records: all, cut, plain } = await search(args, { place, ...root }, context);
    const visible = all.filter((record) => !context.services.isHidden(record.file));
    // A search must not print what reading would ask for; a search of that very file was asked for.
    const open = visible.filter((record) => record.file === place.lexical || !isSecretPath(record.file));
    const changed = root.folder && !plain ? findChanged(page(open, args), root.folder) : new Set();
    const records = open.filter((record) => !changed.has(record));
    const shown = page(open, args).filter((record) => !changed.has(record));
    const result = formats[args.output_mode](records, shown, args);
    const notes = [
      ...(changed.size > 0 ? [`[${plural(changed.size, "result")} left out: changed while it was searched.]`] : []),
      ...(open.length < visible.length ? [SECRETS_NOTE] : []),
      ...(cut ? ["[The search was stopped: too much output, or too long. Narrow it.]"] : []),
      ...(plain ? [PLAIN_NOTE] : []),
    ];
    const output = truncateOutput([result.output, ...notes].join("\n\n"), { maxChars: GREP_CHARS });
    return { status: "success", output, summary: result.summary };
  },
});

/** What is searched: a directory, or a single file. */
export interface SearchRoot {
  place: Place;
  folder?: HeldDirectory;
  file?: FileHandle;
}

/** One line of a result, or a whole file of it. */
export interface GrepRecord {
  /** Absolute. */
  file: string;
  /** From the searched directory; "" for a single file. */
  inside: string;
  /** For display: relative to cwd inside it, one line. */
  path: string;
  /** `content`: what follows the path (`12:text`, `13-text`); `count`: the number. */
  rest: string;
  /** Where its line begins, in bytes, and the text there, perhaps cut. */
  at?: { offset: number; text: string };
  /** A gap before this line (context output). */
  gap?: boolean;
}

interface Found {
  records: GrepRecord[];
  cut: boolean;
  plain: boolean;
}

async function openRoot({ lexical, real }: Place): Promise<Omit<SearchRoot, "place"> & AsyncDisposable> {
  try {
    const folder = holdDirectory(real);
    return { folder, [Symbol.asyncDispose]: async () => folder[Symbol.dispose]() };
  } catch (error) {
    const code = systemErrorCode(error);
    if (code === "ENOENT") throw new ToolError(`Path does not exist: ${lexical}`);
    if (code !== "ENOTDIR") throw fileError(error, lexical);
  }
  try {
    using folder = holdDirectory(dirname(real));
    const { file } = await openRegular(folder, basename(real));
    return { file, [Symbol.asyncDispose]: () => file.close() };
  } catch (error) {
    throw fileError(error, lexical);
  }
}

async function search(args: GrepArgs, root: SearchRoot, context: ToolContext): Promise<Found> {
  const { place, folder, file } = root;
  const options = { ...args, glob: args.glob && globBelow(args.glob, place.lexical, context.cwd) };
  const program = context.services.findRipgrep();
  if (program === null) {
    return { records: await grepWithoutRipgrep(options, root, context), cut: false, plain: true };
  }
  // `--regexp=` and `--`: neither a pattern nor a path can become an option. A single file is given open: ripgrep would
  // follow its name wherever that leads by now.
  const what = folder ? "./" : "-";
  const run = await runRipgrep(program, [...ripgrepOptions(options), `--regexp=${args.pattern}`, "--", what], {
    cwd: folder?.at() ?? context.cwd,
    stdin: file?.fd,
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
  const records = parseRecords(run.stdout, args, { place, single: !folder, cwd: context.cwd });
  // Its threads finish files in any order; the sort is stable, so lines stay in order.
  records.sort((a, b) => (a.path < b.path ? -1 : a.path > b.path ? 1 : 0));
  return { records, cut: run.cut, plain: false };
}

/** Globs begin where the search does. One that begins at `cwd`, as paths do, is understood. */
function globBelow(glob: string, path: string, cwd: string): string {
  const inside = pathInside(cwd, path);
  return inside !== null && glob.startsWith(`${inside}/`) ? glob.slice(inside.length) : glob;
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
    options.push(args["-n"] ? "--line-number" : "--no-line-number", "--byte-offset");
    options.push(`--max-columns=${MAX_COLUMNS}`, "--max-columns-preview");
    const around = args["-C"] ?? args.context;
    const before = args["-B"] ?? around;
    const after = args["-A"] ?? around;
    if (before !== undefined) options.push(`--before-context=${before}`);
    if (after !== undefined) options.push(`--after-context=${after}`);
  }
  return options;
}

interface RecordPlace {
  place: Place;
  single: boolean;
  cwd: string;
}

/** ripgrep writes `path NUL rest NEWLINE`, in files mode `path NUL`. A path may hold newlines, a rest cannot, so the
 *  text between two NULs is a rest, a newline, perhaps `--` for a gap, and the next path. */
function parseRecords(stdout: string, args: GrepArgs, { place: root, single, cwd }: RecordPlace): GrepRecord[] {
  const pieces = stdout.split("\0");
  const place = (name: string): Pick<GrepRecord, "file" | "inside" | "path"> => {
    const inside = single ? "" : name.replace(/^\.\//, "");
    const file = join(root.lexical, inside);
    return { file, inside, path: relativePath(file, cwd) };
  };
  if (args.output_mode === "files_with_matches")
    return pieces.slice(0, -1).map((file) => ({ ...place(file), rest: "" }));
  const records: GrepRecord[] = [];
  let path = pieces[0]!;
  let gap = false;
  for (const piece of pieces.slice(1)) {
    const end = piece.indexOf("\n");
    // Without an end the output was cut inside this line.
    if (end < 0) break;
    const rest = piece.slice(0, end).replace(/\r$/, "");
    const line = args.output_mode === "content" ? parseLine(rest, args["-n"]) : { rest };
    records.push({ ...place(path), ...line, ...(gap ? { gap } : {}) });
    const next = piece.slice(end + 1);
    gap = next.startsWith("--\n");
    path = gap ? next.slice(3) : next;
  }
  return records;
}

/** `12:340:text`, `13-360-text`; without numbers `340:text`. The offset is for us. */
function parseLine(line: string, numbered: boolean): Pick<GrepRecord, "rest" | "at"> {
  const parts = (numbered ? /^(\d+[:-])(\d+)[:-](.*)$/s : /^()(\d+)[:-](.*)$/s).exec(line);
  if (!parts) return { rest: line };
  const [, number, offset, text] = parts;
  return { rest: number! + text!, at: { offset: Number(offset), text: text! } };
}

/** Of the results, those that are not there when the file is opened without following any link: a walk goes by names,
 *  and what was read may have been another file. */
function findChanged(records: GrepRecord[], root: HeldDirectory): Set<GrepRecord> {
  const changed = new Set<GrepRecord>();
  for (const [inside, ofFile] of Map.groupBy(records, (record) => record.inside)) {
    try {
      using folder = holdDirectory(join(root.path, dirname(inside)));
      const file = openRegularSync(folder, basename(inside));
      try {
        for (const record of ofFile) if (!hasLine(file, record)) changed.add(record);
      } finally {
        closeSync(file);
      }
    } catch {
      for (const record of ofFile) changed.add(record);
    }
  }
  return changed;
}

/** Offsets count from behind a byte order mark, in UTF-8. */
function hasLine(file: number, { at }: GrepRecord): boolean {
  if (!at) return true;
  const wanted = at.text.replace(PREVIEW_NOTE, "");
  // A character that was cut would not be the one that was found.
  const length = Buffer.byteLength(wanted) + 3;
  const mark = readAt(file, 0, 3);
  if (mark[0] === 0xff || mark[0] === 0xfe) {
    const { size } = fstatSync(file);
    if (size > SHADOW_FILE_BYTES) return false;
    const text = Buffer.from(decodeTextFile(readAt(file, 0, size), "").text);
    return text.toString("utf8", at.offset, at.offset + length).startsWith(wanted);
  }
  const start = mark.equals(UTF8_MARK) ? UTF8_MARK.length : 0;
  return readAt(file, start + at.offset, length)
    .toString("utf8")
    .startsWith(wanted);
}

const UTF8_MARK = Buffer.from([0xef, 0xbb, 0xbf]);

function readAt(file: number, offset: number, length: number): Buffer {
  const buffer = Buffer.alloc(length);
  return buffer.subarray(0, readSync(file, buffer, 0, length, offset));
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
