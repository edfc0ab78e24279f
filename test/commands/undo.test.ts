import { expect, test } from "bun:test";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Core } from "@/app.ts";
import { runUndo, type UndoArgs, withShadow } from "@/commands/undo.ts";
import type { LettaError } from "@/lib/errors.ts";
import { openDatabase } from "@/store/db.ts";
import { createShadowStore } from "@/store/shadow.ts";
import { recordingIo, tempCore } from "./support.ts";

/** As a tool would: the earlier content goes to the store, then the file changes. */
async function edit(core: Core, turnId: string, name: string, after: string): Promise<void> {
  const path = name.startsWith("/") ? name : join(core.cwd, name);
  const file = Bun.file(path);
  const before = (await file.exists()) ? await file.bytes() : null;
  const db = openDatabase(core.paths.database);
  const bytes = new TextEncoder().encode(after);
  await createShadowStore(db, core.paths).record({
    conversationId: "default",
    turnId,
    path,
    before,
    after: bytes,
    mode: before === null ? null : 0o644,
  });
  db.close();
  await writeFile(path, bytes);
}

async function undo(core: Core, args: UndoArgs = {}): Promise<{ code: number; out: string }> {
  const io = recordingIo();
  const code = await withShadow(core, (shadow) => runUndo(core, shadow, args, io));
  return { code, out: io.out };
}

const read = (core: Core, name: string) => readFile(join(core.cwd, name), "utf8");

test("the latest turn of this folder goes, then the one before it; undoing can be undone", async () => {
  const core = await tempCore();
  await writeFile(join(core.cwd, "a.txt"), "one\n");
  await edit(core, "turn-1", "a.txt", "two\n");
  await edit(core, "turn-2", "a.txt", "three\n");
  await edit(core, "turn-2", "new.txt", "new\n");
  await edit(core, "turn-3", join(core.paths.home, "elsewhere.txt"), "not here\n");

  const first = await undo(core);
  expect(first.code).toBe(0);
  expect(first.out).toContain("Turn turn-2:\n");
  expect(first.out).toContain("  a.txt: restored\n");
  expect(first.out).toContain("  new.txt: removed\n");
  expect(await read(core, "a.txt")).toBe("two\n");

  await undo(core);
  expect(await read(core, "a.txt")).toBe("one\n");

  const again = /letta undo --turn (\S+)/.exec(first.out)![1]!;
  const listed = JSON.parse((await undo(core, { list: true, format: "json" })).out) as { turnId: string }[];
  expect(listed.map(({ turnId }) => turnId)).toContain(again);
});

test("a dry run changes nothing", async () => {
  const core = await tempCore();
  await edit(core, "turn-1", "a.txt", "new\n");
  const { code, out } = await undo(core, { "dry-run": true });
  expect([code, out]).toEqual([0, "Turn turn-1 would be taken back:\n  a.txt: would be taken back (created)\n"]);
  expect(await read(core, "a.txt")).toBe("new\n");
});

test("a file changed since is left alone, exit code 1, unless forced", async () => {
  const core = await tempCore();
  await writeFile(join(core.cwd, "a.txt"), "one\n");
  await edit(core, "turn-1", "a.txt", "two\n");
  await writeFile(join(core.cwd, "a.txt"), "mine\n");
  const refused = await undo(core);
  expect(refused.code).toBe(1);
  expect(refused.out).toContain("LEFT ALONE");
  expect(await read(core, "a.txt")).toBe("mine\n");
  expect((await undo(core, { turn: "turn-1", force: true })).code).toBe(0);
  expect(await read(core, "a.txt")).toBe("one\n");
});

test("nothing to undo is not found, and creates no database", async () => {
  const core = await tempCore();
  const error = await undo(core).catch((thrown: unknown) => thrown);
  expect((error as LettaError).code).toBe("not_found");
  expect((await undo(core, { list: true })).out).toBe("No turn changed files here.\n");
  expect(await Bun.file(core.paths.database).exists()).toBe(false);
});
