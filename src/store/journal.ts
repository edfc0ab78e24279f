// Durable states of tool calls (DESIGN §3.3), kept on this machine whatever the backend, because this machine runs
// them. After a crash: `done` results are sent as they are, `running` becomes an error whose outcome is unknown,
// `requested` and `approved` were never started. Nothing is executed twice.

import type { Database } from "bun:sqlite";
import type { Fence } from "@/backend/backend.ts";
import type { ApprovalItem } from "@/backend/wire.ts";
import { durable, reading, relaxed } from "./db.ts";
import { assertFence } from "./leases.ts";

export type CallState = "requested" | "approved" | "denied" | "running" | "done";

/** What a call gives the model beside its result: whole, as a message behind the results of the batch. */
export interface FollowUp {
  /** For people, one line. */
  label: string;
  /** For the model. */
  text: string;
  /** Permission rules in force until the turn ends. */
  allow: string[];
}

export interface JournalCall {
  conversationKey: string;
  turnId: string;
  toolCallId: string;
  tool: string;
  argumentsText: string;
  state: CallState;
  /** What goes to the model; set in `denied` and `done`. */
  result: ApprovalItem | null;
  /** Goes with the result. */
  followUp: FollowUp | null;
  updatedAt: string;
}

export interface Journal {
  /** Before anything is asked or executed. Idempotent per call id and turn. */
  record(calls: Pick<JournalCall, "conversationKey" | "turnId" | "toolCallId" | "tool" | "argumentsText">[]): void;
  setState(conversationKey: string, toolCallId: string, state: CallState, outcome?: CallOutcome): void;
  /** Calls whose results were not handed to the backend yet, in call order. */
  openCalls(conversationKey: string): JournalCall[];
  /** The backend has the results: the calls are settled. */
  settle(conversationKey: string, toolCallIds: string[]): void;
  /** The same journal for a turn: each write throws `lease_lost`, and changes nothing, once the fence is not the current
   *  one. Somebody who was stopped and lost the conversation meanwhile thus starts no tool any more. */
  under(fence: Fence): Journal;
}

export interface CallOutcome {
  result: ApprovalItem;
  followUp?: FollowUp | null;
}

/** Only `running` is synced to the disk before it counts: losing it to a power cut would run the tool again. Losing any
 *  other state leaves the one before, which says "not started" or "outcome unknown" and is true enough. A killed process
 *  loses none of them. */
export function createJournal(db: Database, now: () => number = Date.now): Journal {
  return journalUnder(db, now, null);
}

function journalUnder(db: Database, now: () => number, fence: Fence | null): Journal {
  const isoNow = (): string => new Date(now()).toISOString();
  const fenced = <T>(commit: typeof durable, work: () => T): T =>
    commit(db, () => {
      if (fence) assertFence(db, fence);
      return work();
    });
  return {
    under: (current) => journalUnder(db, now, current),
    record(calls) {
      fenced(relaxed, () => {
        const insert = db.query(
          `INSERT INTO journal_calls
             (conversation_key, turn_id, tool_call_id, tool, arguments_text, state, result, settled, updated_at)
           SELECT ?1, ?2, ?3, ?4, ?5, 'requested', NULL, 0, ?6
           WHERE NOT EXISTS (
             SELECT 1 FROM journal_calls
             WHERE conversation_key = ?1 AND tool_call_id = ?3 AND (turn_id = ?2 OR settled = 0))`,
        );
        const at = isoNow();
        for (const call of calls) {
          insert.run(call.conversationKey, call.turnId, call.toolCallId, call.tool, call.argumentsText, at);
        }
      });
    },
    setState(conversationKey, toolCallId, state, outcome) {
      fenced(state === "running" ? durable : relaxed, () =>
        db
          .query(
            `UPDATE journal_calls
             SET state = ?, result = coalesce(?, result), follow_up = coalesce(?, follow_up), updated_at = ?
             WHERE conversation_key = ? AND tool_call_id = ? AND settled = 0`,
          )
          .run(
            state,
            outcome ? JSON.stringify(outcome.result) : null,
            outcome?.followUp ? JSON.stringify(outcome.followUp) : null,
            isoNow(),
            conversationKey,
            toolCallId,
          ),
      );
    },
    openCalls(conversationKey) {
      const rows = reading(db, () =>
        db
          .query("SELECT * FROM journal_calls WHERE conversation_key = ? AND settled = 0 ORDER BY seq")
          .all(conversationKey),
      );
      return (rows as JournalRow[]).map(toCall);
    },
    settle(conversationKey, toolCallIds) {
      fenced(relaxed, () => {
        const settle = db.query(
          `UPDATE journal_calls SET settled = 1, result = NULL, follow_up = NULL, arguments_text = ''
           WHERE conversation_key = ? AND tool_call_id = ? AND settled = 0`,
        );
        for (const id of toolCallIds) settle.run(conversationKey, id);
      });
    },
  };
}

interface JournalRow {
  conversation_key: string;
  turn_id: string;
  tool_call_id: string;
  tool: string;
  arguments_text: string;
  state: CallState;
  result: string | null;
  follow_up: string | null;
  updated_at: string;
}

function toCall(row: JournalRow): JournalCall {
  return {
    conversationKey: row.conversation_key,
    turnId: row.turn_id,
    toolCallId: row.tool_call_id,
    tool: row.tool,
    argumentsText: row.arguments_text,
    state: row.state,
    result: row.result === null ? null : (JSON.parse(row.result) as ApprovalItem),
    followUp: row.follow_up === null ? null : (JSON.parse(row.follow_up) as FollowUp),
    updatedAt: row.updated_at,
  };
}
