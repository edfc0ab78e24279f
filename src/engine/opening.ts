// What a turn sends first: answers for what an earlier turn left, then the user's words behind everything the harness
// has to say beside them.

import type { AgentState, ApprovalItem, InputMessage } from "@/backend/wire.ts";
import type { FollowUp, Journal } from "@/store/journal.ts";
import type { EngineDeps } from "./engine.ts";
import type { EngineEvent, TurnInput } from "./events.ts";
import { composeUserContent, INTERRUPTED_NOTE, KILLED_NOTE } from "./input.ts";
import { describeLeftover, findLeftovers, type Leftover } from "./recovery.ts";

export interface OpeningDeps extends Pick<EngineDeps, "backend" | "collectReminders" | "openRedaction"> {
  turnId: string;
  conversationKey: string;
  journal: Journal;
  emit(event: EngineEvent): Promise<void>;
  /** Shows what goes behind results and makes a message of it. */
  follow(followUps: FollowUp[]): Promise<InputMessage[]>;
}

export interface Opening {
  input: TurnInput;
  agent: AgentState;
  /** How the turn before ended here (`LAST_TURN`). */
  previous: unknown;
  /** What hooks want the model to read. */
  fromHooks: string[];
}

export async function openingMessages(opening: Opening, deps: OpeningDeps): Promise<InputMessage[]> {
  const { input, agent, previous, fromHooks } = opening;
  const leftovers = await settleLeftovers(input, previous, deps);
  const messages: InputMessage[] = leftovers.length > 0 ? [approvalInput(leftovers.map(({ item }) => item))] : [];
  messages.push(...(await deps.follow(leftovers.flatMap(({ followUp }) => followUp ?? []))));
  if (input.content === null) return messages;
  const redact = await deps.openRedaction();
  const notes = [...fromHooks, ...(input.reminders ?? []).map(redact)];
  if (previous === "running") notes.unshift(KILLED_NOTE);
  if (previous === "interrupted") notes.unshift(INTERRUPTED_NOTE);
  const { conversationId } = input;
  const reminders = await deps.collectReminders({ key: deps.conversationKey, agent, conversationId });
  const content = composeUserContent([...reminders, ...notes], input.content);
  messages.push({ type: "message", role: "user", content, otid: input.otid ?? crypto.randomUUID() });
  return messages;
}

export function approvalInput(approvals: ApprovalItem[]): InputMessage {
  return { type: "approval", approvals, otid: crypto.randomUUID() };
}

async function settleLeftovers(input: TurnInput, previous: unknown, deps: OpeningDeps): Promise<Leftover[]> {
  const leftovers = await findLeftovers(deps.backend, deps.journal, input, deps.conversationKey);
  // After an interrupt or a limit everybody knows; only what nobody saw end is news.
  const news = previous === "interrupted" || previous === "limit" ? [] : leftovers;
  for (const leftover of news) {
    const kind = leftover.kind === "never_started" ? "approval_pending" : "interrupted_tool";
    await deps.emit({ type: "recovery", turnId: deps.turnId, kind, message: describeLeftover(leftover) });
  }
  return leftovers;
}
