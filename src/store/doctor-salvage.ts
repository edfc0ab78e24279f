// Saves what can still be read of a damaged database. A new file is filled beside it, table by table; a range of rows
// that cannot be read is halved until only the broken ones are left out. Agents, conversations and messages that no
// query finds any more are then taken from the pages themselves. The damaged file is renamed, never changed.

import { Database } from "bun:sqlite";
import { existsSync, readdirSync, readlinkSync, realpathSync, renameSync, rmSync } from "node:fs";
import { errorMessage, LettaError, systemErrorCode } from "@/lib/errors.ts";
import { openDatabase } from "./db.ts";
import type { BackendRepairs } from "./doctor.ts";
import { readPageRows } from "./doctor-pages.ts";
import { removeDangling, replaceBroken } from "./doctor-tables.ts";
import { currentOwner, isOwnerAlive } from "./owner.ts";

/** Per table: a broken inner page makes every row below it unreadable, and halving must come to an end. */
const MAX_FAILED_READS = 4_000;

/** Returns what was saved, for people. Throws `storage` when nothing could be read; then nothing was changed. */
export function salvageDatabase(file: string, backend: BackendRepairs, nowMs: number): string {
  const stamp = new Date(nowMs).toISOString().replace(/[:.]/g, "-");
  const target = `${file}.${stamp}.salvage`;
  let saved: TableReport[];
  try {
    saved = copyReadable({ file, target, backend, nowMs });
  } catch (error) {
    removeWithSiblings(target);
    if (error instanceof LettaError) throw error;
    throw new LettaError("storage", `nothing could be read from ${file}: ${errorMessage(error)}`, {
      cause: error,
      hint: `Restore a copy if there is one (${file}.*.bak), or move the file away to start with an empty store.`,
    });
  }
  const kept = `${file}.${stamp}.damaged`;
  for (const suffix of ["", "-wal", "-shm"]) {
    if (existsSync(file + suffix)) renameSync(file + suffix, kept + suffix);
  }
  renameSync(target, file);
  return `${describe(saved)} The damaged file is kept as ${kept}.`;
}

interface TableReport {
  table: string;
  rows: number;
  /** Reads that failed; 0 = the table was read completely. */
  failed: number;
}

interface Salvage {
  file: string;
  target: string;
  backend: BackendRepairs;
  nowMs: number;
}

function copyReadable({ file, target, backend, nowMs }: Salvage): TableReport[] {
  refuseWhileOpen(file);
  const to = openDatabase(target);
  try {
    to.run("PRAGMA foreign_keys=OFF");
    const reports = copyTables(file, to, nowMs);
    copyPages(file, to, reports);
    if (reports.every((report) => report.rows === 0)) throw new Error("no row of any table is readable");
    to.transaction(() => {
      adoptOrphans(to);
      removeDangling(to);
      replaceBroken(to);
      backend.restoreTexts(to);
    })();
    // Everything into the one file, so that it can be renamed alone.
    to.run("PRAGMA wal_checkpoint(TRUNCATE)");
    return reports;
  } finally {
    to.close();
  }
}

/** By SQL. Empty when not even the schema can be read. */
function copyTables(file: string, to: Database, nowMs: number): TableReport[] {
  let from: Database | undefined;
  try {
    from = new Database(file, { readonly: true });
    const source = from;
    refuseWhileUsed(source, nowMs);
    return commonTables(source, to).map((table) => copyTable(source, to, table));
  } catch (error) {
    if (systemErrorCode(error)?.startsWith("SQLITE_")) return [];
    throw error;
  } finally {
    from?.close();
  }
}

/** What SQL did not find. Rows it did find are newer or the same: they stay. */
function copyPages(file: string, to: Database, reports: TableReport[]): void {
  const targets = PAGE_TABLES.map((shape) => {
    const table = tablesOf(to).find(({ name }) => name === shape.table)!;
    const known = reports.find((each) => each.table === shape.table);
    const report = known ?? { table: shape.table, rows: 0, failed: 1 };
    if (!known) reports.push(report);
    return { ...shape, columns: table.columns.length, report, insert: inserter(to, table) };
  });
  to.transaction(() => {
    for (const { rowid, values } of readPageRows(file)) {
      const target = targets.find(({ columns, isRow }) => values.length === columns && isRow(values));
      if (!target) continue;
      try {
        target.report.rows += target.insert(target.hasSeq ? values.with(0, rowid) : values);
      } catch {
        // A value of the wrong type: noise that looked like a row.
      }
    }
  })();
}

