// Ending the active run of a conversation, whichever process runs it, and answering calls nobody will answer any more.

import type { ConversationRef } from "@/backend/backend.ts";
import { INTERRUPTED } from "@/backend/content.ts";
import { wait } from "@/lib/abort.ts";
import { durable } from "@/store/db.ts";
import type { LocalContext } from "./context.ts";
import { getConversationRow } from "./conversations.ts";
import { settlePending } from "./input.ts";
import { listActiveRuns, recoverDeadRuns } from "./runs.ts";

/** How long to wait for another process to end its run after it was told to. */
const WAIT_MS = 1_000;
const POLL_MS = 10;

export async function cancelConversation(context: LocalContext, ref: ConversationRef): Promise<void> {
  const { key } = getConversationRow(context, ref);
  recoverDeadRuns(context);
  const runs = durable(context.db, () => {
    const active = listActiveRuns(context, key);
    for (const run of active) context.db.query("UPDATE runs SET cancel_requested = 1 WHERE id = ?").run(run.id);
    if (active.length === 0) settlePending(context, key, INTERRUPTED);
    return active;
  });
  for (const run of runs) context.activeRuns.get(run.id)?.abort();
  const isElsewhere = runs.some((run) => !context.activeRuns.has(run.id));
  const until = performance.now() + WAIT_MS;
  while (isElsewhere && performance.now() < until && listActiveRuns(context, key).length > 0) await wait(POLL_MS);
}
