// Durable states of tool calls (DESIGN §3.3), kept on this machine whatever the backend, because this machine runs
// them. After a crash: `done` results are sent as they are, `running` becomes an error whose outcome is unknown,
// `requested` and `approved` were never started. Nothing is executed twice.

import type { ApprovalItem } from "@/backend/wire.ts";

export type CallState = "requested" | "approved" | "denied" | "running" | "done";

export interface JournalCall {
  conversationKey: string;
  turnId: string;
  toolCallId: string;
  tool: string;
  argumentsText: string;
  state: CallState;
  /** What goes to the model; set in `denied` and `done`. */
  result: ApprovalItem | null;
  updatedAt: string;
}

export interface Journal {
  /** Before anything is asked or executed. Idempotent per call id and turn. */
  record(calls: Pick<JournalCall, "conversationKey" | "turnId" | "toolCallId" | "tool" | "argumentsText">[]): void;
  setState(conversationKey: string, toolCallId: string, state: CallState, result?: ApprovalItem): void;
  /** Calls whose results were not handed to the backend yet, in call order. */
  openCalls(conversationKey: string): JournalCall[];
  /** The backend has the results: the calls are settled. */
  settle(conversationKey: string, toolCallIds: string[]): void;
}
