// Which conversations one dream looks back on, when nobody named one. Scored by what is known without reading them: what
// no dream has seen, how recent and how long they are. No model is asked.

import type { Backend, ConversationRef } from "@/backend/backend.ts";
import type { Conversation } from "@/backend/wire.ts";
import type { Cursors } from "./cursors.ts";
import { readFacts } from "./facts.ts";

export interface Candidate {
  conversationId: string;
  /** Replies no dream has seen, up to `MAX_STEPS`. */
  steps: number;
  lastMessageAt: string | null;
  isCurrent: boolean;
  isHidden: boolean;
}

const MAX_STEPS = 50;
const MAX_CANDIDATES = 40;
/** With fewer replies there is hardly anything to learn. */
const TRIVIAL_STEPS = 2;
const DAY_MS = 86_400_000;

export interface Choice {
  conversationId: string;
  score: number;
  reason: string;
}

export function scoreCandidates(candidates: readonly Candidate[], now: number): Choice[] {
  return candidates
    .filter(({ steps, isHidden }) => steps >= TRIVIAL_STEPS && !isHidden)
    .map(({ conversationId, steps, lastMessageAt, isCurrent }) => {
      const days = lastMessageAt === null ? Number.POSITIVE_INFINITY : (now - Date.parse(lastMessageAt)) / DAY_MS;
      const recency = days <= 1 ? 8 : days <= 7 ? 5 : days <= 30 ? 2 : 0;
      const score = 15 + Math.min(steps, 10) + recency + (steps >= 20 ? 4 : 1) + (isCurrent ? 8 : 0);
      const count = steps >= MAX_STEPS ? `${MAX_STEPS} or more` : String(steps);
      return {
        conversationId,
        score,
        reason: `${count} replies no reflection has seen${isCurrent ? ", current" : ""}`,
      };
    })
    .sort((a, b) => b.score - a.score || (a.conversationId < b.conversationId ? -1 : 1));
}

export async function chooseConversations(
  backend: Pick<Backend, "listConversations" | "listMessages">,
  cursors: Cursors,
  { agentId, current, count, now }: { agentId: string; current: string | null; count: number; now: number },
): Promise<Choice[]> {
  const { items } = await backend.listConversations({ agentId, limit: MAX_CANDIDATES });
  const candidates: Candidate[] = [];
  for (const conversation of items) {
    const ref: ConversationRef = { agentId, conversationId: conversation.id };
    const { steps } = await readFacts(backend, ref, cursors.find(ref), MAX_STEPS);
    candidates.push(toCandidate(conversation, steps, current));
  }
  return scoreCandidates(candidates, now).slice(0, count);
}

/** The latest conversations, whether a dream has seen them or not. */
export async function recentConversations(
  backend: Pick<Backend, "listConversations">,
  { agentId, count }: { agentId: string; count: number },
): Promise<string[]> {
  const { items } = await backend.listConversations({ agentId, limit: MAX_CANDIDATES });
  return items
    .filter(({ hidden }) => !hidden)
    .slice(0, count)
    .map(({ id }) => id);
}

function toCandidate(conversation: Conversation, steps: number, current: string | null): Candidate {
  const { id, last_message_at, hidden } = conversation;
  return { conversationId: id, steps, lastMessageAt: last_message_at, isCurrent: id === current, isHidden: hidden };
}
