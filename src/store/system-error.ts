// The `code` Node, Bun and SQLite put on their errors (`ENOSPC`, `SQLITE_FULL`), or undefined.

export function codeOfSystemError(error: unknown): string | undefined {
  const code = error instanceof Error ? (error as { code?: unknown }).code : undefined;
  return typeof code === "string" ? code : undefined;
}
