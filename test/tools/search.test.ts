import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdirSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import * as v from "valibot";
import { holdDirectory } from "@/lib/held-directory.ts";
import { globTool } from "@/tools/glob.ts";
import { GrepArgs, grepTool } from "@/tools/grep.ts";
import { grepWithoutRipgrep } from "@/tools/grep-fallback.ts";
import { lsTool } from "@/tools/ls.ts";
import { walkFiles } from "@/tools/search.ts";
import { openWorkbench } from "./support.ts";

const bench = openWorkbench();
const TREE: Record<string, string> = {
  ".git/config.ts": "needle",
  ".gitignore": "ignored/\n*.min.ts\n",
  ".github/ci.ts": "needle\n",
  "ignored/x.ts": "needle",
  "a.min.ts": "needle",
  "-dash.ts": "needle\n",
  "src/a.ts": "one\nneedle --pre=./evil\nthree\n",
  "src/b.js": "Needle\nx\nx\nneedle\nneedle\n",
  "src/deep/new\nline.ts": "needle\n",
  "bin.ts": "\0needle",
};
beforeAll(() => {
  for (const [name, content] of Object.entries(TREE)) {
    mkdirSync(dirname(join(bench.cwd, name)), { recursive: true });
    writeFileSync(join(bench.cwd, name), content);
  }
  writeFileSync(join(bench.cwd, "evil"), "#!/bin/sh\ntouch pwned\n", { mode: 0o755 });
  symlinkSync("/etc", join(bench.cwd, "outside"));
  utimesSync(join(bench.cwd, "src/a.ts"), 1, 1);
});
afterAll(() => bench[Symbol.asyncDispose]());

const grep = async (args: object): Promise<string> => (await bench.call(grepTool, args)).output;
const glob = async (args: object): Promise<string> =>
  (await bench.call(globTool, args)).output.replaceAll(`${bench.cwd}/`, "");

describe("Glob", () => {
  test.each([
    [{ pattern: "*.ts" }, "-dash.ts\n.github/ci.ts\nbin.ts\nsrc/a.ts\nsrc/deep/new\\nline.ts"],
    [{ pattern: "src/*.{ts,js}" }, "src/a.ts\nsrc/b.js"],
    [{ pattern: "./src/**/*.ts" }, "src/a.ts\nsrc/deep/new\\nline.ts"],
    [{ pattern: "*.ts", path: "src/deep" }, "src/deep/new\\nline.ts"],
    [{ pattern: "-dash*" }, "-dash.ts"],
    [{ pattern: "nothing*" }, "No files found"],
    [{ pattern: "outside/*" }, "No files found"],
  ])("%p", async (args, expected) => expect(await glob(args)).toBe(expected));

  test("an absolute pattern has its own root, and asks for that root", async () => {
    const args = globTool.parse({ pattern: `${bench.cwd}/src/*.js` });
    expect(globTool.targets(args, bench.context())).toEqual([
      { kind: "file", family: "Glob", path: `${bench.cwd}/src` },
    ]);
    expect(await glob(args)).toBe("src/b.js");
  });

  test("wildcards do not bring ignored files back", async () =>
    expect(await glob({ pattern: "**/*" })).not.toContain("ignored/"));
  test("a missing root is named", () => expect(glob({ pattern: "*", path: "nope" })).rejects.toThrow("does not exist"));
});

