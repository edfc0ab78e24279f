// What integrity_check does not know: whether the rows of the database agree with each other. The connection is
// read-only; repairs open their own.

import type { Database } from "bun:sqlite";
import type { ModelMessage } from "@/backend/model.ts";
import { openDatabase } from "./db.ts";
import type { BackendRepairs, Finding } from "./doctor.ts";
import { currentOwner, isOwnerAlive } from "./owner.ts";

export interface TableOptions {
  /** Of the database. */
  file: string;
  backend: BackendRepairs;
  now(): number;
}

export function checkTables(db: Database, { file, backend, now }: TableOptions): Finding[] {
  return [
    checkReferences(db, file),
    checkContent(db, file),
    checkWindows(db),
    checkSearchIndex(db, file),
    checkLeases(db, file, now),
    checkRuns(db, { file, backend, now }),
    checkJournal(db),
  ];
}

function checkReferences(db: Database, file: string): Finding {
  const id = "database.references";
  const broken = db.query("PRAGMA foreign_key_check").all() as {
    table: string;
    rowid: number | null;
    parent: string;
  }[];
  if (broken.length === 0) return { id, status: "ok", text: "no row refers to something that is gone" };
  const tables = [...new Set(broken.map((row) => `${row.table} → ${row.parent}`))].join(", ");
  return {
    id,
    status: "problem",
    text: `${broken.length} rows refer to something that is gone (${tables})`,
    hint: "`letta doctor --fix` removes them after a backup.",
    repair: {
      description: "Remove the rows that refer to nothing",
      database: true,
      run: () => withDatabase(file, removeDangling),
    },
  };
}

/** Rows go until nothing dangles: removing one may leave its own dependants. */
export function removeDangling(db: Database): string {
  let removed = 0;
  for (;;) {
    const broken = db.query("PRAGMA foreign_key_check").all() as { table: string; rowid: number | null }[];
    const rows = broken.filter((row) => row.rowid !== null);
    // Tables without rowid do not say which row it is; their rows go by the key they share with what is gone.
    const whole = new Set(broken.filter((row) => row.rowid === null).map((row) => row.table));
    if (broken.length === 0) return `Removed ${removed} rows`;
    const before = removed;
    for (const { table, rowid } of rows) {
      removed += db.query(`DELETE FROM "${table}" WHERE rowid = ?`).run(rowid).changes;
    }
    for (const table of whole) removed += removeByParent(db, table);
    if (removed === before) return `Removed ${removed} rows; ${broken.length} could not be told apart`;
  }
}

function removeByParent(db: Database, table: string): number {
  const keys = db.query(`PRAGMA foreign_key_list("${table}")`).all() as { table: string; from: string; to: string }[];
  return keys.reduce(
    (sum, key) =>
      sum +
      db.query(`DELETE FROM "${table}" WHERE "${key.from}" NOT IN (SELECT "${key.to}" FROM "${key.table}")`).run()
        .changes,
    0,
  );
}

const BROKEN_MESSAGES = "FROM messages WHERE NOT json_valid(body) OR NOT json_valid(meta)";

/** Bytes that changed inside of a value break no page: only reading the value shows it. */
function checkContent(db: Database, file: string): Finding {
  const id = "database.content";
  const broken = count(db, `SELECT count(*) ${BROKEN_MESSAGES}`);
  if (broken === 0) return { id, status: "ok", text: "every stored message can be read" };
  return {
    id,
    status: "problem",
    text: `${broken} messages cannot be read: their content was overwritten`,
    hint: "`letta doctor --fix` puts a note in their place after a backup; their conversations open again.",
    repair: {
      description: "Put a note in the place of messages that cannot be read",
      database: true,
      run: () => withDatabase(file, replaceBroken),
    },
  };
}

/** A result without its text is dropped instead: the model is told that the call has no result. */
export function replaceBroken(db: Database): string {
  const rows = db.query(`SELECT seq, role, created_at AS at ${BROKEN_MESSAGES}`).all() as {
    seq: number;
    role: string;
    at: string;
  }[];
  const replace = db.query("UPDATE messages SET body = ?, meta = '{}' WHERE seq = ?");
  for (const { seq, role, at } of rows) {
    const body = placeholder(role, Date.parse(at) || 0);
    if (body) replace.run(JSON.stringify(body), seq);
    else db.query("DELETE FROM messages WHERE seq = ?").run(seq);
  }
  return `Replaced ${rows.length} messages`;
}

function placeholder(role: string, timestamp: number): ModelMessage | null {
  const text = "[This message was damaged on disk.]";
  if (role === "user") return { role, content: text, timestamp };
  if (role !== "assistant") return null;
  const usage = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, totalTokens: 0 };
  return {
    role,
    content: [{ type: "text", text }],
    api: "",
    provider: "",
    model: "",
    usage,
    stopReason: "stop",
    timestamp,
  };
}

