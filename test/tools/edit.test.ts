import { afterAll, describe, expect, test } from "bun:test";
import {
  chmodSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { openDatabase } from "@/store/db.ts";
import { createShadowStore } from "@/store/shadow.ts";
import { editTool } from "@/tools/edit.ts";
import { type Edit, planEdit } from "@/tools/edit-plan.ts";
import { multiEditTool } from "@/tools/multi-edit.ts";
import { readTool } from "@/tools/read.ts";
import { writeTool } from "@/tools/write.ts";
import { openWorkbench } from "./support.ts";

const bench = openWorkbench();
afterAll(() => bench[Symbol.asyncDispose]());

let count = 0;
function file(content: string | Uint8Array): string {
  const path = join(bench.cwd, `file-${++count}.txt`);
  writeFileSync(path, content);
  return path;
}
const text = (path: string): string => readFileSync(path, "utf8");
const edit = (file_path: string, old_string: string, new_string: string, more = {}) =>
  bench.call(editTool, { file_path, old_string, new_string, ...more });
const one = (oldString: string, newString: string, replaceAll = false): Edit => ({ oldString, newString, replaceAll });
const plan = (before: string, ...edits: Edit[]): string =>
  Buffer.from(planEdit("f", Buffer.from(before), edits).after).toString();

describe("planEdit", () => {
  test.each([
    ["LF", "a\nb\nc\n", one("b", "B\nBB"), "a\nB\nBB\nc\n"],
    ["CRLF gives new lines CRLF", "a\r\nb\r\nc\r\n", one("a\nb", "a\nx\nb"), "a\r\nx\r\nb\r\nc\r\n"],
    ["CRLF in the arguments", "a\r\nb\r\n", one("a\r\nb", "a\r\nc"), "a\r\nc\r\n"],
    ["CRLF arguments on an LF file", "a\nb\n", one("a\r\nb", "a\r\nc"), "a\nc\n"],
    ["mixed line ends stay per line", "a\r\nb\nc\r\nd\r\n", one("a\nb\nc", "a\nB\nc"), "a\r\nB\nc\r\nd\r\n"],
    ["mixed line ends, lines added", "a\r\nb\nc\r\nd\r\n", one("a\nb\nc", "a\nb\nx\nc"), "a\r\nb\nx\r\nc\r\nd\r\n"],
    ["a match that starts at a line end", "a\r\nb\r\n", one("\nb", "\nB"), "a\r\nB\r\n"],
    ["no final newline", "a\nb", one("b", "c"), "a\nc"],
    ["the final newline removed on purpose", "a\nb\n", one("b\n", "c"), "a\nc"],
    ["dollar signs are no patterns", "x\n", one("x", "$& $1 $$"), "$& $1 $$\n"],
    ["replace_all", "a.a.a", one("a", "b", true), "b.b.b"],
    ["a lone carriage return is text", "a\rb\n", one("a\rb", "c\rd"), "c\rd\n"],
    ["deletion", "a\r\nb\r\nc\r\n", one("b\n", ""), "a\r\nc\r\n"],
    ["tier 2: over-escaped", 'say("hi")\n', one('say(\\"hi\\")', "x"), "x\n"],
    ["tier 3: typographic quotes in the file", "it’s “so”\n", one('it\'s "so"', "x"), "x\n"],
    ["tier 3: no-break spaces", "a\u00a0b\n", one("a b", "x"), "x\n"],
    ["tier 4: whitespace at line ends", "a  \nb\t\nc\n", one("a\nb\nc", "x"), "x\n"],
    ["tier 4: in the middle of lines", "x = a  \n  b = c\t \nd", one("a\n  b =", "y"), "x = y c\t \nd"],
    ["tier 4: whitespace at line ends of old_string", "a\nb\nc\n", one("a \nb ", "x"), "x\nc\n"],
  ])("%s", (_, before, change, after) => expect(plan(before, change)).toBe(after));

  test.each([
    ["several places", "a\nb\na\n\na", one("a", "x"), /occurs 3 times in f, at lines 1, 3, 5\. Add surrounding/],
    ["more than five places", "a\n".repeat(9), one("a", "x"), /occurs 9 times in f, at lines 1, 2, 3, 4, 5, …\./],
    ["nothing to change", "a", one("a", "a"), /the same: nothing to change/],
    ["only line ends differ", "a\nb", one("a\nb", "a\r\nb"), /the same: nothing to change/],
    ["an empty old_string", "a", one("", "x"), /old_string is empty, but the file exists/],
    ["indentation is not guessed", "  a\n  b\n", one("a\nb", "x"), /was not found[\s\S]*line breaks and indentation/],
    ["a tier with two places", "a \na \n", one("a\u00a0", "x"), /was not found/],
    ["whitespace at the edges", "a b\n", one(" a b ", "x"), /there without the whitespace at its edges/],
    [
      "a near miss",
      "one\nfunction compute(a, b) {\nend\n",
      one("function compute(a, c) {", "x"),
      /alike\) begins at line 2:\nfunction compute/,
    ],
    ["binary", "a\0b", one("a", "x"), /binary file: f/],
  ])("refuses: %s", (_, before, change, message) => expect(() => plan(before, change)).toThrow(message));

  test("invalid UTF-8 is refused, not transcoded", () =>
    expect(() => planEdit("f", new Uint8Array([0x61, 0xff, 0x62]), [one("a", "x")])).toThrow("Not valid UTF-8: f"));

  test("long runs of spaces cost no time", () => {
    const wide = `a${" ".repeat(1_000_000)}b\n`.repeat(3);
    const began = performance.now();
    expect(() => plan(wide, one("a b\nc", "x"))).toThrow("not found");
    expect(performance.now() - began).toBeLessThan(2_000);
  });

  test("says which tier was used and where the change begins", () =>
    expect(planEdit("f", Buffer.from("1\n2\na \nb\n"), [one("a\nb", "x")])).toMatchObject({
      startLine: 3,
      replacements: 1,
      notes: ["matched ignoring whitespace at line ends"],
    }));

  test("several edits: each sees the one before, one failure fails all", () => {
    expect(plan("a\r\nb\r\n", one("a", "b2"), one("b2", "c"))).toBe("c\r\nb\r\n");
    expect(() => plan("a", one("a", "b"), one("a", "c"))).toThrow("Edit 2 of 2: old_string was not found");
  });
});

