// Words back into shell text.

import { shellQuote } from "@/lib/text.ts";

/** Quoted where needed only; for people and for rules. */
export function quoteIfNeeded(word: string): string {
  return /^[A-Za-z0-9_@%+=:,./-]+$/.test(word) && !word.startsWith("=") ? word : shellQuote(word);
}
