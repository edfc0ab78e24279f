// Reads a file for a tool: regular files only, bounded, and never waiting for a device or a pipe.

import { readdirSync, type Stats } from "node:fs";
import type { FileHandle } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { systemErrorCode, ToolError } from "@/lib/errors.ts";
import { sha256 } from "@/lib/hash.ts";
import { holdDirectory, openRegular } from "@/lib/held-directory.ts";
import { findNearest } from "@/lib/nearest.ts";
import { formatCount } from "@/lib/text.ts";
import type { Place } from "@/permissions/places.ts";
import { fileError } from "./file-store.ts";
import type { SeenFile } from "./services.ts";

export interface FileBytes {
  bytes: Uint8Array;
  seen: SeenFile;
  /** Permission bits. */
  mode: number;
}

export interface ReadLimits {
  maxBytes: number;
  /** Said when the file is larger. */
  tooLarge: string;
  /** Where relative paths start, for the message about a missing file. */
  cwd: string;
}

/** Throws ToolError naming the path, and for a missing file the nearest name beside it. */
export async function readFileBytes(place: Place, limits: ReadLimits): Promise<FileBytes> {
  const found = await findFileBytes(place, limits);
  if (found) return found;
  const nearest = nearestName(place);
  throw new ToolError(
    `File does not exist: ${place.lexical} (current directory: ${limits.cwd}).${nearest ? ` Did you mean ${nearest}?` : ""}`,
  );
}

/** Null when it does not exist. */
export async function findFileBytes({ lexical, real }: Place, limits: ReadLimits): Promise<FileBytes | null> {
  try {
    using folder = holdDirectory(dirname(real));
    const opened = await openRegular(folder, basename(real));
    try {
      return await readBounded(opened, lexical, limits);
    } finally {
      await opened.file.close();
    }
  } catch (error) {
    const code = systemErrorCode(error);
    if (code === "ENOENT") return null;
    if (code === "EISDIR") throw new ToolError(`This is a directory, not a file: ${lexical}. Use LS or Glob.`);
    throw fileError(error, lexical);
  }
}

/** `/proc` and `/sys` have regular files of size 0 that hold something, never end, or block: hence counted, and opened
 *  without waiting. */
async function readBounded(
  { file, info }: { file: FileHandle; info: Stats },
  path: string,
  { maxBytes, tooLarge }: ReadLimits,
): Promise<FileBytes> {
  const refuse = (size: string): never => {
    throw new ToolError(`The file is too large${size}: ${path}. ${tooLarge}`);
  };
  if (info.size > maxBytes) refuse(` (${formatCount(info.size)} bytes)`);
  const chunks: Buffer[] = [];
  let size = 0;
  for (;;) {
    const chunk = Buffer.allocUnsafe(256 * 1024);
    const { bytesRead } = await file.read(chunk, 0, chunk.length, null);
    if (bytesRead === 0) break;
    size += bytesRead;
    if (size > maxBytes) refuse("");
    chunks.push(chunk.subarray(0, bytesRead));
  }
  const bytes = chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks);
  const seen = { mtimeMs: info.mtimeMs, size: bytes.length, sha256: sha256(bytes) };
  return { bytes, seen, mode: info.mode & 0o7777 };
}

function nearestName({ lexical, real }: Place): string | undefined {
  try {
    using folder = holdDirectory(dirname(real));
    const name = findNearest(basename(lexical), readdirSync(folder.at()));
    return name === undefined ? undefined : join(dirname(lexical), name);
  } catch {
    return undefined; // The directory does not exist either.
  }
}