/** Small repeatable randomness. */
function random(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

test("property: bytes outside an edit are identical, whatever the file", () => {
  for (let seed = 1; seed <= 1_500; seed++) {
    const next = random(seed);
    const encoding = (["utf8", "utf8-bom", "utf16le", "utf16be"] as const)[next(4)]!;
    const lines = Array.from(
      { length: 1 + next(12) },
      (_, index) => `${["", "x ", "é漢😀", "\ttab", "$&"][next(5)]}${index}`,
    );
    const ends = lines.map(() => ["\n", "\r\n"][next(2)]!);
    if (next(3) === 0) ends[ends.length - 1] = "";
    const at = next(lines.length);
    const span = Math.min(lines.length - at, 1 + next(3));
    const added = Array.from({ length: next(4) }, (_, index) => `new${index}`);

    const raw = lines.map((line, index) => line + ends[index]).join("");
    const head = lines
      .slice(0, at)
      .map((line, index) => line + ends[index])
      .join("");
    const wanted = lines.slice(at, at + span).join("\n");
    const tail = raw.slice(
      head.length +
        lines
          .slice(at, at + span)
          .reduce((sum, line, index) => sum + line.length + (index < span - 1 ? ends[at + index]!.length : 0), 0),
    );
    if (wanted === "" || raw.replaceAll("\r\n", "\n").split(wanted).length !== 2) continue;
    const result = planEdit("f", encode(raw, encoding), [one(wanted, added.join("\n"))]).after;

    const whole = Buffer.from(result);
    const first = encode(head, encoding);
    const last = encode(tail, encoding).subarray(encode("", encoding).length);
    expect(whole.subarray(0, first.length).equals(first)).toBe(true);
    expect(whole.subarray(whole.length - last.length).equals(last)).toBe(true);
    const middle = whole.subarray(first.length, whole.length - last.length);
    const shown = encoding.startsWith("utf8") ? middle.toString() : decode16(middle, encoding);
    expect(shown.replaceAll("\r\n", "\n")).toBe(added.join("\n"));
  }
});

function encode(value: string, encoding: "utf8" | "utf8-bom" | "utf16le" | "utf16be"): Buffer {
  if (encoding === "utf8") return Buffer.from(value);
  if (encoding === "utf8-bom") return Buffer.from(`\ufeff${value}`);
  const bytes = Buffer.from(`\ufeff${value}`, "utf16le");
  return encoding === "utf16be" ? bytes.swap16() : bytes;
}
function decode16(bytes: Buffer, encoding: string): string {
  return (encoding === "utf16be" ? Buffer.from(bytes).swap16() : bytes).toString("utf16le");
}

describe("Edit", () => {
  test("gives the JSON front ends read, and a diff", async () => {
    const path = file("one\ntwo\nthree\n");
    const result = await edit(path, "two", "2\n2b");
    expect(JSON.parse(result.output)).toEqual({
      message: `Replaced 1 occurrence in ${path}.`,
      replacements: 1,
      startLine: 2,
    });
    expect(result).toMatchObject({ summary: "+2 -1", diff: [{ path, kind: "update", added: 2, removed: 1 }] });
    expect(text(path)).toBe("one\n2\n2b\nthree\n");
  });

  test("what is previewed is what is done", async () => {
    const path = file("a\r\nb\r\n");
    const args = editTool.parse({ file_path: path, old_string: "b", new_string: "c\nd" });
    const [preview] = await editTool.preview!(args, bench.context());
    expect(preview?.hunks[0]?.lines).toEqual([
      { type: "context", content: "a" },
      { type: "remove", content: "b" },
      { type: "add", content: "c" },
      { type: "add", content: "d" },
    ]);
    const result = await bench.call(editTool, args);
    expect(result.diff?.[0]).toEqual(preview!);
  });

  test("a file changed since it was previewed or read is not touched", async () => {
    const path = file("a\n");
    const args = editTool.parse({ file_path: path, old_string: "a", new_string: "b" });
    await editTool.preview!(args, bench.context());
    writeFileSync(path, "a\nmore\n");
    await expect(bench.call(editTool, args)).rejects.toThrow(`changed on disk since you last saw it: ${path}`);
    await bench.call(readTool, { file_path: path });
    await bench.call(editTool, args);
    expect(text(path)).toBe("b\nmore\n");
    await edit(path, "b", "c");
    writeFileSync(path, "c\n");
    await expect(edit(path, "c", "d")).rejects.toThrow("changed on disk");
    // What another conversation knows is its own.
    await bench.call(editTool, { file_path: path, old_string: "c", new_string: "d" }, { conversationId: "other" });
    expect(text(path)).toBe("d\n");
  });

  test("creates a file from an empty old_string, with its directories", async () => {
    const path = join(bench.cwd, "new/deep/file.txt");
    expect(JSON.parse((await edit(path, "", "x\r\ny")).output).message).toBe(`Created ${path}.`);
    expect(text(path)).toBe("x\r\ny");
    await expect(edit(path, "", "again")).rejects.toThrow("the file exists");
    await expect(edit(join(bench.cwd, "missing"), "a", "b")).rejects.toThrow("File does not exist");
  });

  test("keeps mode, symlink and hard links", async () => {
    const path = file("a\n");
    chmodSync(path, 0o751);
    const link = join(bench.cwd, "link");
    symlinkSync(path, link);
    await edit(link, "a", "b");
    expect([lstatSync(link).isSymbolicLink(), text(path), statSync(path).mode & 0o777]).toEqual([true, "b\n", 0o751]);
    const hard = join(bench.cwd, "hard");
    linkSync(path, hard);
    await edit(hard, "b", "ccc");
    expect([text(path), statSync(path).ino === statSync(hard).ino]).toEqual(["ccc\n", true]);
    expect(readdirSync(dirname(path)).filter((name) => name.endsWith(".tmp"))).toEqual([]);
  });

  test.each(["~/home.txt", "$HOME/home.txt", `$${"{HOME}"}/home.txt`, "./x/../home.txt"])(
    "expands %s as its targets say",
    async (path) => {
      writeFileSync(join(bench.home, "home.txt"), "a");
      const args = editTool.parse({ file_path: path, old_string: "a", new_string: "b" });
      expect(editTool.targets(args, bench.context())).toEqual([
        { kind: "file", family: "Edit", path: join(bench.home, "home.txt") },
      ]);
      await bench.call(editTool, args, { conversationId: path });
      expect(text(join(bench.home, "home.txt"))).toBe("b");
    },
  );
});

describe("MultiEdit", () => {
  test("all or none", async () => {
    const path = file("a\nb\nc\n");
    const edits = [
      { old_string: "a", new_string: "1" },
      { old_string: "nope", new_string: "2" },
    ];
    await expect(bench.call(multiEditTool, { file_path: path, edits })).rejects.toThrow("Edit 2 of 2");
    expect(text(path)).toBe("a\nb\nc\n");
    const { output } = await bench.call(multiEditTool, {
      file_path: path,
      edits: [edits[0], { old_string: "c", new_string: "3" }],
    });
    expect(JSON.parse(output)).toMatchObject({ replacements: 2, startLine: 1 });
    expect(text(path)).toBe("1\nb\n3\n");
  });
});

describe("Write", () => {
  const write = (file_path: string, content: string) => bench.call(writeTool, { file_path, content });

  test("creates, then overwrites what it wrote", async () => {
    const path = join(bench.cwd, "w/new.txt");
    expect((await write(path, "a\n")).output).toBe(`Created ${path} (2 characters).`);
    expect(await write(path, "b\n")).toMatchObject({ output: `Wrote ${path} (2 characters).`, summary: "+1 -1" });
  });

  test("refuses an existing file nobody has read, also a binary one", async () => {
    const path = file("old");
    await expect(write(path, "new")).rejects.toThrow(`you have not read it: ${path}`);
    await bench.call(readTool, { file_path: path });
    await write(path, "new");
    expect(text(path)).toBe("new");
    const binary = file(new Uint8Array([0, 1, 2]));
    await expect(bench.call(readTool, { file_path: binary })).rejects.toThrow("binary");
    await write(binary, "text now");
    expect(text(binary)).toBe("text now");
  });

  test.each([
    ["CRLF", Buffer.from("a\r\nb\r\n"), "x\ny\n", Buffer.from("x\r\ny\r\n")],
    ["a byte order mark", Buffer.from("\ufeffa\n"), "b\n", Buffer.from("\ufeffb\n")],
    ["UTF-16", encode("a\n", "utf16be"), "é\n", encode("é\n", "utf16be")],
    ["nothing when the content has CRLF itself", Buffer.from("a\n"), "x\r\n", Buffer.from("x\r\n")],
  ])("keeps %s", async (_, before, content, after) => {
    const path = file(before);
    await bench.call(readTool, { file_path: path });
    await write(path, content);
    expect(readFileSync(path).equals(after)).toBe(true);
  });

  test("nothing is written when the old content cannot be kept for undo", async () => {
    const shadow = createShadowStore(openDatabase(":memory:"), { shadow: "/dev/null/shadow" });
    await using own = openWorkbench({ shadow: () => shadow });
    const path = join(own.cwd, "kept.txt");
    writeFileSync(path, "old");
    await own.call(readTool, { file_path: path });
    await expect(own.call(writeTool, { file_path: path, content: "new" })).rejects.toThrow(
      "could not be kept for undo",
    );
    expect(text(path)).toBe("old");
  });

  test.each(["pipe", "/dev/null", "/dev/zero"])("does not write to %s", async (path) => {
    Bun.spawnSync(["mkfifo", join(bench.cwd, "pipe")]);
    await expect(bench.call(writeTool, { file_path: path, content: "x" })).rejects.toThrow(
      "This is a device, pipe or socket, not a regular file",
    );
  });

  test("says what is wrong with a path", async () => {
    mkdirSync(join(bench.cwd, "dir"));
    await expect(write(join(bench.cwd, "dir"), "x")).rejects.toThrow("is a directory");
    await expect(write(join(file("x"), "below"), "x")).rejects.toThrow("A parent of this path is a file");
    await expect(write("/proc/nope/x", "x")).rejects.toThrow(/proc\/nope/);
    await expect(write("/dev/full", "x")).rejects.toThrow("device");
  });
});
