// Reads a file for a tool: regular files only, bounded, and never waiting for a device or a pipe.

import { constants, readdirSync } from "node:fs";
import { open, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { systemErrorCode, ToolError } from "@/lib/errors.ts";
import { sha256 } from "@/lib/hash.ts";
import { findNearest } from "@/lib/nearest.ts";
import { formatCount } from "@/lib/text.ts";
import { fileError } from "./file-store.ts";
import type { SeenFile } from "./services.ts";

export interface FileBytes {
  bytes: Uint8Array;
  seen: SeenFile;
}

export interface ReadLimits {
  maxBytes: number;
  /** Said when the file is larger. */
  tooLarge: string;
  /** Where relative paths start, for the message about a missing file. */
  cwd: string;
}

/** Throws ToolError naming the path, and for a missing file the nearest name beside it. */
export async function readFileBytes(path: string, limits: ReadLimits): Promise<FileBytes> {
  const found = await findFileBytes(path, limits);
  if (found) return found;
  const nearest = nearestName(path);
  throw new ToolError(
    `File does not exist: ${path} (current directory: ${limits.cwd}).${nearest ? ` Did you mean ${nearest}?` : ""}`,
  );
}

/** Null when it does not exist. */
export async function findFileBytes(path: string, { maxBytes, tooLarge }: ReadLimits): Promise<FileBytes | null> {
  try {
    const info = await stat(path);
    if (info.isDirectory()) throw new ToolError(`This is a directory, not a file: ${path}. Use LS or Glob.`);
    if (!info.isFile()) throw new ToolError(`This is a device, pipe or socket, not a regular file: ${path}.`);
    if (info.size > maxBytes) {
      throw new ToolError(`The file is too large (${formatCount(info.size)} bytes): ${path}. ${tooLarge}`);
    }
    const bytes = await readBounded(path, maxBytes);
    if (bytes === null) throw new ToolError(`The file is too large: ${path}. ${tooLarge}`);
    return { bytes, seen: { mtimeMs: info.mtimeMs, size: bytes.length, sha256: sha256(bytes) } };
  } catch (error) {
    if (systemErrorCode(error) === "ENOENT") return null;
    throw fileError(error, path);
  }
}

/** `/proc` and `/sys` have regular files of size 0 that hold something, never end, or block: hence non-blocking and
 *  counted. Null when there is more than `maxBytes`. */
async function readBounded(path: string, maxBytes: number): Promise<Uint8Array | null> {
  const file = await open(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
  try {
    const chunks: Buffer[] = [];
    let size = 0;
    for (;;) {
      const chunk = Buffer.allocUnsafe(256 * 1024);
      const { bytesRead } = await file.read(chunk, 0, chunk.length, null);
      if (bytesRead === 0) return chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks);
      size += bytesRead;
      if (size > maxBytes) return null;
      chunks.push(chunk.subarray(0, bytesRead));
    }
  } finally {
    await file.close();
  }
}

function nearestName(path: string): string | undefined {
  try {
    const name = findNearest(basename(path), readdirSync(dirname(path)));
    return name === undefined ? undefined : join(dirname(path), name);
  } catch {
    return undefined; // The directory does not exist either.
  }
}
