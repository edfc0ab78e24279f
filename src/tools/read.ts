// Reads text and images.

import { basename } from "node:path";
import * as v from "valibot";
import { wrapReminder } from "@/backend/content.ts";
import { ToolError } from "@/lib/errors.ts";
import { formatCount, plural } from "@/lib/text.ts";
import type { Place } from "@/permissions/places.ts";
import { defineTool, type ToolContext, type ToolResult } from "./define-tool.ts";
import { imageType, toImageParts } from "./image.ts";
import { IMAGE_FILE_BYTES, READ_CHARS, READ_FILE_BYTES, READ_LINE_CHARS, READ_LINES } from "./limits.ts";
import { contextPath, contextPlace, displayPath } from "./paths.ts";
import description from "./read.md" with { type: "text" };
import { type FileBytes, readFileBytes } from "./read-bytes.ts";
import { decodeTextFile } from "./text-file.ts";

export const readTool = defineTool({
  name: "Read",
  description,
  args: v.strictObject({
    file_path: v.string(),
    offset: v.optional(v.pipe(v.number(), v.integer(), v.minValue(0), v.description("First line, from 1"))),
    limit: v.optional(v.pipe(v.number(), v.integer(), v.minValue(1), v.description("Number of lines"))),
  }),
  targets: ({ file_path }, context) => [{ kind: "file", family: "Read", path: contextPath(file_path, context) }],
  resource: ({ file_path }, context) => ({ kind: "read", path: contextPath(file_path, context) }),
  title: ({ file_path }, cwd) => displayPath(file_path, cwd),
  run: async ({ file_path, offset, limit }, context) => {
    const place = contextPlace(file_path, context);
    const path = place.lexical;
    const file = await readSeen(place, context);
    const type = imageType(file.bytes);
    if (type) return readImage(path, file.bytes, type);
    if (Buffer.from(file.bytes.subarray(0, 5)).toString("latin1") === "%PDF-") {
      throw new ToolError(
        `PDF files cannot be read directly: ${path}. Extract the text with Bash: pdftotext -layout FILE -`,
      );
    }
    if (file.bytes.length > READ_FILE_BYTES) {
      throw new ToolError(
        `The file is too large (${formatCount(file.bytes.length)} bytes): ${path}. Search it with Grep, or take a part with Bash (head, sed -n).`,
      );
    }
    return formatLines(decodeTextFile(file.bytes, path).text, offset, limit);
  },
});

/** The bytes of a file, of which the conversation now knows. */
export async function readSeen(place: Place, { services, conversationId, cwd }: ToolContext): Promise<FileBytes> {
  const tooLarge = "Search it, or take a part with the shell (head, sed -n).";
  const file = await readFileBytes(place, { maxBytes: IMAGE_FILE_BYTES, tooLarge, cwd });
  // Also when it cannot be shown: overwriting a binary file is then a decision, not an accident.
  services.files.markSeen(conversationId, place, file.seen);
  return file;
}

export async function readImage(path: string, bytes: Uint8Array, type: string): Promise<ToolResult> {
  const parts = await toImageParts(basename(path), bytes, type);
  return { status: "success", output: parts, summary: "image" };
}

/** Numbered lines of a text, with what was left out said at the end. */
function formatLines(text: string, offset = 1, limit = READ_LINES): ToolResult {
  if (text.trim() === "") {
    const what = text === "" ? "is empty" : "holds only whitespace";
    return {
      status: "success",
      output: wrapReminder(`The file exists but ${what}.`),
      summary: "empty",
    };
  }
  const lines = text.split(/\r?\n/);
  if (lines.at(-1) === "") lines.pop();
  const first = Math.max(1, offset);
  if (first > lines.length) {
    throw new ToolError(`offset ${first} is beyond the end: the file has ${formatCount(lines.length)} lines.`);
  }
  const shown: string[] = [];
  let chars = 0;
  let cutLines = 0;
  for (let at = first - 1; at < Math.min(lines.length, first - 1 + limit); at++) {
    const line = lines[at]!;
    const row = `${at + 1}\t${line.slice(0, READ_LINE_CHARS)}`;
    if (chars + row.length + 1 > READ_CHARS) break;
    if (line.length > READ_LINE_CHARS) cutLines++;
    chars += row.length + 1;
    shown.push(row);
  }
  const last = first + shown.length - 1;
  const notes: string[] = [];
  if (cutLines > 0) notes.push(`[Lines over ${formatCount(READ_LINE_CHARS)} characters are cut.]`);
  if (last < lines.length) {
    notes.push(`[Lines ${first}-${last} of ${formatCount(lines.length)} shown. Continue with offset ${last + 1}.]`);
  }
  return {
    status: "success",
    output: [shown.join("\n"), ...(notes.length > 0 ? ["", ...notes] : [])].join("\n"),
    summary: plural(shown.length, "line"),
  };
}
