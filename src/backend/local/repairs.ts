// What `letta doctor` cannot do without knowing what the rows of the local backend mean.

import type { Database } from "bun:sqlite";
import type { ModelMessage } from "@/backend/model.ts";
import type { BackendRepairs } from "@/store/doctor.ts";
import { offlineContext } from "./context.ts";
import type { MessageMeta } from "./messages.ts";
import { recoverDeadRuns } from "./runs.ts";
import { searchableText } from "./search-text.ts";

export function backendRepairs(now: () => number): BackendRepairs {
  return { recoverRuns: (db) => recoverDeadRuns(offlineContext(db, now)), restoreTexts };
}

/** Gives messages their search text again, after a repair that could save the messages but not the texts. */
function restoreTexts(db: Database): void {
  const rows = db
    .query(
      `SELECT seq, conversation_key AS key, body, meta FROM messages
       WHERE seq NOT IN (SELECT seq FROM message_texts) ORDER BY seq`,
    )
    .all() as { seq: number; key: string; body: string; meta: string }[];
  const insert = db.query(
    "INSERT INTO message_texts (seq, conversation_key, role, text, indexed) VALUES (?, ?, ?, ?, 0)",
  );
  for (const { seq, key, body, meta } of rows) {
    const found = textOf(body, meta);
    if (found) insert.run(seq, key, found.role, found.text);
  }
}

function textOf(body: string, meta: string): ReturnType<typeof searchableText> {
  try {
    return searchableText(JSON.parse(body) as ModelMessage, JSON.parse(meta) as MessageMeta);
  } catch {
    return null; // parts of the message were overwritten: it has no text to find
  }
}
