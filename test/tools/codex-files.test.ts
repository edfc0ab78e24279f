import { afterAll, describe, expect, test } from "bun:test";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { builtinTools } from "@/tools/builtin.ts";
import { codexReadFileTool, grepFilesTool, listDirTool } from "@/tools/codex-files.ts";
import { blockAround } from "@/tools/indentation.ts";
import { createToolRegistry } from "@/tools/registry.ts";
import { openWorkbench } from "./support.ts";

const bench = openWorkbench();
afterAll(() => bench[Symbol.asyncDispose]());
const { cwd } = bench;
mkdirSync(join(cwd, "d/sub/deep"), { recursive: true });
for (const name of ["d/b.txt", "d/sub/c.txt", "d/sub/deep/e.txt"]) writeFileSync(join(cwd, name), "needle\n");
symlinkSync("b.txt", join(cwd, "d/link"));
const output = async (tool: Parameters<typeof bench.call>[0], args: object) => (await bench.call(tool, args)).output;

const CODE = `import x

# Adds.
class A:
    def one(self):
        return 1

    def two(self):
        if x:
            y()
        return 2

class B:
    pass`;

describe("read_file", () => {
  test("a slice, numbered, long lines cut", async () => {
    writeFileSync(join(cwd, "f.txt"), `a\r\n${"x".repeat(600)}\nc\n`);
    expect(await output(codexReadFileTool, { file_path: "f.txt", offset: 2, limit: 2 })).toBe(
      `L2: ${"x".repeat(500)}\nL3: c`,
    );
    await expect(bench.call(codexReadFileTool, { file_path: "f.txt", offset: 4 })).rejects.toThrow("beyond the end");
  });

  test("the block around a line", async () => {
    writeFileSync(join(cwd, "code.py"), CODE);
    const args = { file_path: "code.py", mode: "indentation", indentation: { anchor_line: 10, max_levels: 1 } };
    expect(await output(codexReadFileTool, args)).toBe(
      "L9:         if x:\nL10:             y()\nL11:         return 2",
    );
  });
});

test.each([
  ["one level up", 10, { maxLevels: 1 }, [9, 11]],
  ["two levels up, without the neighbour", 10, { maxLevels: 2 }, [8, 11]],
  ["two levels up, with it", 10, { maxLevels: 2, siblings: true }, [5, 11]],
  ["the header comment", 5, { maxLevels: 1 }, [3, 13]],
  ["no header comment", 5, { maxLevels: 1, header: false }, [4, 13]],
  ["so many lines", 9, { maxLevels: 2, maxLines: 2 }, [8, 9]],
  ["the anchor alone", 9, { maxLines: 1 }, [9, 9]],
] as const)("block: %s", (_, anchor, options, [first, last]) => {
  const all = { maxLines: 100, maxLevels: 0, siblings: false, header: true, ...options };
  expect(blockAround(CODE.split("\n"), anchor, all)).toEqual({ first, last });
});

test("list_dir is a tree, in pages", async () => {
  expect(await output(listDirTool, { dir_path: "d" })).toBe(
    `Absolute path: ${cwd}/d\nb.txt\nlink@\nsub/\n  c.txt\n  deep/`,
  );
  expect(await output(listDirTool, { dir_path: "d", depth: 3, offset: 4, limit: 2 })).toBe(
    `Absolute path: ${cwd}/d\n  c.txt\n  deep/\nMore entries follow; continue with offset 6.`,
  );
  await expect(bench.call(listDirTool, { dir_path: "d/b.txt" })).rejects.toThrow("Not a directory");
});

test("grep_files names files", async () => {
  expect(await output(grepFilesTool, { pattern: "needle", path: "d", include: "c.*" })).toBe(
    "Found 1 file\nd/sub/c.txt",
  );
});

test("a name that two tools have means the one of the set", () => {
  const registry = createToolRegistry(builtinTools());
  const pick = (toolset: "default" | "gemini_snake") =>
    registry.select({ toolset, interactive: true, only: ["read_file"] }).tools[0]!.description;
  expect(pick("default")).toBe(codexReadFileTool.description);
  expect(pick("gemini_snake")).toStartWith("Reads a file as numbered lines");
});
