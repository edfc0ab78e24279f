import { afterAll, describe, expect, test } from "bun:test";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import {
  globFilesTool,
  listDirectoryTool,
  readFileTool,
  replaceTool,
  searchFileContentTool,
  writeFileTool,
} from "@/tools/gemini-files.ts";
import { readManyFilesTool } from "@/tools/read-many-files.ts";
import { runShellCommandTool } from "@/tools/run-shell-command.ts";
import { openWorkbench } from "./support.ts";

const bench = openWorkbench({ isHidden: (path) => path.endsWith("hidden.ts") });
afterAll(() => bench[Symbol.asyncDispose]());
const { cwd } = bench;

mkdirSync(join(cwd, ".git"));
mkdirSync(join(cwd, "src/node_modules"), { recursive: true });
const files: Record<string, string> = {
  "src/a.ts": "one\ntwo\nthree\n",
  "src/B.TS": "upper\n",
  "src/hidden.ts": "hidden needle\n",
  "src/ignored.ts": "ignored\n",
  "src/.env": "KEY=1\n",
  "src/gemini-ignored.ts": "g\n",
  "src/node_modules/dep.ts": "dep\n",
  "src/data.bin": "\0\0",
  "readme.md": "# read\n",
  ".gitignore": "ignored.ts\n",
  ".geminiignore": "gemini-ignored.ts\n",
};
for (const [name, content] of Object.entries(files)) writeFileSync(join(cwd, name), content);
const output = async (tool: Parameters<typeof bench.call>[0], args: object) => (await bench.call(tool, args)).output;

test("read_file skips lines from 0", async () => {
  expect(await output(readFileTool, { file_path: "src/a.ts", offset: 0, limit: 1 })).toStartWith("1\tone\n");
  expect(await output(readFileTool, { file_path: "src/a.ts", offset: 2 })).toBe("3\tthree");
});

describe("replace", () => {
  test("one occurrence, or exactly as many as expected", async () => {
    const path = join(cwd, "r.txt");
    writeFileSync(path, "a a b\r\n");
    const replace = (args: object) => bench.call(replaceTool, { file_path: path, ...args });
    await expect(replace({ old_string: "a", new_string: "x" })).rejects.toThrow("occurs 2 times");
    await expect(replace({ old_string: "a", new_string: "x", expected_replacements: 3 })).rejects.toThrow(
      "Expected 3 occurrences",
    );
    await replace({ old_string: "a", new_string: "x", expected_replacements: 2 });
    expect(readFileSync(path, "utf8")).toBe("x x b\r\n");
  });
});

test("write_file does not overwrite what was never read", async () => {
  await expect(bench.call(writeFileTool, { file_path: "readme.md", content: "x" })).rejects.toThrow("not read it");
  expect(await output(writeFileTool, { file_path: "new/w.txt", content: "w" })).toContain("Created");
});

test("glob: any case unless told, ignore files unless told", async () => {
  const found = async (args: object) =>
    (await output(globFilesTool, { dir_path: "src", ...args })).split("\n").map((path) => path.slice(cwd.length + 5));
  expect(await found({ pattern: "*.ts" })).toEqual(["B.TS", "a.ts", "node_modules/dep.ts"]);
  expect(await found({ pattern: "*.ts", case_sensitive: true, respect_gemini_ignore: false })).toEqual([
    "a.ts",
    "gemini-ignored.ts",
    "node_modules/dep.ts",
  ]);
  expect(await found({ pattern: "ig*.ts", respect_git_ignore: false })).toEqual(["ignored.ts"]);
});

test("list_directory and search_file_content are LS and Grep", async () => {
  expect(await output(listDirectoryTool, { dir_path: "src", ignore: ["*.ts", "*.bin"] })).toBe(
    `- ${join(cwd, "src")}/\n    - node_modules/\n    - .env\n    - B.TS`,
  );
  expect(await output(searchFileContentTool, { pattern: "t[wh]", dir_path: "src", include: "*.ts" })).toBe(
    "src/a.ts:2:two\nsrc/a.ts:3:three",
  );
});

describe("read_many_files", () => {
  test("reads what globs and paths name, and says what it left out", async () => {
    expect(await output(readManyFilesTool, { include: ["src/*", "readme.md", "nope.txt"] })).toBe(
      [
        `--- ${join(cwd, "src/B.TS")} ---\n\nupper\n\n`,
        `--- ${join(cwd, "src/a.ts")} ---\n\none\ntwo\nthree\n\n`,
        `--- ${join(cwd, "readme.md")} ---\n\n# read\n\n`,
        "--- End of content ---\n",
        `[Left out: ${join(cwd, "src/.env")} (looks like a secret; read it by its own path); `,
        `${join(cwd, "src/data.bin")} (This is a binary file); ${join(cwd, "nope.txt")} (File does not exist)]`,
      ].join(""),
    );
  });

  test("excludes, and no more than fits", async () => {
    writeFileSync(join(cwd, "big.txt"), "x".repeat(30_000 - cwd.length - 40));
    const text = await output(readManyFilesTool, { include: ["big.txt", "**/*.ts"], exclude: ["**/B.TS"] });
    expect(text).not.toContain("dep");
    expect(text).toEndWith(`--- End of content ---\n[Left out: ${join(cwd, "src/a.ts")} (no room)]`);
  });

  test("permission: paths are read, globs search their directory", () => {
    const include = ["src/../readme.md", "../other/**/*.ts", "src"];
    expect(readManyFilesTool.targets(readManyFilesTool.parse({ include }), bench.context())).toEqual([
      { kind: "file", family: "Read", path: join(cwd, "readme.md") },
      { kind: "file", family: "Grep", path: join(cwd, "../other") },
      { kind: "file", family: "Grep", path: join(cwd, "src") },
    ]);
  });
});

test("run_shell_command runs where it is told", async () => {
  expect(await output(runShellCommandTool, { command: "pwd", dir_path: "src" })).toBe(join(cwd, "src"));
  await expect(bench.call(runShellCommandTool, { command: "pwd", dir_path: "nope" })).rejects.toThrow(
    "Working directory not found",
  );
  expect(await bench.call(runShellCommandTool, { command: "echo no; exit 2" })).toMatchObject({
    status: "error",
    output: "Exit code: 2\nno",
  });
});
