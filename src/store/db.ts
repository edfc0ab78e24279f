// Opens the one database of the local store and gives its two kinds of write transaction. Every failure of the disk or
// of the file becomes LettaError `storage`, naming the file and what to do; a file we cannot use is left as it is.
//
// Durability. A commit takes 0.2 ms on a quiet disk and 1–4 ms on a busy one with synchronous=FULL, 0.02 ms with NORMAL.
// NORMAL in WAL mode survives a killed process but may lose the last commits when the machine loses power. What somebody
// said, a reply, and the mark that a tool is running must not be lost so: they use `durable` (FULL). What may be lost
// without harm (stream chunks, leases, other call states, the search index) uses `relaxed`. A later durable commit also
// syncs everything relaxed before it. A turn with one tool makes five durable commits.

import { Database } from "bun:sqlite";
import { closeSync, fchmodSync, fstatSync, mkdirSync, openSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { errorMessage, LettaError, systemErrorCode } from "@/lib/errors.ts";
import { migrate, SCHEMA_VERSION } from "./migrations.ts";

/** How long a statement waits for another process's write transaction. Ours take milliseconds. */
const BUSY_TIMEOUT_MS = 10_000;

export function openDatabase(path: string): Database {
  let db: Database | undefined;
  try {
    if (path !== ":memory:") ensureFile(path);
    db = new Database(path, { readwrite: true, create: true });
    configure(db);
    return db;
  } catch (error) {
    db?.close();
    throw toStorageError(path, error);
  }
}

/** One write transaction that survives a power loss once it returned. Nested calls join the outer transaction. */
export function durable<T>(db: Database, work: () => T): T {
  return transact(db, work);
}

/** One write transaction that survives the death of the process, but not of the machine. */
export function relaxed<T>(db: Database, work: () => T): T {
  if (db.inTransaction) return work();
  try {
    db.run("PRAGMA synchronous=NORMAL");
    return transact(db, work);
  } finally {
    db.run("PRAGMA synchronous=FULL");
  }
}

/** Several reads of one moment: no other process's commit comes between them. */
export function reading<T>(db: Database, work: () => T): T {
  if (db.inTransaction) return work();
  return run(db, "BEGIN", work);
}

/** Names the file for what SQLite says about the disk or the file; passes everything else through, also our own bugs. */
export function storageError(file: string, error: unknown): unknown {
  const code = systemErrorCode(error);
  return code?.startsWith("SQLITE_") && !BUGS.test(code) ? toStorageError(file, error) : error;
}

const BUGS = /^SQLITE_(ERROR|CONSTRAINT|MISMATCH|MISUSE|RANGE|TOOBIG|SCHEMA)/;

function toStorageError(file: string, error: unknown): unknown {
  const code = systemErrorCode(error);
  if (error instanceof LettaError || code === undefined) return error;
  const known = PROBLEMS.find((problem) => problem.codes.test(code));
  const what = known?.what ?? `cannot be used (${code})`;
  return new LettaError("storage", `The database ${file} ${what}: ${errorMessage(error)}`, {
    cause: error,
    hint: known?.hint ?? "Run `letta doctor`.",
  });
}

const PROBLEMS: { codes: RegExp; what: string; hint: string }[] = [
  {
    // The second: no room for the index of the write-ahead log, which every process needs, also to read.
    codes: /^(SQLITE_FULL|SQLITE_IOERR_SHMSIZE|ENOSPC|EDQUOT)/,
    what: "could not be written because the disk is full",
    hint: "Free some space and try again. Everything stored before is still there.",
  },
  {
    codes: /^(SQLITE_READONLY|SQLITE_CANTOPEN|SQLITE_PERM|SQLITE_AUTH|EACCES|EPERM|EROFS)/,
    what: "cannot be opened for writing",
    hint: "Check owner and permissions of the file and its folder, or set LETTA_LOCAL_BACKEND_DIR to a writable folder.",
  },
  {
    codes: /^(SQLITE_NOTADB|SQLITE_CORRUPT|SQLITE_FORMAT)/,
    what: "is damaged or is not a database",
    hint: "It was left as it is. Run `letta doctor`, or move the file away to start with an empty store.",
  },
  {
    codes: /^(ENOTDIR|EISDIR|EEXIST|ENOENT|ENAMETOOLONG)/,
    what: "has no usable place",
    hint: "A part of this path is not a folder. Set LETTA_LOCAL_BACKEND_DIR to another folder.",
  },
  {
    codes: /^(SQLITE_BUSY|SQLITE_LOCKED)/,
    what: "is being written by another process for too long",
    hint: "Look for a stopped letta process, end it, and try again.",
  },
];

/** The file exists before SQLite sees it, so that it (and the -wal and -shm beside it) is private from the start. */
function ensureFile(path: string): void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  const stat = statSync(path, { throwIfNoEntry: false });
  // Opening a pipe would wait for ever, deaf to signals.
  if (stat && !stat.isFile() && !stat.isDirectory()) {
    throw new LettaError("storage", `The database ${path} is not a regular file`, {
      hint: "Move it away, or set LETTA_LOCAL_BACKEND_DIR to another folder.",
    });
  }
  const fd = openSync(path, "a", 0o600);
  try {
    if ((fstatSync(fd).mode & 0o077) !== 0) fchmodSync(fd, 0o600);
  } finally {
    closeSync(fd);
  }
}