/** How to tell a row's table from its values. `hasSeq`: the first column is the rowid, which records leave out. */
const PAGE_TABLES: { table: string; hasSeq: boolean; isRow(values: Row): boolean }[] = [
  {
    table: "messages",
    hasSeq: true,
    isRow: ([seq, id, key, kind, role, , , , body]) =>
      seq === null &&
      typeof id === "string" &&
      typeof key === "string" &&
      (kind === "message" || kind === "summary") &&
      (role === "user" || role === "assistant" || role === "toolResult") &&
      isJson(body),
  },
  {
    table: "agents",
    hasSeq: false,
    isRow: ([id, name, , , tags, , settings]) =>
      typeof id === "string" && id.startsWith("agent-") && typeof name === "string" && isJson(tags) && isJson(settings),
  },
  {
    table: "conversations",
    hasSeq: false,
    isRow: ([key, id, agentId, , , , , tags]) =>
      typeof agentId === "string" &&
      (key === id ? typeof id === "string" : id === "default" && key === `default:${agentId}`) &&
      isJson(tags),
  },
];

function isJson(value: Row[number] | undefined): boolean {
  try {
    return typeof value === "string" && typeof JSON.parse(value) === "object";
  } catch {
    return false; // cut or overwritten
  }
}

/** A process that has the old file open would go on writing into it unseen. Only Linux tells who has. */
function refuseWhileOpen(file: string): void {
  if (process.platform !== "linux") return;
  const path = realpathSync(file);
  for (const pid of readdirSync("/proc")) {
    if (!/^\d+$/.test(pid) || Number(pid) === process.pid) continue;
    if (openFiles(pid).includes(path)) throw inUse(`process ${pid}`);
  }
}

function openFiles(pid: string): string[] {
  const folder = `/proc/${pid}/fd`;
  const read = <T>(work: () => T, otherwise: T): T => {
    try {
      return work();
    } catch {
      return otherwise; // it ended or was closed meanwhile, or belongs to somebody else
    }
  };
  return read(() => readdirSync(folder), []).map((fd) => read(() => readlinkSync(`${folder}/${fd}`), ""));
}

function inUse(who: string): LettaError {
  return new LettaError("busy", `the database is in use by ${who}`, { hint: "End that process first." });
}

/** The same by what the database itself says, also about other hosts. */
function refuseWhileUsed(from: Database, nowMs: number): void {
  const self = currentOwner();
  let rows: { pid: number; host: string; start_ticks: string; heartbeat_at: string }[];
  try {
    rows = from
      .query("SELECT pid, host, start_ticks, heartbeat_at FROM leases WHERE released = 0")
      .all() as typeof rows;
  } catch {
    return; // the leases themselves are damaged: nobody can say
  }
  const live = rows.find((row) =>
    isOwnerAlive({ pid: row.pid, host: row.host, startTicks: row.start_ticks }, row.heartbeat_at, self, nowMs),
  );
  if (live) throw inUse(`process ${live.pid} on ${live.host}`);
}

interface Table {
  name: string;
  columns: string[];
  hasRowid: boolean;
}

/** Tables and columns the damaged file has as well: it may be of an older schema. */
function commonTables(from: Database, to: Database): Table[] {
  const old = new Map(tablesOf(from).map((table) => [table.name, new Set(table.columns)]));
  return tablesOf(to).flatMap((table) => {
    const known = old.get(table.name);
    return known ? [{ ...table, columns: table.columns.filter((column) => known.has(column)) }] : [];
  });
}

/** Ordinary tables of the current schema; the search index is derived and is filled again by itself. */
function tablesOf(db: Database): Table[] {
  const rows = db.query("SELECT name, wr FROM pragma_table_list WHERE schema = 'main' AND type = 'table'").all() as {
    name: string;
    wr: number;
  }[];
  return rows
    .filter(({ name }) => !name.startsWith("sqlite_"))
    .map(({ name, wr }) => ({
      name,
      columns: (db.query(`PRAGMA table_info("${name}")`).all() as { name: string }[]).map((column) => column.name),
      hasRowid: wr === 0,
    }));
}

function copyTable(from: Database, to: Database, table: Table): TableReport {
  const report: TableReport = { table: table.name, rows: 0, failed: 0 };
  const insert = inserter(to, table);
  const store = (row: Row) => {
    try {
      report.rows += insert(row);
    } catch {
      report.failed += 1; // a row whose bytes changed may break a type or a constraint: it is one of the broken ones
    }
  };
  to.transaction(() => {
    if (table.hasRowid) copyByRowid(from, table, store, report);
    else copyFromBothEnds(from, table, store, report);
  })();
  return report;
}

type Row = (string | number | bigint | Uint8Array | null)[];

