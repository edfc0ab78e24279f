// The parts of conversations one dream looks back on, within its budget.

import type { Backend, ConversationRef } from "@/backend/backend.ts";
import { chooseConversations, recentConversations } from "./choose.ts";
import type { Cursors } from "./cursors.ts";
import { MAX_CONVERSATIONS, PAYLOAD_CHARS, REPLAY_TURNS } from "./limits.ts";
import { rowCost } from "./payload.ts";
import type { DreamCommand } from "./service.ts";
import { cutSlice, readReplay, readUnreflected, type Slice, selectRange } from "./transcript.ts";

export interface SliceDeps {
  backend: Pick<Backend, "listConversations" | "listMessages">;
  cursors: Cursors;
  agentId: string;
  now: number;
}

type ChosenSlice = Slice & { reason?: string };

export async function openSlices(from: DreamCommand["from"], deps: SliceDeps): Promise<ChosenSlice[]> {
  if ("external" in from) return externalSlice(from.external, deps);
  const { backend, cursors, agentId, now } = deps;
  if ("auto" in from) {
    const query = { agentId, current: from.current, count: MAX_CONVERSATIONS, now };
    const chosen = await chooseConversations(backend, cursors, query);
    return fill(chosen, { replay: false }, deps);
  }
  if ("recent" in from) {
    const ids = await recentConversations(backend, { agentId, count: Math.min(from.recent, MAX_CONVERSATIONS) });
    return fill(
      ids.map((conversationId) => ({ conversationId, reason: "recent" })),
      { replay: true },
      deps,
    );
  }
  const { conversations, reason } = from;
  const named = conversations.slice(0, MAX_CONVERSATIONS);
  const chosen = named.map((conversationId) => ({ conversationId, ...(reason && { reason }) }));
  // Who names several wants them looked at; one alone is the usual case, and nothing new in it is an answer.
  return fill(chosen, { replay: conversations.length > 1 || reason !== undefined }, deps);
}

async function fill(
  chosen: { conversationId: string; reason?: string }[],
  { replay }: { replay: boolean },
  { backend, cursors, agentId }: SliceDeps,
): Promise<ChosenSlice[]> {
  const slices: ChosenSlice[] = [];
  let budget = PAYLOAD_CHARS;
  for (const { conversationId, reason } of chosen) {
    const ref: ConversationRef = { agentId, conversationId };
    const options = { cost: rowCost, budget };
    const slice =
      (await readUnreflected(backend, ref, cursors.find(ref).through, options)) ??
      (replay ? await readReplay(backend, ref, { ...options, turns: REPLAY_TURNS }) : null);
    if (slice === null) continue;
    const used = slice.rows.reduce((total, row) => total + rowCost(row), 0);
    // The first one is always kept; what does not fit behind it waits for the next dream.
    if (slices.length > 0 && used > budget) continue;
    budget -= used;
    // What was read may end long before the conversation does.
    const [newest] = slice.more ? (await backend.listMessages(ref, { limit: 1 })).items : [];
    const newestMessageId = newest?.id ?? slice.newestMessageId;
    slices.push({ ...slice, newestMessageId, ...(reason !== undefined && { reason }) });
    if (budget <= 0) break;
  }
  return slices;
}

type External = Extract<DreamCommand["from"], { external: unknown }>["external"];

function externalSlice({ conversationId, rows }: External, { cursors, agentId }: SliceDeps): ChosenSlice[] {
  const ref = { agentId, conversationId };
  const from = cursors.find(ref).through;
  const range = selectRange(rows, from);
  if (!range) return [];
  const unseen = rows.slice(range.start, range.end);
  const slice = cutSlice(ref, unseen, { from, more: false, cost: rowCost, budget: PAYLOAD_CHARS });
  return slice ? [slice] : [];
}
