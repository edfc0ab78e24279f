// How far dreams have read, per conversation. Moving a cursor says from where: a dream that was planned before another
// one ended moves nothing back and counts nothing twice.

import type { Database } from "bun:sqlite";
import type { ConversationRef } from "@/backend/backend.ts";
import { durable, reading, relaxed } from "@/store/db.ts";

export interface Cursor {
  /** The last message a dream has seen; null: none was. */
  through: string | null;
  /** Message id of a compaction no dream has followed yet. */
  pendingCompaction: string | null;
  /** Dreams that failed since the last one that did not. */
  failures: number;
  /** The newest message when the last of them failed. */
  failedAt: string | null;
  startedAt: string | null;
  succeededAt: string | null;
}

/** One conversation's part of a dream. */
export interface CursorMove extends ConversationRef {
  from: string | null;
  to: string;
  /** The last message there was when the dream was planned; after a failure turns are counted from it. */
  newest: string;
  /** As it stood when the dream was planned. */
  compaction: string | null;
}

export interface Cursors {
  find(ref: ConversationRef): Cursor;
  /** False: another dream was there first, and nothing is moved. Doing it again changes nothing. */
  advance(move: CursorMove): boolean;
  started(ref: ConversationRef): void;
  failed(ref: ConversationRef, newestMessageId: string | null): void;
  /** Null forgets it. */
  setCompaction(ref: ConversationRef, messageId: string | null): void;
}

const NOTHING: Cursor = {
  through: null,
  pendingCompaction: null,
  failures: 0,
  failedAt: null,
  startedAt: null,
  succeededAt: null,
};

interface Row {
  through_message_id: string | null;
  pending_compaction: string | null;
  failures: number;
  failed_at_message_id: string | null;
  started_at: string | null;
  succeeded_at: string | null;
}

export function createCursors(db: Database, now: () => number = Date.now): Cursors {
  const isoNow = (): string => new Date(now()).toISOString();
  const find = ({ agentId, conversationId }: ConversationRef): Cursor => {
    const row = db
      .query("SELECT * FROM reflection_cursors WHERE agent_id = ? AND conversation_id = ?")
      .get(agentId, conversationId) as Row | null;
    if (!row) return NOTHING;
    return {
      through: row.through_message_id,
      pendingCompaction: row.pending_compaction,
      failures: row.failures,
      failedAt: row.failed_at_message_id,
      startedAt: row.started_at,
      succeededAt: row.succeeded_at,
    };
  };
  const save = ({ agentId, conversationId }: ConversationRef, cursor: Cursor): void => {
    db.query("INSERT OR REPLACE INTO reflection_cursors VALUES (?, ?, ?, ?, ?, ?, ?, ?)").run(
      agentId,
      conversationId,
      cursor.through,
      cursor.pendingCompaction,
      cursor.failures,
      cursor.failedAt,
      cursor.startedAt,
      cursor.succeededAt,
    );
  };
  const change = (ref: ConversationRef, patch: (cursor: Cursor) => Partial<Cursor>): void =>
    relaxed(db, () => {
      const cursor = find(ref);
      save(ref, { ...cursor, ...patch(cursor) });
    });

  return {
    find: (ref) => reading(db, () => find(ref)),
    advance: (move) =>
      durable(db, () => {
        const cursor = find(move);
        if (cursor.through !== move.from) return false;
        const pendingCompaction = cursor.pendingCompaction === move.compaction ? null : cursor.pendingCompaction;
        save(move, {
          ...cursor,
          through: move.to,
          pendingCompaction,
          failures: 0,
          failedAt: null,
          succeededAt: isoNow(),
        });
        return true;
      }),
    started: (ref) => change(ref, () => ({ startedAt: isoNow() })),
    failed: (ref, newestMessageId) =>
      change(ref, ({ failures }) => ({ failures: failures + 1, failedAt: newestMessageId })),
    setCompaction: (ref, messageId) => change(ref, () => ({ pendingCompaction: messageId })),
  };
}