function inserter(to: Database, { name, columns }: Table): (row: Row) => number {
  const list = columns.map((column) => `"${column}"`).join(", ");
  const statement = to.query(`INSERT OR IGNORE INTO "${name}" (${list}) VALUES (${columns.map(() => "?").join(", ")})`);
  const indexed = name === "message_texts" ? columns.indexOf("indexed") : -1;
  return (row) => {
    // The new search index is empty: every text waits for the next search.
    const values = indexed === -1 ? row : row.with(indexed, 0);
    return statement.run(...values).changes;
  };
}

function copyByRowid(from: Database, table: Table, store: (row: Row) => void, report: TableReport): void {
  const list = table.columns.map((column) => `"${column}"`).join(", ");
  const query = from.query(
    `SELECT ${list} FROM "${table.name}" NOT INDEXED WHERE rowid >= ? AND rowid <= ? ORDER BY rowid`,
  );
  const bounds = rowidBounds(from, table.name);
  // Depth first, so that rows arrive in their order.
  const ranges: [number, number][] = [bounds];
  while (ranges.length > 0 && report.failed < MAX_FAILED_READS) {
    const [low, high] = ranges.pop()!;
    try {
      for (const row of query.values(low, high) as Row[]) store(row);
    } catch {
      report.failed += 1;
      if (low === high) continue;
      const middle = Math.floor((low + high) / 2);
      ranges.push([middle + 1, high], [low, middle]);
    }
  }
}

/** The ends of the table, by the cheapest read that works. */
function rowidBounds(from: Database, table: string): [number, number] {
  const edge = (order: string): number | undefined => {
    try {
      const value = from.query(`SELECT rowid FROM "${table}" NOT INDEXED ORDER BY rowid ${order} LIMIT 1`).values()[0];
      return value === undefined ? 0 : Number(value[0]);
    } catch {
      return undefined; // that end is damaged
    }
  };
  const low = edge("ASC") ?? 1;
  return [low, Math.max(low, edge("DESC") ?? low + 0xff_ffff)];
}

function copyFromBothEnds(from: Database, table: Table, store: (row: Row) => void, report: TableReport): void {
  const list = table.columns.map((column) => `"${column}"`).join(", ");
  const keys = (from.query(`PRAGMA table_info("${table.name}")`).all() as { name: string; pk: number }[])
    .filter((column) => column.pk > 0)
    .sort((a, b) => a.pk - b.pk);
  for (const order of ["ASC", "DESC"]) {
    const by = keys.map((key) => `"${key.name}" ${order}`).join(", ");
    try {
      const rows = from.query(`SELECT ${list} FROM "${table.name}" ORDER BY ${by}`).iterate() as Iterable<object>;
      for (const row of rows) store(Object.values(row) as Row);
      return;
    } catch {
      report.failed += 1; // came to the damaged page: the other direction reads what lies behind it
    }
  }
}

/** Messages whose conversation (or agent) record was lost get a new one: their text matters more than its settings. */
function adoptOrphans(db: Database): void {
  const now = new Date().toISOString();
  const keys = db
    .query(
      `SELECT conversation_key AS key, min(created_at) AS first, max(created_at) AS last FROM messages
       WHERE conversation_key NOT IN (SELECT key FROM conversations) GROUP BY conversation_key`,
    )
    .all() as { key: string; first: string; last: string }[];
  for (const { key, first, last } of keys) {
    const isDefault = key.startsWith("default:");
    const agentId = isDefault ? key.slice("default:".length) : "agent-local-recovered";
    db.query(
      `INSERT INTO conversations (key, id, agent_id, summary, hidden, tags, created_at, updated_at, last_message_at)
       VALUES (?, ?, ?, 'Recovered', 0, '[]', ?, ?, ?)`,
    ).run(key, isDefault ? "default" : key, agentId, first, now, last);
  }
  const agents = db
    .query("SELECT DISTINCT agent_id AS id FROM conversations WHERE agent_id NOT IN (SELECT id FROM agents)")
    .all() as { id: string }[];
  for (const { id } of agents) {
    db.query(
      `INSERT INTO agents (id, name, system, tags, model, model_settings, hidden, metadata, created_at, updated_at)
       VALUES (?, 'Recovered', '', '[]', '', '{}', 0, '{}', ?, ?)`,
    ).run(id, now, now);
  }
}

function describe(reports: TableReport[]): string {
  const rows = (name: string) => reports.find((report) => report.table === name)?.rows ?? 0;
  const broken = reports.filter((report) => report.failed > 0).map((report) => report.table);
  const unread = broken.length === 0 ? "" : ` Damaged parts: ${broken.join(", ")}.`;
  const lost = `${unread} What stood on the damaged pages themselves is lost.`;
  return `Saved ${rows("agents")} agents, ${rows("conversations")} conversations, ${rows("messages")} messages.${lost}`;
}

function removeWithSiblings(file: string): void {
  for (const suffix of ["", "-wal", "-shm"]) rmSync(file + suffix, { force: true });
}
