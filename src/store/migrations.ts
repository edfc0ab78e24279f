// The schema, as the list of steps that led to it. A step is never edited once released: append the next one.
// `user_version` counts the steps a file has taken.

import type { Database } from "bun:sqlite";

/** "LETT": tells `file` and other programs whose database this is. */
const APPLICATION_ID = 0x4c455454;

const STEPS: string[] = [
  `
  CREATE TABLE agents (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    description TEXT,
    system TEXT NOT NULL,
    tags TEXT NOT NULL,                    -- JSON array
    model TEXT NOT NULL,
    model_settings TEXT NOT NULL,          -- JSON object
    context_window_limit INTEGER,
    compaction_settings TEXT,              -- JSON object or null
    hidden INTEGER NOT NULL,
    metadata TEXT NOT NULL,                -- JSON object
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL,
    last_run_completion TEXT
  ) STRICT;

  CREATE TABLE conversations (
    key TEXT PRIMARY KEY,                  -- conversationKey(): the id, or default:<agent id>
    id TEXT NOT NULL,
    agent_id TEXT NOT NULL REFERENCES agents(id) ON DELETE CASCADE,
    summary TEXT,
    description TEXT,
    archived_at TEXT,
    hidden INTEGER NOT NULL,
    tags TEXT NOT NULL,
    model TEXT,
    model_settings TEXT,
    context_window_limit INTEGER,
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL,
    last_message_at TEXT
  ) STRICT;
  CREATE INDEX conversations_agent ON conversations(agent_id);

  -- Append-only. seq is the order of the conversation and is never used twice.
  CREATE TABLE messages (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    conversation_key TEXT NOT NULL REFERENCES conversations(key) ON DELETE CASCADE,
    kind TEXT NOT NULL,                    -- message | summary
    role TEXT NOT NULL,                    -- user | assistant | toolResult
    interrupted INTEGER NOT NULL,
    run_id TEXT,
    otid TEXT,
    body TEXT NOT NULL,                    -- JSON ModelMessage
    meta TEXT NOT NULL,                    -- JSON MessageMeta
    created_at TEXT NOT NULL
  ) STRICT;
  CREATE INDEX messages_order ON messages(conversation_key, kind, seq, id);
  CREATE INDEX messages_all ON messages(conversation_key, seq);
  CREATE INDEX messages_run ON messages(run_id) WHERE run_id IS NOT NULL;

  -- Input items already stored: sending one again changes nothing.
  CREATE TABLE inputs (
    conversation_key TEXT NOT NULL REFERENCES conversations(key) ON DELETE CASCADE,
    otid TEXT NOT NULL,
    PRIMARY KEY (conversation_key, otid)
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE tool_calls (
    seq INTEGER PRIMARY KEY AUTOINCREMENT, -- call order
    conversation_key TEXT NOT NULL REFERENCES conversations(key) ON DELETE CASCADE,
    call_id TEXT NOT NULL,
    name TEXT NOT NULL,
    message_id TEXT NOT NULL,
    answered INTEGER NOT NULL,
    UNIQUE (conversation_key, call_id)
  ) STRICT;
  CREATE INDEX tool_calls_open ON tool_calls(conversation_key, seq) WHERE answered = 0;

  -- What the model sees: the newest row that was not undone. The window is the summary, then every message (kind
  -- message) from from_seq on, some of them replaced by a shorter body. No row: all messages.
  CREATE TABLE windows (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    conversation_key TEXT NOT NULL REFERENCES conversations(key) ON DELETE CASCADE,
    from_seq INTEGER NOT NULL,
    summary_seq INTEGER,
    after_seq INTEGER NOT NULL,            -- last message when it was made; older token counts no longer hold
    stats TEXT NOT NULL,                   -- JSON CompactionStats
    undone INTEGER NOT NULL,
    created_at TEXT NOT NULL
  ) STRICT;
  CREATE INDEX windows_current ON windows(conversation_key, id) WHERE undone = 0;
  CREATE TABLE window_overrides (
    window_id INTEGER NOT NULL REFERENCES windows(id) ON DELETE CASCADE,
    seq INTEGER NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (window_id, seq)
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE runs (
    id TEXT PRIMARY KEY,
    conversation_key TEXT NOT NULL REFERENCES conversations(key) ON DELETE CASCADE,
    agent_id TEXT,
    conversation_id TEXT NOT NULL,
    status TEXT NOT NULL,                  -- running | completed | failed | cancelled
    stop_reason TEXT,
    error TEXT,                            -- JSON
    message_id TEXT,                       -- of the reply being streamed
    cancel_requested INTEGER NOT NULL,
    fence INTEGER,
    owner_pid INTEGER NOT NULL,
    owner_host TEXT NOT NULL,
    owner_start TEXT NOT NULL,
    heartbeat_at TEXT NOT NULL,
    created_at TEXT NOT NULL,
    completed_at TEXT,
    has_chunks INTEGER NOT NULL            -- 0 once its stream was dropped
  ) STRICT;
  CREATE INDEX runs_prunable ON runs(completed_at) WHERE has_chunks = 1;
  CREATE INDEX runs_conversation ON runs(conversation_key, created_at);
  CREATE INDEX runs_active ON runs(conversation_key) WHERE status = 'running';

  -- The stream of a run. One row may hold several deltas of one message; cuts tells where each ended.
  CREATE TABLE run_chunks (
    run_id TEXT NOT NULL REFERENCES runs(id) ON DELETE CASCADE,
    last_seq INTEGER NOT NULL,
    first_seq INTEGER NOT NULL,
    body TEXT NOT NULL,                    -- JSON StreamChunk of the whole row, without seq_id
    cuts TEXT,                             -- JSON: lengths of the deltas, null for a single chunk
    PRIMARY KEY (run_id, last_seq)
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE leases (
    key TEXT PRIMARY KEY,
    fence INTEGER NOT NULL,                -- only grows; rows stay for ever
    released INTEGER NOT NULL,
    pid INTEGER NOT NULL,
    host TEXT NOT NULL,
    start_ticks TEXT NOT NULL,
    label TEXT NOT NULL,
    started_at TEXT NOT NULL,
    heartbeat_at TEXT NOT NULL
  ) STRICT;

  CREATE TABLE journal_calls (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    conversation_key TEXT NOT NULL,
    turn_id TEXT NOT NULL,
    tool_call_id TEXT NOT NULL,
    tool TEXT NOT NULL,
    arguments_text TEXT NOT NULL,
    state TEXT NOT NULL,
    result TEXT,
    settled INTEGER NOT NULL,
    updated_at TEXT NOT NULL
  ) STRICT;
  CREATE INDEX journal_call ON journal_calls(conversation_key, tool_call_id);
  CREATE INDEX journal_open ON journal_calls(conversation_key, seq) WHERE settled = 0;

  CREATE TABLE client_state (
    conversation_key TEXT NOT NULL,
    name TEXT NOT NULL,
    value TEXT NOT NULL,
    PRIMARY KEY (conversation_key, name)
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE system_prompts (
    conversation_key TEXT PRIMARY KEY REFERENCES conversations(key) ON DELETE CASCADE,
    content TEXT NOT NULL,
    source_hash TEXT NOT NULL,
    compiled_at TEXT NOT NULL
  ) STRICT;

  -- Plain text of each message, for search. Indexing costs 0.2 ms per KB, so rows wait (indexed = 0) until a search
  -- takes them into the index; until then they are scanned.
  CREATE TABLE message_texts (
    seq INTEGER PRIMARY KEY REFERENCES messages(seq) ON DELETE CASCADE,
    conversation_key TEXT NOT NULL,
    role TEXT NOT NULL,
    text TEXT NOT NULL,
    indexed INTEGER NOT NULL
  ) STRICT;
  CREATE INDEX message_texts_conversation ON message_texts(conversation_key, seq);
  CREATE INDEX message_texts_waiting ON message_texts(seq) WHERE indexed = 0;
  CREATE VIRTUAL TABLE messages_fts USING fts5(
    text, content='message_texts', content_rowid='seq', tokenize='trigram'
  );
  CREATE TRIGGER message_texts_indexed AFTER UPDATE OF indexed ON message_texts
    WHEN new.indexed = 1 AND old.indexed = 0 BEGIN
    INSERT INTO messages_fts(rowid, text) VALUES (new.seq, new.text);
  END;
  CREATE TRIGGER message_texts_deleted AFTER DELETE ON message_texts WHEN old.indexed = 1 BEGIN
    INSERT INTO messages_fts(messages_fts, rowid, text) VALUES ('delete', old.seq, old.text);
  END;
  `,
  `
  -- Which turn changed which file; the contents lie under shadow/ by hash (store/shadow.ts). Before it had a step of its
  -- own, the store made this table when it was first used.
  CREATE TABLE IF NOT EXISTS shadow_changes (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    conversation_id TEXT NOT NULL,
    turn_id TEXT NOT NULL,
    path TEXT NOT NULL,
    before_sha TEXT,
    after_sha TEXT,
    -- 0: the bytes before were too large to keep.
    kept INTEGER NOT NULL DEFAULT 1,
    mode INTEGER,
    undo_of TEXT,
    undone INTEGER NOT NULL DEFAULT 0,
    created_at TEXT NOT NULL
  );
  CREATE INDEX IF NOT EXISTS shadow_changes_turn ON shadow_changes (turn_id);
  CREATE INDEX IF NOT EXISTS shadow_changes_conversation ON shadow_changes (conversation_id, id);
  `,
  `
  -- Revision of the agent's memory that the conversation knows: its prompt was made from it, or it was told since.
  ALTER TABLE system_prompts ADD COLUMN memory_revision TEXT;
  `,
  `
  -- How far an agent's dreams have read a conversation. The text itself is not kept a second time: it is derived from the
  -- messages. No foreign key: transcripts of other programs and conversations of a server have rows here, too.
  CREATE TABLE reflection_cursors (
    agent_id TEXT NOT NULL,
    conversation_id TEXT NOT NULL,
    through_message_id TEXT,               -- null: nothing was read
    pending_compaction TEXT,               -- message id of a compaction no dream has followed yet
    failures INTEGER NOT NULL,             -- since the last success
    failed_at_message_id TEXT,             -- newest message when the last one failed
    started_at TEXT,
    succeeded_at TEXT,
    PRIMARY KEY (agent_id, conversation_id)
  ) STRICT, WITHOUT ROWID;
  `,
];

export const SCHEMA_VERSION = STEPS.length;

/** Runs inside the caller's transaction. */
export function migrate(db: Database, from: number): void {
  for (const step of STEPS.slice(from)) db.run(step);
  db.run(`PRAGMA application_id=${APPLICATION_ID}`);
  db.run(`PRAGMA user_version=${SCHEMA_VERSION}`);
}
