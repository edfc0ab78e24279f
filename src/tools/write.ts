// Writes a whole file.

import * as v from "valibot";
import { ToolError } from "@/lib/errors.ts";
import { formatCount } from "@/lib/text.ts";
import { defineTool } from "./define-tool.ts";
import { applyChange, type Plan, previewChange } from "./file-change.ts";
import { contextPath, displayPath } from "./paths.ts";
import { decodeTextFile, dominantLineEnd, encodeTextFile, type TextFile } from "./text-file.ts";
import description from "./write.md" with { type: "text" };

export const writeTool = defineTool({
  name: "Write",
  description,
  args: v.strictObject({ file_path: v.string(), content: v.string() }),
  targets: ({ file_path }, context) => [{ kind: "file", family: "Write", path: contextPath(file_path, context) }],
  resource: ({ file_path }, context) => ({ kind: "write", path: contextPath(file_path, context) }),
  title: ({ file_path }, cwd) => displayPath(file_path, cwd),
  preview: ({ file_path, content }, context) => previewChange(file_path, planWrite(content), context),
  run: ({ file_path, content }, context) => applyChange(file_path, planWrite(content), context),
});

function planWrite(content: string): Plan {
  return (path, before, seen) => {
    if (before !== null && !seen) {
      throw new ToolError(`The file exists and you have not read it: ${path}. Read it before overwriting it.`);
    }
    const verb = before === null ? "Created" : "Wrote";
    return { after: toBytes(content, before), message: `${verb} ${path} (${formatCount(content.length)} characters).` };
  };
}

function toBytes(content: string, before: Uint8Array | null): Uint8Array {
  const old = before === null ? null : findTextFile(before);
  if (!old) return Buffer.from(content);
  const keepsCrlf = !content.includes("\r\n") && dominantLineEnd(old.text) === "\r\n";
  // A byte order mark the model wrote itself must not come twice.
  const text = old.bom ? content.replace(/^\ufeff/, "") : content;
  return encodeTextFile(keepsCrlf ? text.replaceAll("\n", "\r\n") : text, old);
}

function findTextFile(bytes: Uint8Array): TextFile | null {
  try {
    return decodeTextFile(bytes, "");
  } catch {
    return null; // Binary so far: nothing of it to keep.
  }
}
