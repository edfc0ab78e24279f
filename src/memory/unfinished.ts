// What keeps a memory from being synced before anybody looks at a remote: work that somebody left half done in its folder.

import { plural } from "@/lib/text.ts";
import type { GitRepository } from "@/store/git/types.ts";

const MAX_LISTED = 10;

/** Null: all is committed. */
export async function findUnfinished(
  repo: GitRepository,
): Promise<{ status: "conflict" | "dirty"; summary: string } | null> {
  const operation = await repo.operation();
  const files = await repo.status();
  const unmerged = files.filter(({ state }) => state === "conflicted").map(({ path }) => path);
  if (operation !== null || unmerged.length > 0) {
    const what = operation === null ? "Files are unmerged" : `A ${operation} is half done`;
    const where = unmerged.length > 0 ? `: ${listed(unmerged)}` : "";
    return { status: "conflict", summary: `${what}${where}.` };
  }
  if (files.length === 0) return null;
  return { status: "dirty", summary: `${plural(files.length, "file has", "files have")} uncommitted changes.` };
}

export function listed(paths: string[]): string {
  const more = paths.length - MAX_LISTED;
  return paths.slice(0, MAX_LISTED).join(", ") + (more > 0 ? ` and ${more} more` : "");
}
