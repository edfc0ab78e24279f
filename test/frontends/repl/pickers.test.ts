// What the pickers offer.

import { expect, test } from "bun:test";
import type { AgentState, Conversation } from "@/backend/wire.ts";
import { conversationChoice } from "@/frontends/repl/pickers.ts";

const NOW = Date.parse("2026-01-02T00:00:00.000Z");

function conversation(id: string, summary: string | null, last_message_at: string | null): Conversation {
  return { id, summary, last_message_at, created_at: "2026-01-01T00:00:00.000Z" } as Conversation;
}

test("conversations are offered by their titles; those nobody used or named are left out", async () => {
  const items = [
    conversation("c1", "Fix the tests", "2026-01-01T23:00:00.000Z"),
    conversation("c2", null, null),
    conversation("c3", "Named before use", null),
    conversation("default", null, "2026-01-01T00:00:00.000Z"),
  ];
  const backend = { listConversations: async () => ({ items, nextCursor: null }) };
  const choice = await conversationChoice(backend, { id: "a", name: "Letta" } as AgentState, NOW);
  expect(choice.items).toEqual([
    { value: "c1", label: "Fix the tests", hint: "1 h ago" },
    { value: "c3", label: "Named before use", hint: "1 d ago" },
    { value: "default", label: "main conversation", hint: "1 d ago" },
  ]);
});
