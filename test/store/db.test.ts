import { Database } from "bun:sqlite";
import { afterAll, expect, test } from "bun:test";
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { LettaError } from "@/lib/errors.ts";
import { durable, openDatabase, relaxed, storageError } from "@/store/db.ts";
import { SCHEMA_VERSION } from "@/store/migrations.ts";

const dir = mkdtempSync(join(tmpdir(), "letta-db-"));
afterAll(() => rmSync(dir, { recursive: true, force: true }));
let count = 0;
const freshPath = (): string => join(dir, `home-${count++}`, "letta.db");

function failureOf(work: () => unknown): LettaError {
  try {
    work();
  } catch (error) {
    if (error instanceof LettaError) return error;
    throw error;
  }
  throw new Error("expected a LettaError");
}

test("creates a private file and folder, WAL, current schema", () => {
  const path = freshPath();
  const db = openDatabase(path);
  expect(db.query("PRAGMA journal_mode").get()).toEqual({ journal_mode: "wal" });
  expect(db.query("PRAGMA synchronous").get()).toEqual({ synchronous: 2 });
  expect(db.query("PRAGMA foreign_keys").get()).toEqual({ foreign_keys: 1 });
  expect(db.query("PRAGMA user_version").get()).toEqual({ user_version: SCHEMA_VERSION });
  db.run("INSERT INTO client_state VALUES ('k', 'n', '1')");
  for (const suffix of ["", "-wal", "-shm"]) expect(statSync(path + suffix).mode & 0o777).toBe(0o600);
  expect(statSync(join(path, "..")).mode & 0o777).toBe(0o700);
  db.close();
  expect(openDatabase(path).query("SELECT value FROM client_state").get()).toEqual({ value: "1" });
});

test("a file readable by others becomes private", () => {
  const path = freshPath();
  openDatabase(path).close();
  chmodSync(path, 0o644);
  openDatabase(path).close();
  expect(statSync(path).mode & 0o777).toBe(0o600);
});

test("a newer schema, another program's database and a damaged file are refused and left alone", () => {
  const newer = freshPath();
  const db = openDatabase(newer);
  db.run("PRAGMA user_version = 9999");
  db.close();
  const foreign = join(dir, "foreign.db");
  const other = new Database(foreign);
  other.run("CREATE TABLE bookmarks (url)");
  other.close();
  const damaged = join(dir, "damaged.db");
  writeFileSync(damaged, "this is not a database, but somebody's notes ".repeat(100));
  for (const [path, text] of [
    [newer, "newer version"],
    [foreign, "another program"],
    [damaged, "damaged or is not a database"],
  ] as const) {
    const before = readFileSync(path);
    const error = failureOf(() => openDatabase(path));
    expect(error.code).toBe("storage");
    expect(error.message).toContain(path);
    expect(error.message).toContain(text);
    expect(error.hint).toBeString();
    expect(readFileSync(path).equals(before)).toBe(true);
  }
});

test("a path below a file names the path", () => {
  const file = join(dir, "plain");
  writeFileSync(file, "x");
  const error = failureOf(() => openDatabase(join(file, "local", "letta.db")));
  expect(error.code).toBe("storage");
  expect(error.message).toContain(join(file, "local", "letta.db"));
});

test("a full disk is a storage error, the transaction is gone and the rest stays", () => {
  const path = freshPath();
  const db = openDatabase(path);
  durable(db, () => db.run("INSERT INTO client_state VALUES ('k', 'kept', '1')"));
  const pages = (db.query("PRAGMA page_count").get() as { page_count: number }).page_count;
  db.run(`PRAGMA max_page_count = ${pages + 2}`);
  const error = failureOf(() =>
    durable(db, () => {
      db.run("INSERT INTO client_state VALUES ('k', 'small', '1')");
      db.query("INSERT INTO client_state VALUES ('k', 'big', ?)").run("x".repeat(1_000_000));
    }),
  );
  expect(error).toMatchObject({ code: "storage" });
  expect(error.message).toContain("disk is full");
  expect(db.query("SELECT name FROM client_state").all()).toEqual([{ name: "kept" }]);
  expect(db.inTransaction).toBe(false);
});

test("no room for the index of the log is a full disk, too", () => {
  const cause = Object.assign(new Error("disk I/O error"), { code: "SQLITE_IOERR_SHMSIZE" });
  expect(storageError("a.db", cause)).toMatchObject({
    code: "storage",
    message: expect.stringContaining("disk is full"),
    hint: expect.stringContaining("Free some space"),
  });
});

test("a pipe in the place of the database is refused, not waited for", async () => {
  const path = join(dir, "pipe.db");
  await Bun.spawn(["mkfifo", path]).exited;
  expect(failureOf(() => openDatabase(path))).toMatchObject({
    code: "storage",
    message: `The database ${path} is not a regular file`,
  });
});

test("transactions roll back whole, nest, and give back the durable mode", () => {
  const db = openDatabase(":memory:");
  const boom = new Error("boom");
  expect(() =>
    durable(db, () => {
      relaxed(db, () => db.run("INSERT INTO client_state VALUES ('k', 'n', '1')"));
      throw boom;
    }),
  ).toThrow(boom);
  relaxed(db, () => db.run("INSERT INTO client_state VALUES ('k', 'kept', '1')"));
  expect(db.query("SELECT name FROM client_state").all()).toEqual([{ name: "kept" }]);
  expect(db.query("PRAGMA synchronous").get()).toEqual({ synchronous: 2 });
});

test("eight processes that open a new store at once all succeed", async () => {
  const path = freshPath();
  const script = `
    import { durable, openDatabase } from ${JSON.stringify(join(import.meta.dir, "../../src/store/db.ts"))};
    const db = openDatabase(process.argv[1]);
    for (let i = 0; i < 20; i++)
      durable(db, () => db.query("INSERT INTO client_state VALUES (?, ?, '1')").run(process.argv[2], String(i)));
  `;
  const children = Array.from({ length: 8 }, (_, index) =>
    Bun.spawn([process.execPath, "-e", script, path, `p${index}`], {
      cwd: join(import.meta.dir, "../.."),
      stdout: "pipe",
      stderr: "pipe",
    }),
  );
  for (const child of children) {
    expect(await new Response(child.stderr).text()).toBe("");
    expect(await child.exited).toBe(0);
  }
  const db = openDatabase(path);
  expect(db.query("SELECT count(*) AS n FROM client_state").get()).toEqual({ n: 160 });
  expect(existsSync(path)).toBe(true);
}, 30_000);
