// What Write, Edit and MultiEdit share: look at the file, refuse to work on stale knowledge, plan, write, say what changed.

import { ToolError } from "@/lib/errors.ts";
import type { Place } from "@/permissions/places.ts";
import type { FileDiff, ToolContext, ToolResult } from "./define-tool.ts";
import { diffFile, diffSummary } from "./diff.ts";
import { SHADOW_FILE_BYTES } from "./limits.ts";
import { contextPlace } from "./paths.ts";
import { type FileBytes, findFileBytes } from "./read-bytes.ts";

export interface Change {
  after: Uint8Array;
  /** What the model reads when it was written. */
  message: string;
}

/** Works out the new bytes from the old ones (null: no such file). Throws ToolError. Must not do anything else. */
export type Plan = (path: string, before: Uint8Array | null, seen: boolean) => Change;

type PreviewContext = Pick<ToolContext, "cwd" | "services" | "conversationId" | "realPaths">;

/** `path` is the call's argument. */
export async function previewChange(path: string, plan: Plan, context: PreviewContext): Promise<FileDiff[]> {
  const { place, file, change } = await prepare(path, plan, context);
  // From here on the file must stay as it is, or what was approved would not be what is applied.
  if (file) context.services.files.markSeen(context.conversationId, place, file.seen);
  return [await diffFile(place.lexical, file?.bytes ?? null, change.after)];
}

export async function applyChange(path: string, plan: Plan, context: ToolContext): Promise<ToolResult> {
  const { place, file, change } = await prepare(path, plan, context);
  context.signal.throwIfAborted();
  await context.services.files.write(context, place, { bytes: change.after });
  const diff = await diffFile(place.lexical, file?.bytes ?? null, change.after);
  return { status: "success", output: change.message, summary: diffSummary(diff), diff: [diff] };
}

async function prepare(
  path: string,
  plan: Plan,
  context: PreviewContext,
): Promise<{ place: Place; file: FileBytes | null; change: Change }> {
  const { cwd, services, conversationId } = context;
  const place = contextPlace(path, context);
  const { lexical } = place;
  const limits = { maxBytes: SHADOW_FILE_BYTES, tooLarge: "Change it with Bash.", cwd };
  const file = await findFileBytes(place, limits);
  const seen = services.files.findSeen(conversationId, place);
  if (file && seen && seen.sha256 !== file.seen.sha256) {
    throw new ToolError(`The file has changed on disk since you last saw it: ${lexical}. Read it again first.`);
  }
  return { place, file, change: plan(lexical, file?.bytes ?? null, seen !== undefined) };
}
