// Files as the tools of a conversation see them: what was seen of each file, and writes that cannot be lost or torn.

import { realpathSync } from "node:fs";
import { readFile, stat } from "node:fs/promises";
import { errorMessage, LettaError, systemErrorCode, systemReason, ToolError } from "@/lib/errors.ts";
import { sha256 } from "@/lib/hash.ts";
import { followLinks, replaceFile } from "@/lib/replace-file.ts";
import type { ShadowChange, ShadowStore } from "@/store/shadow.ts";
import { SEEN_FILES, SHADOW_FILE_BYTES } from "./limits.ts";
import type { FileStore, SeenFile } from "./services.ts";

export function createFileStore({ shadow }: { shadow: ShadowStore | null }): FileStore {
  /** Newest last. One map for all conversations bounds memory in a resident process. */
  const seen = new Map<string, SeenFile>();
  const keyOf = (conversationId: string, path: string): string => `${conversationId}\0${realPath(path)}`;

  const markSeen: FileStore["markSeen"] = (conversationId, path, file) => {
    const key = keyOf(conversationId, path);
    seen.delete(key);
    seen.set(key, file);
    if (seen.size > SEEN_FILES) seen.delete(seen.keys().next().value!);
  };

  return {
    markSeen,
    findSeen: (conversationId, path) => seen.get(keyOf(conversationId, path)),
    write: async ({ conversationId, turnId }, path, bytes) => {
      const target = followLinks(path);
      try {
        const old = await readOld(target);
        await keep(shadow, { conversationId, turnId, path: target, before: old.bytes, after: bytes, mode: old.mode });
        await replaceFile(target, bytes);
        const now = bytes === null ? null : await stat(target);
        if (now && bytes)
          markSeen(conversationId, path, { mtimeMs: now.mtimeMs, size: now.size, sha256: sha256(bytes) });
        else seen.delete(keyOf(conversationId, path));
      } catch (error) {
        throw fileError(error, path);
      }
    },
  };
}

/** What the model reads when the system refuses a file operation. `cwd` helps with relative paths that went wrong. */
export function fileError(error: unknown, path: string, cwd?: string): unknown {
  const code = systemErrorCode(error);
  const messages: Record<string, string> = {
    ENOENT: `File does not exist: ${path}${cwd === undefined ? "" : ` (current directory: ${cwd})`}`,
    EACCES: `Permission denied: ${path}`,
    EPERM: `Operation not permitted: ${path}`,
    EISDIR: `Path is a directory, not a file: ${path}`,
    ENOTDIR: `A parent of this path is a file, not a directory: ${path}`,
    ENOSPC: `No space left on the device; ${path} was not changed.`,
    EDQUOT: `Disk quota exceeded; ${path} was not changed.`,
    EROFS: `Read-only file system: ${path}`,
    ENAMETOOLONG: `File name too long: ${path}`,
    ELOOP: `Too many symbolic links: ${path}`,
  };
  // An error without a code is a bug of ours, or already a ToolError.
  if (code === undefined || error instanceof LettaError) return error;
  return new ToolError(messages[code] ?? `${systemReason(error)} (${path})`, { cause: error });
}

/** No change without its way back. */
async function keep(shadow: ShadowStore | null, change: ShadowChange): Promise<void> {
  try {
    await shadow?.record(change);
  } catch (error) {
    throw new ToolError(
      `${change.path} was not changed: its content could not be kept for undo (${errorMessage(error)}).`,
      { cause: error },
    );
  }
}

/** The bytes that will be replaced; null for a new file and for one too large to keep. */
async function readOld(target: string): Promise<{ bytes: Uint8Array | null | "too large"; mode: number | null }> {
  try {
    const info = await stat(target);
    if (!info.isFile()) throw Object.assign(new Error("not a file"), { code: "EISDIR" });
    const mode = info.mode & 0o7777;
    return { bytes: info.size > SHADOW_FILE_BYTES ? "too large" : await readFile(target), mode };
  } catch (error) {
    if (systemErrorCode(error) === "ENOENT") return { bytes: null, mode: null };
    throw error;
  }
}

function realPath(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path; // Not there (any more); the lexical path is as good a key as any.
  }
}
