import { afterEach, expect, test } from "bun:test";
import {
  chmodSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  unlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openDatabase } from "@/store/db.ts";
import { createShadowStore, type ShadowOptions, type ShadowStore } from "@/store/shadow.ts";
import { createFileStore } from "@/tools/file-store.ts";

const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

function open(options: ShadowOptions = {}) {
  const folder = mkdtempSync(join(realpathSync(tmpdir()), "letta-shadow-"));
  folders.push(folder);
  const paths = { shadow: join(folder, "shadow") };
  const shadow = createShadowStore(openDatabase(":memory:"), paths, options);
  const files = createFileStore({ shadow });
  return {
    shadow,
    paths,
    at: (name: string) => join(folder, name),
    write: (turnId: string, name: string, content: string | null, conversationId = "c") =>
      files.write(
        { conversationId, turnId },
        { lexical: join(folder, name), real: join(folder, name) },
        { bytes: content === null ? null : Buffer.from(content) },
      ),
    read: (name: string): string | null => {
      const path = join(folder, name);
      return existsSync(path) ? readFileSync(path, "utf8") : null;
    },
  };
}
const outcomes = async (undo: ReturnType<ShadowStore["undoTurn"]>): Promise<string[]> =>
  (await undo).files.map((file) => file.outcome);

test("a turn is taken back whole: changed, created and deleted files", async () => {
  const { shadow, at, write, read } = open();
  writeFileSync(at("changed"), "old");
  writeFileSync(at("gone"), "was here");
  chmodSync(at("gone"), 0o700);
  await write("t1", "changed", "middle");
  await write("t1", "changed", "new");
  await write("t1", "created", "x");
  await write("t1", "gone", null);
  expect([read("changed"), read("created"), read("gone")]).toEqual(["new", "x", null]);
  expect(shadow.listTurns("c", 10)).toEqual([
    {
      turnId: "t1",
      conversationId: "c",
      at: expect.stringMatching(/^20.*Z$/),
      files: [
        { path: at("changed"), kind: "changed" },
        { path: at("created"), kind: "created" },
        { path: at("gone"), kind: "deleted" },
      ],
      undone: false,
      undoOf: null,
    },
  ]);

  const undo = await shadow.undoTurn("t1");
  expect(undo.files.map((file) => file.outcome)).toEqual(["restored", "removed", "restored"]);
  expect([read("changed"), read("created"), read("gone")]).toEqual(["old", null, "was here"]);
  expect(statSync(at("gone")).mode & 0o777).toBe(0o700);
  expect(shadow.listTurns("c", 10).map(({ turnId, undone, undoOf }) => [turnId, undone, undoOf])).toEqual([
    [undo.undoId, false, "t1"],
    ["t1", true, null],
  ] as never);

  // Undoing the undo does it again, and the turn can be taken back once more.
  await shadow.undoTurn(undo.undoId!);
  expect([read("changed"), read("created"), read("gone")]).toEqual(["new", "x", null]);
  expect(await outcomes(shadow.undoTurn("t1"))).toEqual(["restored", "removed", "restored"]);
  expect(read("changed")).toBe("old");
});

test("a file changed since is a conflict and is left alone, unless forced", async () => {
  const { shadow, at, write, read } = open();
  writeFileSync(at("a"), "a0");
  writeFileSync(at("b"), "b0");
  await write("t1", "a", "a1");
  await write("t1", "b", "b1");
  writeFileSync(at("a"), "mine");
  expect(await outcomes(shadow.undoTurn("t1"))).toEqual(["conflict", "restored"]);
  expect([read("a"), read("b")]).toEqual(["mine", "b0"]);
  const forced = await shadow.undoTurn("t1", { force: true });
  expect(forced.files).toEqual([{ path: at("a"), outcome: "restored" }]);
  expect(read("a")).toBe("a0");
  await shadow.undoTurn(forced.undoId!);
  expect(read("a")).toBe("mine");
});

test("a change that never reached the disk is unchanged", async () => {
  const { shadow, at } = open();
  writeFileSync(at("a"), "a0");
  const change = { conversationId: "c", turnId: "t", path: at("a"), mode: 0o644 };
  await shadow.record({ ...change, before: Buffer.from("a0"), after: Buffer.from("a1") });
  expect(await shadow.undoTurn("t")).toEqual({ undoId: null, files: [{ path: at("a"), outcome: "unchanged" }] });
});

test("what was too large, or whose copy is gone or damaged, is said and not guessed", async () => {
  const { shadow, at, paths, write, read } = open();
  writeFileSync(at("big"), "after");
  const after = Buffer.from("after");
  await shadow.record({ conversationId: "c", turnId: "t", path: at("big"), before: "too large", after, mode: 0o644 });
  expect(await outcomes(shadow.undoTurn("t"))).toEqual(["not_kept"]);
  writeFileSync(at("a"), "precious");
  await write("t2", "a", "new");
  for (const folder of readdirSync(paths.shadow)) {
    for (const name of readdirSync(join(paths.shadow, folder))) unlinkSync(join(paths.shadow, folder, name));
  }
  expect(await outcomes(shadow.undoTurn("t2"))).toEqual(["not_kept"]);
  expect([read("big"), read("a")]).toEqual(["after", "new"]);
});

test("unknown turns and other conversations", async () => {
  const { shadow, write } = open();
  await write("t1", "a", "1", "c1");
  await write("t2", "a", "2", "c2");
  expect(await shadow.undoTurn("nope")).toEqual({ undoId: null, files: [] });
  expect(shadow.listTurns("c1", 10).map((turn) => turn.turnId)).toEqual(["t1"]);
  expect(shadow.listTurns(null, 1).map((turn) => turn.turnId)).toEqual(["t2"]);
});

test("copies are private, shared between equal contents, and compressed", async () => {
  const { at, paths, write } = open();
  for (const name of ["a", "b"]) {
    writeFileSync(at(name), "same ".repeat(10_000));
    await write("t", name, "new");
  }
  const stored = readdirSync(paths.shadow, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  expect(stored.length).toBe(1);
  const info = statSync(join(stored[0]!.parentPath, stored[0]!.name));
  expect([info.mode & 0o777, info.size < 1_000, statSync(paths.shadow).mode & 0o777]).toEqual([0o600, true, 0o700]);
});

test("old turns are forgotten, and the oldest copies go when there is too much", async () => {
  let now = Date.parse("2030-01-01T00:00:00Z");
  const { shadow, at, paths, write } = open({ now: () => now, maxTotalBytes: 700 });
  const count = (): number =>
    readdirSync(paths.shadow, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile()).length;
  writeFileSync(at("a"), crypto.getRandomValues(new Uint8Array(300)));
  await write("old", "a", "x");
  now += 31 * 24 * 60 * 60 * 1000;
  for (let index = 0; index < 200; index++) {
    writeFileSync(at("f"), index % 50 === 0 ? crypto.getRandomValues(new Uint8Array(300)) : "small");
    await write(`t${index}`, "f", "y");
  }
  expect(shadow.listTurns("c", 1_000).some((turn) => turn.turnId === "old")).toBe(false);
  expect(count()).toBeLessThanOrEqual(3);
});
