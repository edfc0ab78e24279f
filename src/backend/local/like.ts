// A LIKE pattern (with `ESCAPE '\'`) that finds the text anywhere, its own % and _ taken literally.

export function likePattern(text: string): string {
  return `%${text.replace(/[\\%_]/g, "\\$&")}%`;
}
