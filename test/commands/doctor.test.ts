import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { chmod, mkdir, open, readdir, readFile, stat, utimes, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { Core } from "@/app.ts";
import { type DoctorArgs, type Report, runDoctor } from "@/commands/doctor.ts";
import { openDatabase } from "@/store/db.ts";
import { openSettings } from "@/store/settings.ts";
import { startModelServer } from "../support/model-server.ts";
import { recordingIo, tempCore } from "./support.ts";

async function examine(core: Core, args: DoctorArgs = {}, answer?: boolean): Promise<{ code: number; report: Report }> {
  const io = recordingIo(answer === undefined ? {} : { answer });
  const code = await runDoctor(core, { ...args, json: true }, io);
  const { ok, data } = JSON.parse(io.out) as { ok: boolean; data: Report };
  expect(ok).toBe(true);
  return { code, report: data };
}

const problems = (report: Report) => report.findings.filter(({ status }) => status === "problem").map(({ id }) => id);
const notes = (report: Report) => report.findings.filter(({ status }) => status === "note").map(({ id }) => id);

const NO_REPAIRS = { recoverRuns() {}, restoreTexts() {} };
const NOW = "2026-03-01T10:00:00.000Z";

/** Agents and conversations with `count` messages of about `size` bytes each. */
function fill(file: string, count: number, size = 200): void {
  const db = openDatabase(file);
  db.transaction(() => {
    db.query(
      `INSERT INTO agents (id, name, system, tags, model, model_settings, hidden, metadata, created_at, updated_at)
       VALUES ('agent-local-1', 'Memo', '', '[]', '', '{}', 0, '{}', ?, ?)`,
    ).run(NOW, NOW);
    db.query(
      `INSERT INTO conversations (key, id, agent_id, hidden, tags, created_at, updated_at)
       VALUES ('local-conv-1', 'local-conv-1', 'agent-local-1', 0, '[]', ?, ?)`,
    ).run(NOW, NOW);
    const message = db.query(
      `INSERT INTO messages (id, conversation_key, kind, role, interrupted, body, meta, created_at)
       VALUES (?, 'local-conv-1', 'message', 'user', 0, ?, '{}', ?)`,
    );
    const text = db.query(
      "INSERT INTO message_texts (seq, conversation_key, role, text, indexed) VALUES (?, 'local-conv-1', 'user', ?, 0)",
    );
    for (let index = 0; index < count; index++) {
      const content = `message ${index} ${"x".repeat(size)}`;
      const { lastInsertRowid } = message.run(`msg-${index}`, JSON.stringify({ role: "user", content }), NOW);
      text.run(lastInsertRowid, content);
    }
    db.run("UPDATE message_texts SET indexed = 1");
  })();
  db.run("PRAGMA wal_checkpoint(TRUNCATE)");
  db.close();
}

function change(file: string, ...statements: string[]): void {
  const db = new Database(file);
  db.run("PRAGMA foreign_keys=OFF");
  for (const statement of statements) db.run(statement);
  db.close();
}

const count = (file: string, table: string): number => {
  const db = new Database(file, { readonly: true });
  const { rows } = db.query(`SELECT count(*) AS rows FROM ${table}`).get() as { rows: number };
  db.close();
  return rows;
};

test("a home that was never used is healthy and stays empty", async () => {
  const core = await tempCore();
  const { code, report } = await examine(core);
  expect([code, report.healthy, problems(report)]).toEqual([0, true, []]);
  expect(await readdir(core.paths.home)).toEqual(["project"]);
});

test("a filled store is healthy; the text names every check", async () => {
  const core = await tempCore();
  fill(core.paths.database, 20);
  const io = recordingIo();
  expect(await runDoctor(core, {}, io)).toBe(0);
  expect(io.out).toContain("every page and index of the database is sound");
  expect(io.out).toContain("the search index holds all 20 messages");
  expect(io.out).toEndWith("Everything is in order.\n");
});

test("checking changes no byte of the database", async () => {
  const core = await tempCore();
  fill(core.paths.database, 5);
  change(core.paths.database, "DELETE FROM messages WHERE seq = 2");
  const before = await readFile(core.paths.database);
  expect((await examine(core)).code).toBe(1);
  expect(await readFile(core.paths.database)).toEqual(before);
});

test("a damaged search index is rebuilt after a backup", async () => {
  const core = await tempCore();
  fill(core.paths.database, 10);
  change(
    core.paths.database,
    "INSERT INTO messages_fts(messages_fts, rowid, text) SELECT 'delete', seq, text FROM message_texts WHERE seq < 4",
  );
  expect(problems((await examine(core)).report)).toEqual(["database.search"]);
  const { code, report } = await examine(core, { fix: true });
  expect([code, problems(report)]).toEqual([0, []]);
  expect(report.repairs.map(({ id, done }) => [id, done])).toEqual([
    ["backup", true],
    ["database.search", true],
  ]);
  const files = await readdir(dirname(core.paths.database));
  const backup = files.find((name) => name.endsWith(".bak"))!;
  expect(count(join(dirname(core.paths.database), backup), "messages")).toBe(10);
  expect(count(core.paths.database, "message_texts WHERE indexed = 0")).toBe(10);
});

test("rows that refer to nothing are removed, with what hangs on them", async () => {
  const core = await tempCore();
  fill(core.paths.database, 6);
  change(
    core.paths.database,
    `INSERT INTO inputs VALUES ('gone', 'otid-1')`,
    `INSERT INTO messages (id, conversation_key, kind, role, interrupted, body, meta, created_at)
     VALUES ('lost', 'gone', 'message', 'user', 0, '{}', '{}', '${NOW}')`,
    "INSERT INTO message_texts SELECT seq, 'gone', 'user', 'lost', 0 FROM messages WHERE id = 'lost'",
  );
  expect(problems((await examine(core)).report)).toEqual(["database.references"]);
  const { code } = await examine(core, { fix: true });
  expect([code, count(core.paths.database, "messages"), count(core.paths.database, "inputs")]).toEqual([0, 6, 0]);
});

test("a message whose text was overwritten gets a note in its place", async () => {
  const core = await tempCore();
  fill(core.paths.database, 3);
  change(core.paths.database, "UPDATE messages SET body = replace(body, '{', '#') WHERE seq = 2");
  expect(problems((await examine(core)).report)).toEqual(["database.content"]);
  expect((await examine(core, { fix: true })).code).toBe(0);
  expect(count(core.paths.database, "messages WHERE body LIKE '%damaged on disk%'")).toBe(1);
  expect(count(core.paths.database, "messages")).toBe(3);
});

test("stale leases, cut runs and open calls are notes; the leases can be cleared", async () => {
  const core = await tempCore();
  fill(core.paths.database, 1);
  change(
    core.paths.database,
    `INSERT INTO leases VALUES ('local-conv-1', 7, 0, 999999, 'elsewhere', '', 'interactive', '${NOW}', '${NOW}')`,
    `INSERT INTO runs (id, conversation_key, conversation_id, status, cancel_requested, owner_pid, owner_host, owner_start,
       heartbeat_at, has_chunks, created_at)
     VALUES ('local-run-1', 'local-conv-1', 'local-conv-1', 'running', 0, 999999, 'elsewhere', '', '${NOW}', 0, '${NOW}')`,
    `INSERT INTO journal_calls (conversation_key, turn_id, tool_call_id, tool, arguments_text, state, settled, updated_at)
     VALUES ('local-conv-1', 't', 'c', 'Bash', '{}', 'running', 0, '${NOW}')`,
  );
  const found = await examine(core);
  expect(found.code).toBe(0);
  expect(notes(found.report)).toEqual(["database.leases", "database.runs", "database.journal", "providers"]);
  const fixed = await examine(core, { fix: true });
  expect(notes(fixed.report)).toEqual(["database.journal", "providers"]);
  expect(count(core.paths.database, "runs WHERE status = 'failed'")).toBe(1);
  expect(count(core.paths.database, "leases WHERE released = 1 AND fence = 7")).toBe(1);
});

test("random bytes in the middle: a useful report, and what is readable is saved", async () => {
  const core = await tempCore();
  fill(core.paths.database, 3000, 1000);
  const { size } = await stat(core.paths.database);
  const handle = await open(core.paths.database, "r+");
  const noise = crypto.getRandomValues(new Uint8Array(32 * 1024));
  await handle.write(noise, 0, noise.length, Math.floor(size / 3));
  await handle.close();
  const damaged = await readFile(core.paths.database);

  const { code, report } = await examine(core);
  expect([code, problems(report)]).toEqual([1, ["database.integrity"]]);
  expect(report.findings.find(({ id }) => id === "database.integrity")?.hint).toContain("letta doctor --fix");
  expect(await readFile(core.paths.database)).toEqual(damaged);

  const fixed = await examine(core, { fix: true });
  expect([fixed.code, problems(fixed.report)]).toEqual([0, []]);
  const saved = count(core.paths.database, "messages");
  expect(saved).toBeGreaterThan(2900);
  expect(saved).toBeLessThan(3000);
  const kept = (await readdir(dirname(core.paths.database))).filter((name) => name.endsWith(".damaged"));
  expect(kept).toHaveLength(1);
  expect(await readFile(join(dirname(core.paths.database), kept[0]!))).toEqual(damaged);
  expect((await stat(core.paths.database)).mode & 0o777).toBe(0o600);
});

test("a destroyed schema: the rows are taken from their pages", async () => {
  const core = await tempCore();
  fill(core.paths.database, 500, 6000);
  const handle = await open(core.paths.database, "r+");
  await handle.write(crypto.getRandomValues(new Uint8Array(3900)), 0, 3900, 110);
  await handle.close();
  const { code, report } = await examine(core, { fix: true });
  expect([code, problems(report)]).toEqual([0, []]);
  expect(report.repairs[0]?.text).toStartWith("Saved 1 agents, 1 conversations, 500 messages.");
  const db = new Database(core.paths.database, { readonly: true });
  const bodies = db.query("SELECT json_extract(body, '$.content') FROM messages ORDER BY seq").values().flat();
  db.close();
  expect(count(core.paths.database, "message_texts")).toBe(500);
  expect(bodies).toEqual(Array.from({ length: 500 }, (_, index) => `message ${index} ${"x".repeat(6000)}`));
});

test.if(process.platform === "linux")("nothing is saved while another process has the file open", async () => {
  const core = await tempCore();
  fill(core.paths.database, 5);
  const reader = Bun.spawn(["sh", "-c", 'exec 3<"$0"; echo ready; cat', core.paths.database], {
    stdin: "pipe",
    stdout: "pipe",
  });
  const { value } = await reader.stdout.getReader().read();
  expect(new TextDecoder().decode(value)).toBe("ready\n");
  const { salvageDatabase } = await import("@/store/doctor-salvage.ts");
  const salvage = () => salvageDatabase(core.paths.database, NO_REPAIRS, Date.parse(NOW));
  expect(salvage).toThrow(`in use by process ${reader.pid}`);
  expect(await readdir(dirname(core.paths.database))).toEqual(["letta.db"]);
  reader.stdin.end();
  await reader.exited;
  expect(salvage()).toContain("5 messages");
});

test("deleted messages do not come back", async () => {
  const core = await tempCore();
  fill(core.paths.database, 500, 1000);
  change(core.paths.database, "PRAGMA secure_delete=OFF", "DELETE FROM messages WHERE seq > 100");
  change(core.paths.database, "PRAGMA wal_checkpoint(TRUNCATE)");
  const { salvageDatabase } = await import("@/store/doctor-salvage.ts");
  salvageDatabase(core.paths.database, NO_REPAIRS, Date.parse(NOW));
  expect(count(core.paths.database, "messages")).toBe(100);
});

test("messages survive the loss of their conversation's and agent's records", async () => {
  const core = await tempCore();
  fill(core.paths.database, 50, 1000);
  change(core.paths.database, "DELETE FROM agents", "DELETE FROM conversations");
  const { salvageDatabase } = await import("@/store/doctor-salvage.ts");
  salvageDatabase(core.paths.database, NO_REPAIRS, Date.parse(NOW));
  expect(count(core.paths.database, "messages")).toBe(50);
  expect((await examine(core)).code).toBe(0);
});

test.each([
  ["random bytes all over", (size: number) => crypto.getRandomValues(new Uint8Array(size))],
  ["another format", () => new TextEncoder().encode("just a text\n".repeat(1000))],
])("%s: reported, not repaired, the file stays", async (_, content) => {
  const core = await tempCore();
  await mkdir(dirname(core.paths.database), { recursive: true, mode: 0o700 });
  const bytes = content(50_000);
  await writeFile(core.paths.database, bytes, { mode: 0o600 });
  const { code, report } = await examine(core, { fix: true });
  expect([code, problems(report)]).toEqual([1, ["database.integrity"]]);
  expect(report.repairs.map(({ done }) => done)).toEqual([false]);
  expect(await readdir(dirname(core.paths.database))).toEqual(["letta.db"]);
  expect(new Uint8Array(await readFile(core.paths.database))).toEqual(bytes);
});

test("a database of a newer letta or of another program is only reported", async () => {
  const core = await tempCore();
  fill(core.paths.database, 1);
  change(core.paths.database, "PRAGMA user_version=999");
  expect(problems((await examine(core, { fix: true })).report)).toEqual(["database.schema"]);
  change(core.paths.database, "PRAGMA user_version=0");
  expect(problems((await examine(core)).report)).toEqual(["database.schema"]);
});

test("open modes are closed, old temporary files go, young ones stay", async () => {
  const core = await tempCore();
  fill(core.paths.database, 1);
  await writeFile(core.paths.settings, "{}", { mode: 0o644 });
  await chmod(core.paths.database, 0o644);
  const old = join(core.paths.root, ".settings.json.123.0123abcd.tmp");
  const young = join(core.paths.root, ".settings.json.124.0123abcd.tmp");
  await writeFile(old, "");
  await writeFile(young, "");
  await utimes(old, new Date(0), new Date(0));
  expect(problems((await examine(core)).report)).toEqual(["modes"]);
  expect((await examine(core, { fix: true })).code).toBe(0);
  expect((await stat(core.paths.settings)).mode & 0o777).toBe(0o600);
  expect((await readdir(core.paths.root)).filter((name) => name.endsWith(".tmp"))).toEqual([young.split("/").at(-1)!]);
});

test("--probe asks the connected servers, and never shows a key", async () => {
  await using server = await startModelServer([], { requireKey: "sk-right-key" });
  const probe = async (key: string) => {
    const core = await tempCore({ OPENAI_API_KEY: key, OPENAI_BASE_URL: server.url });
    const io = recordingIo();
    const code = await runDoctor(core, { probe: true }, io);
    return { code, out: io.out };
  };
  const right = await probe("sk-right-key");
  expect(right.code).toBe(0);
  expect(right.out).toContain("openai answers and offers 1 model");
  const wrong = await probe("sk-wrong-key");
  expect(wrong.code).toBe(1);
  expect(wrong.out).toContain("openai does not answer as it should");
  expect(right.out + wrong.out).not.toContain("sk-");
});

test("broken settings come back from their backup only with a yes", async () => {
  const core = await tempCore();
  await mkdir(core.paths.root, { recursive: true });
  await writeFile(core.paths.settings, '{"defaultModel": "a/b"', { mode: 0o600 });
  await writeFile(`${core.paths.settings}.bak`, '{"defaultModel": "a/b"}', { mode: 0o600 });
  const broken = { ...core, settings: await openSettings({ paths: core.paths, cwd: core.cwd }) };
  expect(problems((await examine(broken)).report)).toEqual(["settings"]);
  expect((await examine(broken, { fix: true })).report.repairs[0]?.done).toBe(false);
  expect((await examine(broken, { fix: true }, false)).report.repairs[0]?.done).toBe(false);
  expect((await examine(broken, { fix: true }, true)).code).toBe(0);
  expect(await readFile(core.paths.settings, "utf8")).toBe('{"defaultModel": "a/b"}');
  expect(await readFile(`${core.paths.settings}.broken`, "utf8")).toBe('{"defaultModel": "a/b"');
});

test("a permission mode that is none is a problem", async () => {
  const core = await tempCore();
  await core.settings.updateUser((settings) => {
    settings.permissions = { mode: "foo" };
  });
  const { code, report } = await examine(core);
  expect(code).toBe(1);
  expect(problems(report)).toEqual(["permissions.mode.user"]);
});