describe("Grep", () => {
  test.each([
    [
      "files",
      { pattern: "needle" },
      "Found 5 files\n-dash.ts\n.github/ci.ts\nsrc/a.ts\nsrc/b.js\nsrc/deep/new\\nline.ts",
    ],
    [
      "a page of files",
      { pattern: "needle", head_limit: 2, offset: 1 },
      "Found 5 files (showing 2)\n.github/ci.ts\nsrc/a.ts",
    ],
    [
      "count",
      { pattern: "needle", output_mode: "count", path: "src" },
      "src/a.ts:1\nsrc/b.js:2\nsrc/deep/new\\nline.ts:1\nFound 4 matching lines in 3 files.",
    ],
    [
      "content",
      { pattern: "needle", output_mode: "content", path: "src/b.js" },
      "src/b.js:4:needle\nsrc/b.js:5:needle",
    ],
    [
      "no line numbers",
      { pattern: "needle", output_mode: "content", path: "src/b.js", "-n": false },
      "src/b.js:needle\nsrc/b.js:needle",
    ],
    [
      "case",
      { pattern: "needle", "-i": "true", output_mode: "count", glob: "*.js" },
      "src/b.js:3\nFound 3 matching lines in 1 file.",
    ],
    [
      "context",
      { pattern: "needle", output_mode: "content", type: "js", "-i": true, "-A": 1 },
      "src/b.js:1:Needle\nsrc/b.js-2-x\n--\nsrc/b.js:4:needle\nsrc/b.js:5:needle",
    ],
    [
      "the context argument",
      { pattern: "one", output_mode: "content", context: 1 },
      "src/a.ts:1:one\nsrc/a.ts-2-needle --pre=./evil",
    ],
    [
      "multiline",
      { pattern: "one.*three", multiline: true, output_mode: "content" },
      "src/a.ts:1:one\nsrc/a.ts:2:needle --pre=./evil\nsrc/a.ts:3:three",
    ],
    ["nothing", { pattern: "absent" }, "No files found"],
    ["no lines", { pattern: "absent", output_mode: "content" }, "No matches found"],
    ["no counts", { pattern: "absent", output_mode: "count" }, "Found 0 matching lines in 0 files."],
    [
      "a glob of everything",
      { pattern: "needle", glob: "**/*", output_mode: "count", path: "ignored/.." },
      expect.not.stringContaining("ignored/x.ts"),
    ],
  ] as const)("%s", async (_, args, expected) => expect(await grep(args)).toEqual(expected));

  test("neither pattern nor path nor glob can become an option of ripgrep", async () => {
    expect(await grep({ pattern: "--pre=./evil", output_mode: "content" })).toBe("src/a.ts:2:needle --pre=./evil");
    expect(await grep({ pattern: "needle", path: "-dash.ts" })).toBe("Found 1 file\n-dash.ts");
    await grep({ pattern: "needle", glob: "--pre=./evil" });
    expect(await Bun.file(join(bench.cwd, "pwned")).exists()).toBe(false);
  });

  test("a repository's ripgrep configuration is not read", async () => {
    writeFileSync(join(bench.cwd, "rgrc"), "--files-without-match\n");
    await using own = openWorkbench({ vars: { RIPGREP_CONFIG_PATH: join(bench.cwd, "rgrc") } });
    expect((await own.call(grepTool, { pattern: "needle", path: join(bench.cwd, "-dash.ts") })).output).toContain(
      "Found 1 file",
    );
  });

  test("long results page on, and stay below the limit", async () => {
    writeFileSync(join(bench.cwd, "long.txt"), `${"hay ".repeat(50)}\n`.repeat(400));
    const text = await grep({ pattern: "hay", output_mode: "content", path: "long.txt", head_limit: 0 });
    expect(text.length).toBeLessThan(10_500);
    const page = await grep({ pattern: "hay", output_mode: "content", path: "long.txt", head_limit: 3 });
    expect(page).toEndWith("[Lines 1-3 of 400; continue with offset 3.]");
  });

  test.each([
    [{ pattern: "(" }, "unclosed group"],
    [{ pattern: "x", type: "nope" }, "unrecognized file type: nope"],
    [{ pattern: "x", path: "nope" }, "Path does not exist"],
    [{ pattern: "x", output: "count" }, 'unknown argument "output". Did you mean "output_mode"?'],
  ])("%p is an error the model can act on", (args, message) => expect(grep(args)).rejects.toThrow(message));

  test("stops with the turn", () =>
    expect(bench.call(grepTool, { pattern: "x", path: "/" }, { signal: AbortSignal.timeout(30) })).rejects.toThrow());
});

test("what was found is found again, however it is written", async () => {
  await using own = openWorkbench();
  const files: Record<string, string | Uint8Array> = {
    "bom.txt": "\ufeffneedle 1\nx\nneedle 2\r\nlast needle",
    "utf16.txt": Buffer.from("\ufeffä\nneedle ü\n", "utf16le"),
    "latin1.txt": Buffer.from("caf\xe9\nneedle caf\xe9 x\n", "latin1"),
    "long.txt": `first\n${"é".repeat(700)} needle ${"x".repeat(2_000)} needle\nneedle\n`,
    "note.txt": "needle [... omitted end of long line]\n",
    "sub/12:34:x.txt": "12-needle:3\n",
  };
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(own.cwd, name)), { recursive: true });
    writeFileSync(join(own.cwd, name), content);
  }
  for (const more of [{}, { "-n": false }, { "-C": 1 }, { "-n": false, "-C": 2 }, { multiline: true }]) {
    const content = { pattern: "needle", output_mode: "content", ...more };
    const { output } = await own.call(grepTool, content);
    const single = await Promise.all(
      Object.keys(files).map(async (path) => (await own.call(grepTool, { ...content, path })).output.split("\n")),
    );
    expect(output.split("\n").filter((line) => line !== "--")).toEqual(
      single
        .flat()
        .filter((line) => line !== "--")
        .sort((a, b) => order(a) - order(b)),
    );
  }
  function order(line: string): number {
    return Object.keys(files)
      .toSorted()
      .findIndex((name) => line.startsWith(name));
  }
});

