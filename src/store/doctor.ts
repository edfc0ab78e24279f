// Checks of everything we keep on this machine. Checking only reads: the database is opened read-only, so that a
// damaged file stays as it is. Each finding says what to do; what can be repaired without losing anything carries a
// `repair`, which the command runs after a backup when asked to.

import { Database } from "bun:sqlite";
import { closeSync, copyFileSync, existsSync, openSync, readSync, statSync } from "node:fs";
import { errorMessage, hintOf, systemErrorCode } from "@/lib/errors.ts";
import { storageError } from "./db.ts";
import { checkFiles } from "./doctor-files.ts";
import { salvageDatabase } from "./doctor-salvage.ts";
import { checkTables } from "./doctor-tables.ts";
import { SCHEMA_VERSION } from "./migrations.ts";
import type { Paths } from "./paths.ts";
import type { SettingsStore } from "./settings.ts";

export interface Finding {
  /** Stable, for scripts: `database.integrity`. */
  id: string;
  /** `note`: worth knowing, nothing is wrong or it repairs itself at the next use. */
  status: "ok" | "note" | "problem";
  /** What was found, one line. */
  text: string;
  /** What the user can do. */
  hint?: string;
  repair?: Repair;
}

export interface Repair {
  /** `Rebuild the search index`. */
  description: string;
  /** Changes the database: it is copied first. */
  database: boolean;
  /** Replaces content somebody wrote: a person must agree. */
  askFirst?: boolean;
  /** Returns what was done, for people. Throws when it could not be done; the state is then as before. */
  run(): Promise<string> | string;
}

/** What only the local backend knows how to do. Both run inside the caller's transaction. */
export interface BackendRepairs {
  /** Ends runs whose process died, keeping what had arrived. */
  recoverRuns(db: Database): void;
  /** Makes messages findable whose search text is missing. */
  restoreTexts(db: Database): void;
}

export interface DoctorOptions {
  paths: Paths;
  settings: SettingsStore;
  backend: BackendRepairs;
  now?: () => number;
}

export async function checkStore({ now = Date.now, ...options }: DoctorOptions): Promise<Finding[]> {
  const { paths, settings } = options;
  return [...checkDatabase({ ...options, now }), ...(await checkFiles(paths, settings, now))];
}

/** A complete copy, also of what is only in the write-ahead log; a plain file copy when SQLite cannot make one. */
export function backUpDatabase(file: string, nowMs: number): string {
  const target = `${file}.${new Date(nowMs).toISOString().replace(/[:.]/g, "-")}.bak`;
  const db = new Database(file, { readonly: true });
  try {
    db.query("VACUUM INTO ?").run(target);
  } catch {
    // Rows that do not fit their table stop VACUUM; the bytes can be copied all the same.
    for (const suffix of ["", "-wal"]) if (existsSync(file + suffix)) copyFileSync(file + suffix, target + suffix);
  } finally {
    db.close();
  }
  return target;
}

const MAGIC = "SQLite format 3\0";

function checkDatabase(options: Required<DoctorOptions>): Finding[] {
  const { paths, backend, now } = options;
  const file = paths.database;
  if (!existsSync(file) || statSync(file).size === 0) {
    return [
      { id: "database.open", status: "ok", text: `${file} does not exist yet; the first conversation creates it` },
    ];
  }
  let db: Database | undefined;
  try {
    if (readMagic(file) !== MAGIC) throw new Error("it does not begin like a database");
    db = new Database(file, { readonly: true });
    db.run("PRAGMA busy_timeout=5000");
    const version = (db.query("PRAGMA user_version").get() as { user_version: number }).user_version;
    const opened: Finding = { id: "database.open", status: "ok", text: `${file} opens (schema ${version})` };
    const versionFinding = checkVersion(version, db);
    if (versionFinding) return [opened, versionFinding];
    const integrity = checkIntegrity(db, options);
    if (integrity.status !== "ok") return [opened, integrity];
    return [opened, integrity, ...checkTables(db, { file: paths.database, backend, now })];
  } catch (error) {
    return [unusable(error, options)];
  } finally {
    db?.close();
  }
}

/** Undefined when the schema is the current one. */
function checkVersion(version: number, db: Database): Finding | undefined {
  const id = "database.schema";
  if (version > SCHEMA_VERSION) {
    const text = `the database was written by a newer letta (schema ${version}, this one knows ${SCHEMA_VERSION})`;
    return { id, status: "problem", text, hint: "Update letta; nothing is touched until then." };
  }
  if (version === 0 && db.query("SELECT 1 FROM sqlite_master LIMIT 1").get()) {
    const hint = "Move it away, or set LETTA_LOCAL_BACKEND_DIR to another folder.";
    return { id, status: "problem", text: "the file is a database of another program", hint };
  }
  if (version < SCHEMA_VERSION) {
    return { id, status: "note", text: `schema ${version} is brought to ${SCHEMA_VERSION} at the next start` };
  }
  return undefined;
}

function checkIntegrity(db: Database, options: Required<DoctorOptions>): Finding {
  const rows = db.query("PRAGMA integrity_check(20)").values().flat().map(String);
  if (rows.length === 1 && rows[0] === "ok") {
    return { id: "database.integrity", status: "ok", text: "every page and index of the database is sound" };
  }
  return damaged(`${rows.length === 20 ? "20 or more" : rows.length} defects, first: ${rows[0]}`, options);
}

/** Damage is only what SQLite calls damage: a busy file or one we may not read has other remedies. */
function unusable(error: unknown, options: Required<DoctorOptions>): Finding {
  const code = systemErrorCode(error);
  if (code === undefined || /^SQLITE_(NOTADB|CORRUPT|FORMAT|ERROR)/.test(code)) {
    return damaged(errorMessage(error), options);
  }
  const known = storageError(options.paths.database, error);
  const hint = hintOf(known);
  return { id: "database.open", status: "problem", text: errorMessage(known), ...(hint ? { hint } : {}) };
}

function damaged(what: string, { paths, backend, now }: Required<DoctorOptions>): Finding {
  return {
    id: "database.integrity",
    status: "problem",
    text: `${paths.database} is damaged: ${what.replaceAll("\n", " ")}`,
    hint:
      "End other letta processes, then run `letta doctor --fix`: it copies every readable row into a new file and " +
      "keeps the damaged one beside it.",
    repair: {
      description: "Save the readable rows into a new database",
      // Not one of the repairs that need a backup: the damaged file itself is kept.
      database: false,
      run: () => salvageDatabase(paths.database, backend, now()),
    },
  };
}

function readMagic(file: string): string {
  const fd = openSync(file, "r");
  try {
    const head = Buffer.alloc(MAGIC.length);
    readSync(fd, head, 0, head.length, 0);
    return head.toString("latin1");
  } finally {
    closeSync(fd);
  }
}
