// A LIKE pattern (with `ESCAPE '\'`) that finds the text anywhere, its own % and _ taken literally.

/** SQLite refuses patterns of more than 50,000 bytes. */
const MAX_CHARS = 1_000;

export function likePattern(text: string): string {
  return `%${text.slice(0, MAX_CHARS).replace(/[\\%_]/g, "\\$&")}%`;
}