function checkWindows(db: Database): Finding {
  const id = "database.windows";
  const lost = count(
    db,
    `SELECT count(*) FROM windows w WHERE undone = 0 AND (
       (summary_seq IS NOT NULL AND NOT EXISTS (SELECT 1 FROM messages m WHERE m.seq = w.summary_seq))
       OR EXISTS (SELECT 1 FROM window_overrides o WHERE o.window_id = w.id
                  AND NOT EXISTS (SELECT 1 FROM messages m WHERE m.seq = o.seq)))`,
  );
  if (lost === 0) return { id, status: "ok", text: "every conversation's window points to messages that exist" };
  return {
    id,
    status: "problem",
    text: `${lost} compacted windows point to messages that are gone`,
    hint: "Take the compaction of the conversation back with /compact undo, or fork it.",
  };
}

/** The index's own structure is part of integrity_check; here only whether it holds what it should. */
function checkSearchIndex(db: Database, file: string): Finding {
  const id = "database.search";
  const expected = count(db, "SELECT count(*) FROM message_texts WHERE indexed = 1");
  const indexed = count(db, "SELECT count(*) FROM messages_fts_docsize");
  if (expected === indexed)
    return { id, status: "ok", text: `the search index holds all ${indexed} messages given to it` };
  return {
    id,
    status: "problem",
    text: `the search index holds ${indexed} of ${expected} messages`,
    hint: "`letta doctor --fix` rebuilds it; no message is touched.",
    repair: {
      description: "Rebuild the search index",
      database: true,
      run: () => withDatabase(file, rebuildSearchIndex),
    },
  };
}

/** Empties the index and queues every text again; the next search takes them in. */
function rebuildSearchIndex(db: Database): string {
  db.run("INSERT INTO messages_fts(messages_fts) VALUES ('delete-all')");
  const { changes } = db.query("UPDATE message_texts SET indexed = 0").run();
  return `Emptied the search index; ${changes} messages are indexed again by the next search`;
}

function checkLeases(db: Database, file: string, now: () => number): Finding {
  const id = "database.leases";
  const held = db.query("SELECT * FROM leases WHERE released = 0").all() as LeaseRow[];
  const self = currentOwner();
  const stale = held.filter((row) => !isOwnerAlive(toOwner(row), row.heartbeat_at, self, now()));
  const live = held.length - stale.length;
  if (stale.length === 0) return { id, status: "ok", text: `no stale leases; ${live} conversations are in use now` };
  return {
    id,
    status: "note",
    text: `${stale.length} leases of processes that ended without saying so; the next turn takes them over`,
    repair: {
      description: "Clear the stale leases",
      database: true,
      run: () =>
        withDatabase(file, (writable) => {
          // Only the row that was judged: a process may have taken it over since.
          const clear = writable.query(
            "UPDATE leases SET released = 1 WHERE key = ? AND fence = ? AND heartbeat_at = ?",
          );
          const cleared = stale.reduce((sum, row) => sum + clear.run(row.key, row.fence, row.heartbeat_at).changes, 0);
          return `Cleared ${cleared} leases`;
        }),
    },
  };
}

interface LeaseRow {
  key: string;
  fence: number;
  pid: number;
  host: string;
  start_ticks: string;
  heartbeat_at: string;
}

function toOwner(row: LeaseRow) {
  return { pid: row.pid, host: row.host, startTicks: row.start_ticks };
}

function checkRuns(db: Database, { file, backend, now }: TableOptions): Finding {
  const id = "database.runs";
  const running = db
    .query("SELECT owner_pid, owner_host, owner_start, heartbeat_at FROM runs WHERE status = 'running'")
    .all() as { owner_pid: number; owner_host: string; owner_start: string; heartbeat_at: string }[];
  const self = currentOwner();
  const dead = running.filter((row) => {
    const owner = { pid: row.owner_pid, host: row.owner_host, startTicks: row.owner_start };
    return !isOwnerAlive(owner, row.heartbeat_at, self, now());
  });
  if (dead.length === 0)
    return { id, status: "ok", text: `no run was left behind; ${running.length} are going on now` };
  return {
    id,
    status: "note",
    text: `${dead.length} runs were cut by the end of their process; what had arrived is kept`,
    hint: "They are marked interrupted when their conversation is opened next.",
    repair: {
      description: "Mark them interrupted",
      database: true,
      run: () =>
        withDatabase(file, (writable) => {
          backend.recoverRuns(writable);
          return `Ended ${dead.length} runs; what had arrived is kept`;
        }),
    },
  };
}

function checkJournal(db: Database): Finding {
  const id = "database.journal";
  const rows = db
    .query("SELECT state, count(*) AS calls FROM journal_calls WHERE settled = 0 GROUP BY state ORDER BY state")
    .all() as { state: string; calls: number }[];
  if (rows.length === 0) return { id, status: "ok", text: "no tool call is waiting for its result to be stored" };
  const text = rows.map((row) => `${row.calls} ${row.state}`).join(", ");
  return {
    id,
    status: "note",
    text: `tool calls whose results were not handed over yet: ${text}`,
    hint: "Their conversation settles them at its next turn; nothing is run twice.",
  };
}

function withDatabase(file: string, change: (db: Database) => string): string {
  const db = openDatabase(file);
  try {
    return db.transaction(() => change(db)).immediate();
  } finally {
    db.close();
  }
}

function count(db: Database, sql: string): number {
  return Number(db.query(sql).values()[0]?.[0] ?? 0);
}
