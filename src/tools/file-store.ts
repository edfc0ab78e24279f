// Files as the tools of a conversation see them: what was seen of each file, and writes that cannot be lost or torn.

import { errorMessage, LettaError, systemErrorCode, systemReason, ToolError } from "@/lib/errors.ts";
import { sha256 } from "@/lib/hash.ts";
import { type HeldDirectory, openRegular, statIn } from "@/lib/held-directory.ts";
import { replaceFile } from "@/lib/replace-file.ts";
import { fileKey } from "@/permissions/places.ts";
import type { ShadowChange, ShadowStore } from "@/store/shadow.ts";
import { SEEN_FILES, SHADOW_FILE_BYTES } from "./limits.ts";
import type { FileStore, SeenFile } from "./services.ts";

export function createFileStore({ shadow }: { shadow: ShadowStore | null }): FileStore {
  /** Newest last. One map for all conversations bounds memory in a resident process. */
  const seen = new Map<string, SeenFile>();
  const keyOf = (conversationId: string, real: string): string => `${conversationId}\0${fileKey(real)}`;

  const markSeen: FileStore["markSeen"] = (conversationId, { real }, file) => {
    const key = keyOf(conversationId, real);
    seen.delete(key);
    seen.set(key, file);
    if (seen.size > SEEN_FILES) seen.delete(seen.keys().next().value!);
  };

  return {
    markSeen,
    findSeen: (conversationId, { real }) => seen.get(keyOf(conversationId, real)),
    write: async ({ conversationId, turnId }, place, { bytes, mode }) => {
      try {
        const { made, stat } = await replaceFile(place.real, { bytes, mode }, async (folder, name) => {
          const old = await readOld(folder, name);
          const change = { conversationId, turnId, path: place.real, after: bytes };
          await keep(shadow, { ...change, before: old.bytes, mode: old.mode });
        });
        if (stat && bytes)
          markSeen(conversationId, place, { mtimeMs: stat.mtimeMs, size: stat.size, sha256: sha256(bytes) });
        else seen.delete(keyOf(conversationId, place.real));
        return made;
      } catch (error) {
        throw fileError(error, place.lexical);
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
    ENOTREG: `This is a device, pipe or socket, not a regular file: ${path}.`,
    EPATHCHANGED: `The path changed while it was used: ${path} leads to another place than the one that was decided about. It was not touched.`,
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
async function readOld(
  folder: HeldDirectory,
  name: string,
): Promise<{ bytes: Uint8Array | null | "too large"; mode: number | null }> {
  if (statIn(folder, name) === null) return { bytes: null, mode: null };
  const {
    file,
    info: { size, mode },
  } = await openRegular(folder, name);
  try {
    return { bytes: size > SHADOW_FILE_BYTES ? "too large" : await file.readFile(), mode: mode & 0o7777 };
  } finally {
    await file.close();
  }
}
