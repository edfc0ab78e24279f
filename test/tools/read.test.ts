import { afterAll, expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { deflateSync } from "node:zlib";
import type { ContentPart } from "@/backend/wire.ts";
import { readTool } from "@/tools/read.ts";
import { openWorkbench } from "./support.ts";

const bench = openWorkbench();
afterAll(() => bench[Symbol.asyncDispose]());

function file(name: string, content: string | Uint8Array): string {
  const path = join(bench.cwd, name);
  writeFileSync(path, content);
  return path;
}
const read = async (file_path: string, more = {}): Promise<string> =>
  (await bench.call(readTool, { file_path, ...more })).output;

test.each([
  ["lines are numbered from 1", "a\nb\n", {}, "1\ta\n2\tb"],
  ["CRLF is not shown", "a\r\nb", {}, "1\ta\n2\tb"],
  ["a byte order mark is not shown", "\ufeffa\n", {}, "1\ta"],
  ["UTF-16 is read", Buffer.from("\ufeffhé\n", "utf16le"), {}, "1\thé"],
  ["offset is a line number", "a\nb\nc\n", { offset: 2 }, "2\tb\n3\tc"],
  ["offset 0 is line 1", "a\nb\n", { offset: 0 }, "1\ta\n2\tb"],
  ["limit", "a\nb\nc\n", { limit: 2 }, "1\ta\n2\tb\n\n[Lines 1-2 of 3 shown. Continue with offset 3.]"],
  ["a blank last line counts", "a\n\n", {}, "1\ta\n2\t"],
  ["an empty file", "", {}, "<system-reminder>\nThe file exists but is empty.\n</system-reminder>"],
  ["only whitespace", " \n\n", {}, "<system-reminder>\nThe file exists but holds only whitespace.\n</system-reminder>"],
])("%s", async (name, content, more, expected) =>
  expect(await read(file(`${name}.txt`, content), more)).toBe(expected),
);

test("long files and long lines are cut, and say how to go on", async () => {
  const many = await read(file("many.txt", "x\n".repeat(2_500)));
  expect(many).toEndWith("2000\tx\n\n[Lines 1-2000 of 2,500 shown. Continue with offset 2001.]");
  const wide = await read(file("wide.txt", `${"y".repeat(5_000)}\n`.repeat(40)));
  expect(wide.length).toBeLessThan(30_500);
  expect(wide).toEndWith("[Lines over 2,000 characters are cut.]\n[Lines 1-14 of 40 shown. Continue with offset 15.]");
  const projects = bench.services.paths.projects;
  expect(() => readdirSync(projects)).toThrow("ENOENT"); // The file itself is the full copy.
});

test("what cannot be read is named", async () => {
  mkdirSync(join(bench.cwd, "folder"));
  file("config.json", "{}");
  spawnSync("mkfifo", [join(bench.cwd, "fifo")]);
  const cases: [string, object, string | RegExp][] = [
    ["folder", {}, "This is a directory, not a file"],
    ["conifg.json", {}, `(current directory: ${bench.cwd}). Did you mean ${bench.cwd}/config.json?`],
    ["no/such/place", {}, "File does not exist"],
    ["fifo", {}, "not a regular file"],
    ["/dev/zero", {}, "not a regular file"],
    ["a\0b", {}, "NUL"],
    [file("bin", new Uint8Array([1, 0, 2])), {}, "binary file"],
    [file("latin1.txt", Buffer.from("caf\xe9 au lait", "latin1")), {}, "Not valid UTF-8"],
    [file("doc.pdf", "%PDF-1.7\n"), {}, "pdftotext"],
    [file("big.txt", Buffer.alloc(11 * 1024 * 1024, "a\n")), {}, "too large (11,534,336 bytes)"],
    ["config.json", { offset: 5 }, "offset 5 is beyond the end: the file has 1 lines"],
    [join(file("f", ""), "below"), {}, "A parent of this path is a file"],
  ];
  for (const [path, more, message] of cases) await expect(read(path, more)).rejects.toThrow(message);
});

test("files of /proc are read, never waited for", async () => {
  expect(await read("/proc/self/status")).toContain("\tName:");
});

test("hostile names", async () => {
  for (const name of ["-rf", "new\nline.txt", "$(touch x)", "ünïcode", " space "]) {
    expect(await read(file(name, "ok\n"))).toBe("1\tok");
  }
});

/** A valid PNG of one colour. */
function png(width: number, height: number, noise = false): Buffer {
  const chunk = (type: string, data: Buffer): Buffer => {
    const body = Buffer.concat([Buffer.from(type), data]);
    const frame = Buffer.alloc(8);
    frame.writeUInt32BE(data.length, 0);
    frame.writeUInt32BE(Bun.hash.crc32(body), 4);
    return Buffer.concat([frame.subarray(0, 4), body, frame.subarray(4)]);
  };
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([8, 2, 0, 0, 0], 8);
  const rows = Buffer.alloc((width * 3 + 1) * height, 0x7f);
  if (noise) crypto.getRandomValues(rows.subarray(0, 60_000));
  for (let row = 0; row < height; row++) rows[row * (width * 3 + 1)] = 0;
  const signature = Buffer.from("\x89PNG\r\n\x1a\n", "latin1");
  return Buffer.concat([
    signature,
    chunk("IHDR", header),
    chunk("IDAT", deflateSync(rows)),
    chunk("IEND", Buffer.alloc(0)),
  ]);
}

async function readImage(path: string): Promise<ContentPart[]> {
  const result = await readTool.run(readTool.parse({ file_path: path }), bench.context());
  if (typeof result === "string" || typeof result.output === "string") throw new Error("expected parts");
  return result.output;
}

test("a small image goes through untouched, whatever its name", async () => {
  const bytes = png(20, 10);
  expect(await readImage(file("picture.txt", bytes))).toEqual([
    { type: "text", text: "[Image: picture.txt, 20x10]" },
    { type: "image", source: { type: "base64", media_type: "image/png", data: bytes.toString("base64") } },
  ]);
});

test("a large image is scaled to fit", async () => {
  const [note, image] = await readImage(file("large.png", png(3_000, 1_500)));
  expect(note).toEqual({ type: "text", text: "[Image: large.png, 3000x1500, scaled down or converted]" });
  if (image?.type !== "image") throw new Error("expected an image");
  const scaled = await new Bun.Image(Buffer.from(image.source.data, "base64")).metadata();
  expect([scaled.width, scaled.height, image.source.media_type]).toEqual([2_000, 1_000, "image/png"]);
});

test("a picture that claims to be enormous, and one that is broken, are refused", async () => {
  const huge = png(4, 4);
  huge.writeUInt32BE(60_000, 16);
  huge.writeUInt32BE(60_000, 20);
  await expect(readImage(file("huge.png", huge))).rejects.toThrow("huge.png");
  await expect(readImage(file("broken.png", png(4, 4).subarray(0, 12)))).rejects.toThrow("cannot be read: broken.png");
});
