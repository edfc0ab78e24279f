import { afterAll, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { BoundedOutput, cleanOverflowFiles, overflowPath, truncateOutput } from "@/tools/output.ts";
import { OutputText } from "@/tools/output-text.ts";

const folders: string[] = [];
function directory(): string {
  const folder = mkdtempSync(join(tmpdir(), "letta-output-"));
  folders.push(folder);
  return folder;
}
afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

test("what fits is left alone and makes no file", () => {
  expect(truncateOutput("x".repeat(100), { maxChars: 100 })).toBe("x".repeat(100));
});

test("middle truncation says how much is missing and where it is", () => {
  const file = join(directory(), "sub/out.txt");
  const text = "a".repeat(4_000) + "b".repeat(4_000);
  expect(truncateOutput(text, { maxChars: 100, file })).toBe(
    [
      "a".repeat(50),
      "... [7,900 characters omitted] ...",
      "b".repeat(50),
      "",
      "[Output truncated: showing 100 of 8,000 characters.]",
      `[Full output written to: ${file}]`,
    ].join("\n"),
  );
  expect(readFileSync(file, "utf8")).toBe(text);
  expect(statSync(file).mode & 0o777).toBe(0o600);
  expect(statSync(join(file, "..")).mode & 0o777).toBe(0o700);
});

test("cuts on line boundaries when they are near, and never inside a character", () => {
  const lines = Array.from({ length: 2_000 }, (_, index) => `line ${index}`).join("\n");
  const cut = truncateOutput(lines, { maxChars: 1_000 });
  const [head = "", tail = ""] = cut.split(/\.\.\. \[.*\] \.\.\./);
  expect(lines.startsWith(head)).toBe(true);
  expect(head.endsWith("\n")).toBe(true);
  expect(tail.trimStart()).toMatch(/^line \d+\n/);
  expect(truncateOutput("😀".repeat(5_000), { maxChars: 1_002 }).isWellFormed()).toBe(true);
});

test("any split into pieces gives the same text", () => {
  const text = Array.from({ length: 900 }, (_, index) => `row ${index} ${"x".repeat(index % 60)}`).join("\n");
  const whole = truncateOutput(text, { maxChars: 999 });
  for (const size of [1, 7, 333, 501, 5_000]) {
    const output = new BoundedOutput({ maxChars: 999 });
    for (let at = 0; at < text.length; at += size) output.push(text.slice(at, at + size));
    expect(output.finish()).toBe(whole);
  }
});

test("a file that cannot be written is not announced", () => {
  const blocked = join(directory(), "file");
  writeFileSync(blocked, "");
  expect(truncateOutput("x".repeat(500), { maxChars: 100, file: join(blocked, "out.txt") })).not.toContain(
    "written to",
  );
});

test("overflow paths are per project; none when switched off", () => {
  const paths = { projects: "/h/.letta/projects" } as never;
  expect(overflowPath({ paths, env: { overflowToFile: false } }, "/w", "Bash")).toBeUndefined();
  expect(overflowPath({ paths, env: { overflowToFile: true } }, "/work/my  dir", "Bash")).toMatch(
    /^\/h\/\.letta\/projects\/work_my_dir\/agent-tools\/bash-[0-9a-f-]{36}\.txt$/,
  );
});

test("cleaning removes old overflow files of every project", () => {
  const projects = directory();
  const file = (project: string, name: string): string => {
    mkdirSync(join(projects, project, "agent-tools"), { recursive: true });
    writeFileSync(join(projects, project, "agent-tools", name), "x");
    return join(projects, project, "agent-tools", name);
  };
  const [old, young] = [file("a", "old.txt"), file("b", "young.txt")];
  utimesSync(old, 1_000, 1_000);
  cleanOverflowFiles(projects);
  expect([statSync(old, { throwIfNoEntry: false }), statSync(young).size]).toEqual([undefined, 1]);
  cleanOverflowFiles(join(projects, "missing"));
});

function clean(...pieces: (string | Uint8Array)[]): string {
  const text = new OutputText();
  const parts = pieces.map((piece) => text.push(typeof piece === "string" ? Buffer.from(piece) : piece).text);
  return parts.join("") + text.finish().text;
}

test.each([
  ["plain text", ["a\nb"], "a\nb"],
  ["colours", ["\x1b[1;31mred\x1b[0m\n"], "red\n"],
  ["a colour split between reads", ["x\x1b[1;", "31mred\n"], "xred\n"],
  ["a title and a link", ["\x1b]0;evil\x07\x1b]8;;http://x\x1b\\a\x1b]8;;\x1b\\\n"], "a\n"],
  ["an unfinished sequence", ["done\x1b[3"], "done"],
  ["a progress line", ["10%\r50%\r100%\ndone\r\n"], "100%\ndone\n"],
  ["a progress line split between reads", ["10%\r5", "0%\r100", "%\n"], "100%\n"],
  ["controls", ["a\x07b\x08c\td\n"], "abc\td\n"],
  ["a byte that is not UTF-8", [new Uint8Array([0x61, 0xe9, 0x62, 0x0a])], "a\ufffdb\n"],
])("%s", (_, pieces, expected) => expect(clean(...pieces)).toBe(expected));

test("UTF-8 split at every byte stays whole", () => {
  const bytes = Buffer.from("naïve 漢字 😀\n");
  for (let at = 1; at < bytes.length; at++) {
    expect(clean(bytes.subarray(0, at), bytes.subarray(at))).toBe("naïve 漢字 😀\n");
  }
  expect(clean(...[...bytes].map((byte) => new Uint8Array([byte])))).toBe("naïve 漢字 😀\n");
});

test("binary data is described, text around it stays", () => {
  const binary = Uint8Array.from({ length: 5_000 }, (_, index) => (index * 7) % 256);
  const text = clean("before\n", binary, "\nafter it\n");
  expect(text).toMatch(/^before\n\[about [\d,]+ bytes of binary data not shown\]\nafter it\n$/);
});

test.each([
  ["unfinished strings", "\u0090".repeat(200_000)],
  ["unfinished sequences", "\x1b[".repeat(200_000)],
  ["titles without end", "\x1b]0;".repeat(200_000)],
  ["one line without end", "x".repeat(5_000_000)],
  ["carriage returns", "50%\r".repeat(500_000)],
  ["blank lines", "\n".repeat(1_000_000)],
])("hostile output takes linear time: %s", (_, text) => {
  const began = performance.now();
  clean(text);
  expect(performance.now() - began).toBeLessThan(3_000);
});
