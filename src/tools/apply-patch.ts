// Changes many files at once: everything is worked out first, then written; when a write fails, what was written before
// it is put back.

import { lstatSync } from "node:fs";
import { resolve } from "node:path";
import * as v from "valibot";
import { errorMessage, ToolError } from "@/lib/errors.ts";
import { removeDirectories } from "@/lib/held-directory.ts";
import { plural } from "@/lib/text.ts";
import { fileKey, type Place } from "@/permissions/places.ts";
import type { PermissionTarget } from "@/permissions/types.ts";
import description from "./apply-patch.md" with { type: "text" };
import { defineTool, type FileDiff, type ToolContext, type ToolResult } from "./define-tool.ts";
import { diffFile } from "./diff.ts";
import { SHADOW_FILE_BYTES } from "./limits.ts";
import { type PatchOperation, parsePatch } from "./patch-parse.ts";
import { addedBytes, planUpdate } from "./patch-plan.ts";
import { displayPath, placeOf } from "./paths.ts";
import { type FileBytes, findFileBytes } from "./read-bytes.ts";

export const applyPatchTool = defineTool({
  name: "ApplyPatch",
  toolsets: { codex: "ApplyPatch", codex_snake: "apply_patch" },
  description,
  args: v.strictObject({ input: v.pipe(v.string(), v.description("The whole patch")) }),
  targets: ({ input }, { cwd }) => parsePatch(input).flatMap((operation) => targetsOf(operation, cwd)),
  resource: ({ input }, { cwd }) => {
    const paths = parsePatch(input).flatMap((operation) => pathsOf(operation, cwd));
    return paths.length === 1 ? { kind: "write", path: paths[0]! } : { kind: "barrier" };
  },
  title: ({ input }, cwd) => {
    const [first, ...rest] = parsePatch(input).map(({ path }) => displayPath(path, cwd));
    return rest.length === 0 ? first! : `${first} and ${rest.length} more`;
  },
  preview: async ({ input }, context) => {
    const changes = await planPatch(input, context);
    // From here on the files must stay as they are, or what was approved would not be what is applied.
    for (const change of changes) change.approve();
    return diffsOf(changes);
  },
  run: async ({ input }, context) => {
    const changes = await planPatch(input, context);
    context.signal.throwIfAborted();
    await writeAll(changes, context);
    return describe(changes, context.cwd);
  },
});

/** One file's way from old to new. */
interface FileChange {
  place: Place;
  before: Pick<FileBytes, "bytes" | "mode"> | null;
  /** Null: it will be gone. */
  after: Uint8Array | null;
  /** Permission bits of the file it comes from, when it is moved. */
  mode?: number;
  /** `A src/a.ts`; undefined for the source of a move. */
  label?: string;
  approve(): void;
}

type PlanContext = Pick<ToolContext, "cwd" | "services" | "conversationId" | "realPaths">;

/** No `~` and no variables: `$id.tsx` is a file name. */
function patchPath(path: string, cwd: string): string {
  return resolve(cwd, path);
}

function pathsOf(operation: PatchOperation, cwd: string): string[] {
  const moved = operation.kind === "update" && operation.moveTo !== null ? [operation.moveTo] : [];
  return [operation.path, ...moved].map((path) => patchPath(path, cwd));
}

/** Deleting and moving away is editing, a new place is writing. */
function targetsOf(operation: PatchOperation, cwd: string): PermissionTarget[] {
  const [path, moved] = pathsOf(operation, cwd);
  const target: PermissionTarget = { kind: "file", family: operation.kind === "add" ? "Write" : "Edit", path: path! };
  return moved === undefined ? [target] : [target, { kind: "file", family: "Write", path: moved }];
}

/** Every change, or a ToolError; nothing is written. */
async function planPatch(input: string, context: PlanContext): Promise<FileChange[]> {
  const operations = parsePatch(input);
  refuseRepeatedPaths(operations, context);
  const changes: FileChange[] = [];
  for (const operation of operations) changes.push(...(await planOperation(operation, context)));
  return changes;
}

/** Each operation sees the files as they are now, so two of them on one file would not see each other. */
function refuseRepeatedPaths(operations: PatchOperation[], context: PlanContext): void {
  const seen = new Set<string>();
  for (const path of operations.flatMap((operation) => pathsOf(operation, context.cwd))) {
    const key = fileKey(placeOf(path, context).real);
    if (seen.has(key)) throw new ToolError(`The patch names ${path} twice. Put all changes of a file into one update.`);
    seen.add(key);
  }
}

