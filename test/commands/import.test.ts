import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { cp, mkdir, readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Core } from "@/app.ts";
import { runImport } from "@/commands/import.ts";
import type { LettaError } from "@/lib/errors.ts";
import { recordingIo, tempCore } from "./support.ts";

const STORE = join(import.meta.dir, "../fixtures/import/store");
const NOW = Date.parse("2026-04-01T00:00:00.000Z");

async function importInto(core: Core, args: { folder?: string; "dry-run"?: boolean } = {}) {
  const io = recordingIo();
  const code = await runImport(core, { ...args, json: true }, io, () => NOW);
  return { code, data: JSON.parse(io.out).data as Record<string, unknown> };
}

function rows(core: Core, sql: string): unknown[][] {
  const db = new Database(core.paths.database, { readonly: true });
  try {
    return db.query(sql).values();
  } finally {
    db.close();
  }
}

/** Every file below a folder with its content. */
async function snapshot(folder: string): Promise<Record<string, string>> {
  const names = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = names.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  return Object.fromEntries(
    await Promise.all(files.sort().map(async (file) => [file, await readFile(file, "latin1")])),
  );
}

test("everything readable is taken over, in order, and the store is not touched", async () => {
  const core = await tempCore();
  const before = await snapshot(STORE);
  const { code, data } = await importInto(core, { folder: STORE });
  expect(code).toBe(0);
  expect(data).toMatchObject({
    agents: { imported: 2, present: 0 },
    conversations: { imported: 3, extended: 0, present: 0 },
    messages: 14,
  });
  expect(await snapshot(STORE)).toEqual(before);
  expect(rows(core, "SELECT key, summary, hidden FROM conversations ORDER BY key")).toEqual([
    ["default:agent-local-7c1f", null, 0],
    ["local-conv-1", "Files", 0],
    ["local-conv-2", "Bare", 1],
  ]);
  expect(
    rows(
      core,
      "SELECT role, interrupted, created_at FROM messages WHERE conversation_key = 'local-conv-1' ORDER BY seq",
    ),
  ).toEqual([
    ["user", 0, "2026-03-01T10:00:01.000Z"],
    ["assistant", 0, "2026-03-01T10:00:02.000Z"],
    ["toolResult", 0, "2026-03-01T10:00:03.000Z"],
    ["assistant", 0, "2026-03-01T10:00:05.000Z"],
    ["user", 0, "2026-03-01T10:00:06.000Z"],
    ["assistant", 1, "2026-03-01T10:00:07.000Z"],
  ]);
  expect(rows(core, "SELECT count(*) FROM tool_calls WHERE answered = 0")).toEqual([[0]]);
  expect(rows(core, "PRAGMA foreign_key_check")).toEqual([]);
});

test("the window of a compacted conversation is its summary and what came after the cut", async () => {
  const core = await tempCore();
  await importInto(core, { folder: STORE });
  const found = rows(
    core,
    `SELECT json_extract(f.body, '$.content'), s.kind FROM windows w
     JOIN messages f ON f.seq = w.from_seq JOIN messages s ON s.seq = w.summary_seq
     WHERE w.conversation_key = 'default:agent-local-7c1f' AND w.undone = 0`,
  );
  expect(found).toEqual([["what is 2+2", "summary"]]);
});

test("doing it again changes nothing; new messages there are appended; a conversation that went on here is kept", async () => {
  const core = await tempCore();
  const copy = join(core.paths.home, "store");
  await cp(STORE, copy, { recursive: true });
  await importInto(core, { folder: copy });
  expect((await importInto(core, { folder: copy })).data).toMatchObject({
    agents: { imported: 0, present: 2 },
    conversations: { imported: 0, extended: 0, present: 3 },
    messages: 0,
  });

  const folder = Buffer.from("conversation:local-conv-2").toString("base64url");
  const file = join(copy, "conversations", folder, "messages.jsonl");
  const more = { id: "ui-msg-32", role: "user", content: "later", timestamp: NOW };
  await Bun.write(file, `${await Bun.file(file).text()}${JSON.stringify(more)}\n`);
  expect((await importInto(core, { folder: copy })).data).toMatchObject({
    conversations: { extended: 1 },
    messages: 1,
  });

  const db = new Database(core.paths.database);
  db.run("UPDATE messages SET id = 'msg-ours' WHERE id LIKE 'ui-msg-32-%'");
  db.close();
  expect((await importInto(core, { folder: copy })).data).toMatchObject({ conversations: { present: 3 }, messages: 0 });
});

test("two stores that use the same conversation id do not mix", async () => {
  const core = await tempCore();
  await importInto(core, { folder: STORE });
  const other = join(core.paths.home, "other");
  const b64 = (text: string) => Buffer.from(text).toString("base64url");
  const conversation = join(other, "conversations", b64("conversation:local-conv-1"));
  await mkdir(conversation, { recursive: true });
  await Bun.write(join(other, "agents", `${b64("agent-local-x")}.json`), '{"id":"agent-local-x","name":"X"}');
  await Bun.write(join(conversation, "conversation.json"), '{"id":"local-conv-1","agent_id":"agent-local-x"}');
  const { data } = await importInto(core, { folder: other });
  expect(data.problems).toEqual([
    {
      file: other,
      message:
        "conversation local-conv-1 of agent-local-x was left out: another agent has a conversation of this id here",
    },
  ]);
});

test("a dry run writes nothing; the default folder is found", async () => {
  const core = await tempCore();
  await cp(STORE, join(core.paths.root, "lc-local-backend"), { recursive: true });
  const { data } = await importInto(core, { "dry-run": true });
  expect(data).toMatchObject({ dryRun: true, agents: { imported: 2 }, messages: 14 });
  expect(await Bun.file(core.paths.database).exists()).toBe(false);
});

test("nothing to import is said", async () => {
  const core = await tempCore();
  const io = recordingIo();
  const failure = (args: { folder?: string }) => runImport(core, args, io).catch((error: LettaError) => error.code);
  expect(await failure({})).toBe("not_found");
});
