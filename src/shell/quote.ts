// Words back into shell text that every shell reads as exactly these words.

export function quoteWord(word: string): string {
  return `'${word.replaceAll("'", "'\\''")}'`;
}

/** Single quotes where they are needed only; for people and for rules. */
export function quoteIfNeeded(word: string): string {
  return /^[A-Za-z0-9_@%+=:,./-]+$/.test(word) && !word.startsWith("=") ? word : quoteWord(word);
}