async function planOperation(operation: PatchOperation, context: PlanContext): Promise<FileChange[]> {
  const [place, moved] = pathsOf(operation, context.cwd).map((path) => placeOf(path, context)) as [Place, Place?];
  if (operation.kind === "add") {
    return [await planCreation(place, addedBytes(operation.lines), `A ${operation.path}`, context)];
  }
  const { before, approve } = await readForPatch(place, context);
  if (operation.kind === "delete") {
    if (lstatSync(place.lexical, { throwIfNoEntry: false })?.isSymbolicLink())
      throw new ToolError(`${place.lexical} is a symbolic link; a patch deletes files only. Remove it with the shell.`);
    return [{ place, before, after: null, label: `D ${operation.path}`, approve }];
  }
  const after = planUpdate(place.lexical, before.bytes, operation.hunks);
  if (moved === undefined) return [{ place, before, after, label: `M ${operation.path}`, approve }];
  const creation = await planCreation(moved, after, `M ${operation.moveTo}`, context);
  return [
    { ...creation, mode: before.mode },
    { place, before, after: null, approve },
  ];
}

async function planCreation(place: Place, after: Uint8Array, label: string, { cwd }: PlanContext): Promise<FileChange> {
  if (await findFileBytes(place, limits(cwd)))
    throw new ToolError(
      `The file exists already, so the patch cannot create it: ${place.lexical}. Nothing was changed.`,
    );
  return { place, before: null, after, label, approve: () => {} };
}

/** Refuses, once, a file that changed since this conversation last saw it: the patch may be made for older lines. The
 *  lines are evidence themselves, so a second attempt goes by them alone. */
async function readForPatch(
  place: Place,
  { cwd, services, conversationId }: PlanContext,
): Promise<{ before: FileBytes; approve(): void }> {
  const { lexical } = place;
  const before = await findFileBytes(place, limits(cwd));
  if (!before) throw new ToolError(`File does not exist: ${lexical} (current directory: ${cwd}). Nothing was changed.`);
  const approve = (): void => services.files.markSeen(conversationId, place, before.seen);
  const seen = services.files.findSeen(conversationId, place);
  if (seen && seen.sha256 !== before.seen.sha256) {
    approve();
    throw new ToolError(
      `The file has changed on disk since you last saw it: ${lexical}. Look at it again first. Nothing was changed.`,
    );
  }
  return { before, approve };
}

function limits(cwd: string) {
  return { maxBytes: SHADOW_FILE_BYTES, tooLarge: "Change it with the shell.", cwd };
}

/** What was begun, and the directories it made. */
interface Begun {
  change: FileChange;
  made: string[];
}

/** Deletions last: they are what cannot be half undone. */
async function writeAll(changes: FileChange[], context: ToolContext): Promise<void> {
  const { files } = context.services;
  const ordered = [...changes].sort((a, b) => Number(a.after === null) - Number(b.after === null));
  const done: Begun[] = [];
  for (const change of ordered) {
    const begun: Begun = { change, made: [] };
    try {
      // Also what fails may have begun.
      done.push(begun);
      begun.made = await files.write(context, change.place, { bytes: change.after, mode: change.mode });
    } catch (error) {
      const left = await rollBack(done, context);
      const rest = left.length === 0 ? "Nothing was changed." : `These could not be put back: ${left.join(", ")}.`;
      throw new ToolError(`${errorMessage(error)}\nThe patch was not applied. ${rest}`, { cause: error });
    }
  }
}

/** Returns the files that are not as they were. */
async function rollBack(done: Begun[], context: ToolContext): Promise<string[]> {
  const left: string[] = [];
  // What failed is looked at last: it may be below a file that is about to go.
  const [failed, ...finished] = done.toReversed();
  for (const { change, made } of [...finished, failed!]) {
    const { place, before } = change;
    try {
      const now = await findFileBytes(place, limits(context.cwd));
      if (!isSame(now?.bytes ?? null, before?.bytes ?? null))
        await context.services.files.write(context, place, { bytes: before?.bytes ?? null, mode: before?.mode });
      removeDirectories(made);
    } catch (error) {
      left.push(`${place.lexical} (${errorMessage(error)})`);
    }
  }
  return left;
}

function isSame(a: Uint8Array | null, b: Uint8Array | null): boolean {
  return a === null || b === null ? a === b : Buffer.compare(a, b) === 0;
}

function diffsOf(changes: FileChange[]): Promise<FileDiff[]> {
  return Promise.all(changes.map(({ place, before, after }) => diffFile(place.lexical, before?.bytes ?? null, after)));
}

async function describe(changes: FileChange[], cwd: string): Promise<ToolResult> {
  const diff = await diffsOf(changes);
  const labels = changes.flatMap(({ label }) => label ?? []);
  const added = diff.reduce((sum, file) => sum + file.added, 0);
  const removed = diff.reduce((sum, file) => sum + file.removed, 0);
  const what = labels.length === 1 ? displayPath(changes[0]!.place.lexical, cwd) : plural(labels.length, "file");
  return {
    status: "success",
    output: `Success. Updated the following files:\n${labels.join("\n")}`,
    summary: `${what} +${added} -${removed}`,
    diff,
  };
}
