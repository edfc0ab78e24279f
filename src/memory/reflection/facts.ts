// What the trigger has to know about a conversation, read from the backend as far as it matters and no further.

import type { Backend, ConversationRef } from "@/backend/backend.ts";
import type { MessageType } from "@/backend/wire.ts";
import { codeOf } from "@/lib/errors.ts";
import type { Cursor } from "./cursors.ts";
import { BACK_OFF_TURNS } from "./limits.ts";
import type { TriggerFacts } from "./trigger.ts";

/** Steps are counted up to `enough`. */
export async function readFacts(
  backend: Pick<Backend, "listMessages">,
  ref: ConversationRef,
  cursor: Cursor,
  enough: number,
): Promise<TriggerFacts> {
  return {
    steps: await countAfter(backend, ref, cursor.through, "assistant_message", enough),
    compacted: cursor.pendingCompaction !== null,
    failures: cursor.failures,
    turnsSinceFailure:
      cursor.failures === 0
        ? 0
        : await countAfter(backend, ref, cursor.failedAt, "user_message", BACK_OFF_TURNS.at(-1)!),
  };
}

async function countAfter(
  backend: Pick<Backend, "listMessages">,
  ref: ConversationRef,
  after: string | null,
  type: MessageType,
  limit: number,
): Promise<number> {
  const query = { order: "asc" as const, limit, types: [type] };
  try {
    return (await backend.listMessages(ref, after === null ? query : { ...query, after })).items.length;
  } catch (error) {
    // The message is gone: everything counts.
    if (after === null || codeOf(error) !== "not_found") throw error;
    return (await backend.listMessages(ref, query)).items.length;
  }
}
