import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { COMMANDS } from "@/frontends/repl/commands/registry.ts";
import { complete, rankFiles } from "@/frontends/repl/complete.ts";
import { listFiles } from "@/frontends/repl/files.ts";

const FILES = [
  "src/",
  "src/engine/",
  "src/engine/engine.ts",
  "src/main.ts",
  "docs/engineering.md",
  "a b/",
  "a b/c d.txt",
  "e",
];
const files = async () => FILES;

async function candidates(text: string, cursor = text.length): Promise<string[] | undefined> {
  return (await complete(text, cursor, COMMANDS, files))?.candidates.map((candidate) => candidate.text);
}

test.each([
  ["/un", ["/undo", "/unpin"]],
  ["/model", ["/model "]],
  ["/zzz", []],
  ["/model x", undefined],
  ["a /mo", undefined],
] as const)("%j", async (text, expected) =>
  expect((await candidates(text))?.toSorted()).toEqual(expected === undefined ? undefined : [...expected]),
);

test("names that begin with what was typed come first", async () => {
  expect((await candidates("/c"))?.slice(0, 2)).toEqual(["/clear", "/connect "]);
});

test.each([
  ["see @engine", ["src/engine/", "docs/engineering.md ", "src/engine/engine.ts "]],
  ["@main", ["src/main.ts "]],
  ["x=@main", ["src/main.ts "]],
  ['"@main', ["src/main.ts "]],
  ["mail@main", undefined],
  ["@.txt", ['"a b/c d.txt" ']],
  ["@nothing", []],
] as const)("%j", async (text, expected) =>
  expect(await candidates(text)).toEqual(expected === undefined ? undefined : [...expected]),
);

test("only the mention is replaced", async () => {
  expect(await complete("look @main now", 10, COMMANDS, files)).toMatchObject({ start: 5, end: 10 });
});

test("exact before prefix before substring before path; directories a little higher", () => {
  expect(rankFiles(["x/engine/y", "my-engine", "engine.ts", "engine", "engine/"], "engine")).toEqual([
    "engine/",
    "engine",
    "engine.ts",
    "my-engine",
    "x/engine/y",
  ]);
});

let root: string;
beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), "letta-files-"));
  const tree: Record<string, string> = {
    ".gitignore": "*.log\n/build/\n!keep.log\ntemp/**\n# comment\n",
    ".hidden": "",
    "a.ts": "",
    "x.log": "",
    "keep.log": "",
    "build/out.js": "",
    "src/build/in.js": "",
    "src/.gitignore": "local\n",
    "src/local": "",
    "src/deep/local": "",
    "temp/x": "",
    ".git/config": "",
    "node_modules/m/index.js": "",
  };
  for (const [path, text] of Object.entries(tree)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
  symlinkSync(root, join(root, "src", "loop"));
});
afterAll(() => rmSync(root, { recursive: true, force: true }));

test("hidden files are offered, ignored ones and version control are not, links end", async () => {
  expect((await listFiles(root)).toSorted()).toEqual([
    ".gitignore",
    ".hidden",
    "a.ts",
    "keep.log",
    "src/",
    "src/.gitignore",
    "src/build/",
    "src/build/in.js",
    "src/deep/",
    "src/loop/",
    "temp/",
  ]);
});

test("the listing is bounded and survives a missing directory", async () => {
  expect(await listFiles(root, 3)).toHaveLength(3);
  expect(await listFiles(join(root, "gone"))).toEqual([]);
});
