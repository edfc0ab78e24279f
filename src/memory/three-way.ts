// What a person needs to settle a conflict: each one described, its text with markers for an editor, and the merge made
// again with their decisions. Nothing is put beside the files in the memory: it would be read as memory.

import { LettaError } from "@/lib/errors.ts";
import type { ConflictResolver, MergeConflict, ObjectStore, Resolution } from "@/store/git/types.ts";
import { threeWayRegions } from "./compare-lines.ts";
import { mergeCount, parseText, renderText } from "./text-lines.ts";

export interface Decisions {
  /** By path. */
  files: ReadonlyMap<string, Resolution>;
  /** For every conflict that is not among the files. */
  rest?: "ours" | "theirs";
}

export interface Labels {
  ours: string;
  theirs: string;
}

/** For `mergeTrees`. */
export function resolverOf({ files, rest }: Decisions): ConflictResolver {
  return ({ path }) => files.get(path) ?? (rest ? { take: rest } : null);
}

/** Decisions that are about nothing are mistakes: the path has a typo, or the merge has moved on. Throws `not_found`. */
export function assertDecisionsMeet(conflicts: readonly MergeConflict[], { files }: Decisions): void {
  const known = new Set(conflicts.map(({ path }) => path));
  for (const path of files.keys()) {
    if (known.has(path)) continue;
    const hint = known.size > 0 ? `There are conflicts in: ${[...known].join(", ")}.` : "There are no conflicts.";
    throw new LettaError("not_found", `${path} has no conflict.`, { hint });
  }
}

/** One line about a conflict, for people and for the agent. */
export function describeConflict({ path, kind }: MergeConflict): string {
  const what: Record<MergeConflict["kind"], string> = {
    content: "both sides changed the same lines",
    both_added: "both sides added it, with different content",
    modified_deleted: "one side changed it, the other deleted it",
    file_and_directory: "it is a file on one side and a directory on the other",
    binary: "both sides changed it, and it cannot be merged by lines",
  };
  return `${path}: ${what[kind]}`;
}

/** The file with all three versions of what is disputed between git's markers; null for what has no lines to mark. */
export async function conflictText(
  objects: ObjectStore,
  { kind, base, ours, theirs }: MergeConflict,
  labels: Labels,
): Promise<Uint8Array | null> {
  if ((kind !== "content" && kind !== "both_added") || ours === null || theirs === null) return null;
  const [was, our, their] = await Promise.all(
    [base, ours, theirs].map(async (oid) => (oid === null ? undefined : parseText(await objects.readBlob(oid)))),
  );
  if (was === null || !our || !their) return null;
  const regions = threeWayRegions(was?.lines ?? [], our.lines, their.lines) ?? [
    { conflict: { base: was?.lines ?? [], ours: our.lines, theirs: their.lines } },
  ];
  const lines = regions.flatMap((region) => {
    if ("ok" in region) return region.ok;
    const { conflict } = region;
    return [
      ...[`<<<<<<< ${labels.ours}`, ...conflict.ours],
      ...["||||||| before", ...conflict.base],
      ...["=======", ...conflict.theirs, `>>>>>>> ${labels.theirs}`],
    ];
  });
  return renderText({
    lines,
    crlf: mergeCount(was?.crlf, our.crlf, their.crlf),
    bom: mergeCount(was?.bom, our.bom, their.bom),
    tail: Math.max(1, mergeCount(was?.tail, our.tail, their.tail)),
  });
}

/** The line of the first marker left in a text a person was to settle, from 1; null when all are gone. */
export function findConflictMarker(content: Uint8Array): number | null {
  const lines = Buffer.from(content).toString().split("\n");
  // A row of equals signs alone may underline a heading.
  const at = lines.findIndex((line) => /^(?:<{7}|\|{7}|>{7}) /.test(line));
  return at < 0 ? null : at + 1;
}
