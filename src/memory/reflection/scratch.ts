// Which files of a dream are memory, and which are what a worker leaves lying about.

import { MAX_DREAM_FILE_BYTES } from "./limits.ts";

/** Why the file is not kept; null when it is. `path` is relative, with `/`. */
export function scratchReason(path: string, bytes: number): string | null {
  const segments = path.split("/");
  if (segments.some((segment) => SCRATCH_NAME.test(segment))) return "scratch by its name";
  if (bytes > MAX_DREAM_FILE_BYTES) return `${(bytes / 1024 / 1024).toFixed(1)} MB is too large for a memory`;
  if (/\.md$/i.test(path) || ASSETS.test(path)) return null;
  return "neither Markdown nor part of skills/ or assets/";
}

/** `.tmp/`, editors' and systems' leftovers. */
const SCRATCH_NAME = /^(?:\.tmp|tmp|\.DS_Store|Thumbs\.db|.*~|.*\.(?:swp|swo|orig|rej|bak|tmp))$/i;
const ASSETS = /^(?:memory\/)?skills\/|(?:^|\/)assets\//;
