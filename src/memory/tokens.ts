// What the always-present part of a memory costs, estimated: a quarter of the UTF-8 bytes of each file under `system/`.

import { isMarkdown, isSystemPath } from "./places.ts";

export interface MemoryTokens {
  total_tokens: number;
  /** Largest first. */
  files: { path: string; tokens: number }[];
}

export function countTokens(files: Iterable<{ path: string; bytes: number }>): MemoryTokens {
  const counted = [...files]
    .filter(({ path }) => isMarkdown(path) && isSystemPath(path))
    .map(({ path, bytes }) => ({ path, tokens: Math.ceil(bytes / 4) }))
    .sort((a, b) => b.tokens - a.tokens || (a.path < b.path ? -1 : 1));
  return { total_tokens: counted.reduce((sum, { tokens }) => sum + tokens, 0), files: counted };
}