function configure(db: Database): void {
  db.run(`PRAGMA busy_timeout=${BUSY_TIMEOUT_MS}`);
  const version = readVersion(db);
  if (version > SCHEMA_VERSION) {
    throw new LettaError(
      "storage",
      `The database ${db.filename} was written by a newer version of letta (schema ${version}; this one knows ${SCHEMA_VERSION})`,
      { hint: "Update letta. The file was not touched." },
    );
  }
  if (version === 0) refuseForeign(db);
  db.run("PRAGMA synchronous=FULL");
  ensureWal(db);
  db.run("PRAGMA foreign_keys=ON");
  if (version === SCHEMA_VERSION) return;
  // Whoever gets the write lock first migrates; the others find the work done.
  transact(db, () => migrate(db, readVersion(db)));
}

function readVersion(db: Database): number {
  return (db.query("PRAGMA user_version").get() as { user_version: number }).user_version;
}

function refuseForeign(db: Database): void {
  const table = db.query("SELECT name FROM sqlite_master LIMIT 1").get() as { name: string } | null;
  // Another process of ours may have migrated since the version was read.
  if (!table || readVersion(db) > 0) return;
  throw new LettaError("storage", `${db.filename} is a database of another program (it has a table ${table.name})`, {
    hint: "It was left as it is. Move it away, or set LETTA_LOCAL_BACKEND_DIR to another folder.",
  });
}

/** Switching to WAL needs the file alone for a moment and does not wait by itself when two processes start at once. */
function ensureWal(db: Database): void {
  for (let attempt = 0; ; attempt++) {
    try {
      db.run("PRAGMA journal_mode=WAL");
      return;
    } catch (error) {
      if (attempt >= 200 || !systemErrorCode(error)?.startsWith("SQLITE_BUSY")) throw error;
      Bun.sleepSync(10);
    }
  }
}

function transact<T>(db: Database, work: () => T): T {
  if (db.inTransaction) return work();
  return run(db, "BEGIN IMMEDIATE", work);
}

function run<T>(db: Database, begin: string, work: () => T): T {
  try {
    db.run(begin);
    try {
      const result = work();
      db.run("COMMIT");
      return result;
    } catch (error) {
      // SQLite rolls back by itself on a full disk and some I/O errors.
      if (db.inTransaction) db.run("ROLLBACK");
      throw error;
    }
  } catch (error) {
    throw storageError(db.filename, error);
  }
}