test.each([true, false])(
  "a glob begins where the search does, or at the working directory (ripgrep: %p)",
  async (rg) => {
    await using own = openWorkbench();
    if (!rg) own.services.findRipgrep = () => null;
    for (const name of ["src/deep/a.ts", "src/b.ts", "deep/c.ts"]) {
      mkdirSync(dirname(join(own.cwd, name)), { recursive: true });
      writeFileSync(join(own.cwd, name), "needle\n");
    }
    const found = async (args: object) =>
      (await own.call(grepTool, { pattern: "needle", ...args })).output
        .split("\n\n")[0]!
        .split("\n")
        .slice(1)
        .join(" ");
    expect(await found({ path: "src", glob: "deep/*.ts" })).toBe("src/deep/a.ts");
    expect(await found({ path: "src", glob: "src/*.ts" })).toBe("src/b.ts");
    expect(await found({ path: join(own.cwd, "src"), glob: "src/**/*.ts" })).toBe("src/b.ts src/deep/a.ts");
    expect(await found({ glob: "src/*.ts" })).toBe("src/b.ts");
    expect(await found({ path: "src", glob: "*.ts" })).toBe("src/b.ts src/deep/a.ts");
  },
);

test("a pipe is not searched", async () => {
  await using own = openWorkbench();
  Bun.spawnSync(["mkfifo", join(own.cwd, "pipe")]);
  writeFileSync(join(own.cwd, "a"), "needle\n");
  await expect(own.call(grepTool, { pattern: "x", path: "pipe" })).rejects.toThrow("not a regular file");
  expect((await own.call(grepTool, { pattern: "needle" })).output).toBe("Found 1 file\na");
  own.services.findRipgrep = () => null;
  expect((await own.call(grepTool, { pattern: "needle" })).output).toStartWith("Found 1 file\na");
});

test("files that rules keep from the model are in no result", async () => {
  await using own = openWorkbench({ isHidden: (path) => path.endsWith("/b.js") });
  const search = { path: join(bench.cwd, "src"), pattern: "needle" };
  expect((await own.call(grepTool, search)).output).toStartWith("Found 2 files\n");
  expect((await own.call(grepTool, { ...search, output_mode: "count" })).output).toEndWith("in 2 files.");
  expect((await own.call(globTool, { ...search, pattern: "*.js" })).output).toBe("No files found");
});

test("a search prints no secrets by the way, and says so; the file itself can be searched", async () => {
  await using own = openWorkbench();
  writeFileSync(join(own.cwd, "server.pem"), "needle: private\n");
  writeFileSync(join(own.cwd, "notes.txt"), "needle: public\n");
  const content = { pattern: "needle", output_mode: "content" };
  const { output } = await own.call(grepTool, content);
  expect(output).not.toContain("private");
  expect(output).toContain("notes.txt:1:needle: public");
  expect(output).toContain("look like secrets are left out");
  expect((await own.call(grepTool, { ...content, path: "server.pem" })).output).toContain("private");
});

describe("without ripgrep", () => {
  test("walks the tree, without .git and without following links", () => {
    using root = holdDirectory(bench.cwd);
    const files = [...walkFiles(root, new AbortController().signal)].map(({ path }) => path);
    expect(files).toContain("ignored/x.ts");
    expect(files.filter((path) => path.startsWith(".git/") || path.startsWith("outside/"))).toEqual([]);
  });

  test.each([
    [{ pattern: "needle", path: "src", output_mode: "content" }],
    [{ pattern: "needle", path: "src", output_mode: "count" }],
    [{ pattern: "needle", path: "src" }],
    [{ pattern: "needle", path: "src", output_mode: "content", "-C": 1, "-i": true }],
    [{ pattern: "one.*three", path: "src", output_mode: "content", multiline: true, glob: "*.ts" }],
  ])("finds the same: %p", async (given) => {
    const args = v.parse(GrepArgs, given);
    const path = join(bench.cwd, "src");
    using folder = holdDirectory(path);
    const records = await grepWithoutRipgrep(args, { place: { lexical: path, real: path }, folder }, bench.context());
    const shown = records.map(({ path, rest }) =>
      args.output_mode === "content" ? `${path}${/^\d+-/.test(rest) ? "-" : ":"}${rest}` : path,
    );
    const real = (await grep(given)).split("\n").filter((line) => line.startsWith("src/"));
    expect(shown).toEqual(args.output_mode === "count" ? real.map((line) => line.replace(/:\d+$/, "")) : real);
  });
});

test("LS lists directories first, marks links, leaves out what is ignored", async () => {
  const { output } = await bench.call(lsTool, { path: bench.cwd, ignore: ["*.ts", ".letta"] });
  expect(output.split("\n").slice(0, 6)).toEqual([
    `- ${bench.cwd}/`,
    "    - .git/",
    "    - .github/",
    "    - ignored/",
    "    - src/",
    "    - .gitignore",
  ]);
  expect(output).toContain("    - outside@");
  expect((await bench.call(lsTool, { path: "src/deep" })).output).toBe(`- ${bench.cwd}/src/deep/\n    - new\\nline.ts`);
  await expect(bench.call(lsTool, { path: "src/a.ts" })).rejects.toThrow("Not a directory");
  await expect(bench.call(lsTool, { path: "gone" })).rejects.toThrow("Directory does not exist");
});
