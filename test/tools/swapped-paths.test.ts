// A background command swaps a directory of the workspace, or a file in it, with a link to another place while a tool
// uses it. Whatever the moment: what was decided about is used, or nothing.

import { afterEach, describe, expect, test } from "bun:test";
import { lstatSync, mkdirSync, readdirSync, readFileSync, renameSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { openDatabase } from "@/store/db.ts";
import { createShadowStore, type ShadowStore } from "@/store/shadow.ts";
import { applyPatchTool } from "@/tools/apply-patch.ts";
import { codexReadFileTool, grepFilesTool, listDirTool } from "@/tools/codex-files.ts";
import type { AnyTool, ToolContext } from "@/tools/define-tool.ts";
import { editTool } from "@/tools/edit.ts";
import {
  globFilesTool,
  listDirectoryTool,
  readFileTool,
  replaceTool,
  searchFileContentTool,
  writeFileTool,
} from "@/tools/gemini-files.ts";
import { globTool } from "@/tools/glob.ts";
import { grepTool } from "@/tools/grep.ts";
import { lsTool } from "@/tools/ls.ts";
import { multiEditTool } from "@/tools/multi-edit.ts";
import { placeOf } from "@/tools/paths.ts";
import { readTool } from "@/tools/read.ts";
import { readManyFilesTool } from "@/tools/read-many-files.ts";
import { viewImageTool } from "@/tools/view-image.ts";
import { writeTool } from "@/tools/write.ts";
import { startExchanger } from "../support/exchanger.ts";
import { openWorkbench, until, type Workbench } from "./support.ts";

/** Enough for some dozen attempts; who looks at a path first and opens it then is led astray by every sixth. */
const ATTACK_MS = 400;
/** A busy machine may run the two in turns: so long an attempt may come that sees the swap. */
const PATIENCE_MS = 3_000;
const ATTEMPTS = 400;
const PNG = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==",
  "base64",
);
const SECRET_PNG = Buffer.concat([PNG, Buffer.from("secret")]);

let bench: Workbench;
let shadow: ShadowStore;
afterEach(() => bench[Symbol.asyncDispose]());

/** `work/dir` is the approved place, `outside` what the link in its place leads to. Names are the same in both. */
function world(options: Parameters<typeof openWorkbench>[0] = {}) {
  bench = openWorkbench({
    shadow: (paths) => {
      shadow = createShadowStore(openDatabase(":memory:"), paths);
      return shadow;
    },
    ...options,
  });
  const cwd = join(bench.home, "work");
  const [dir, outside] = [join(cwd, "dir"), join(bench.home, "outside")];
  for (const [folder, word] of [
    [dir, "mine"],
    [outside, "secret"],
  ] as const) {
    mkdirSync(join(folder, "sub"), { recursive: true });
    for (const name of ["file.txt", "sub/deep.txt"]) writeFileSync(join(folder, name), `${word} text\nend\n`);
    writeFileSync(join(folder, "image.png"), word === "mine" ? PNG : SECRET_PNG);
    writeFileSync(join(folder, `${word}.txt`), `${word} only here\nend\n`);
  }
  const evil = join(cwd, "evil");
  symlinkSync(outside, evil);
  symlinkSync(join(outside, "file.txt"), join(cwd, "evil.txt"));
  return { cwd, dir, outside, evil };
}

/** A tree as text. */
function tree(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .map((entry) => {
      const path = join(entry.parentPath, entry.name);
      return `${path} ${entry.isFile() ? readFileSync(path, "latin1") : ""}`;
    })
    .sort();
}

/** What the permission check hands over. */
function decide(tool: AnyTool, args: unknown, context: ToolContext): ToolContext {
  const targets = tool.targets(tool.parse(args), context);
  const realPaths = new Map(
    targets.flatMap((target) => (target.kind === "file" ? [[target.path, placeOf(target.path, {}).real]] : [])),
  );
  return { ...context, realPaths };
}

interface Attack {
  tool: AnyTool;
  /** Of the nth attempt. */
  args: (n: number) => object;
  /** Goes on until one attempt was refused. */
  awaitRefusal?: boolean;
}

interface Outcome {
  outputs: string[];
  refused: number;
}

/** Calls as often as time allows, each decided before the swapping began. */
async function attack(
  { tool, args, awaitRefusal = true }: Attack,
  cwd: string,
  swapped: [string, string],
): Promise<Outcome> {
  const calls = Array.from({ length: ATTEMPTS }, (_, n) => args(n));
  const contexts = calls.map((call, n) => decide(tool, call, bench.context({ cwd, conversationId: `c${n}` })));
  const outcome: Outcome = { outputs: [], refused: 0 };
  await using _swapping = await startExchanger(...swapped);
  const begun = Date.now();
  const goesOn = (): boolean => Date.now() - begun < (outcome.refused === 0 && awaitRefusal ? PATIENCE_MS : ATTACK_MS);
  for (let n = 0; goesOn(); n = (n + 1) % ATTEMPTS) {
    try {
      const result = await tool.run(tool.parse(calls[n]), contexts[n]!);
      outcome.outputs.push(JSON.stringify(typeof result === "string" ? result : result.output));
    } catch (error) {
      if (String(error).includes("changed while it was used")) outcome.refused += 1;
    }
  }
  return outcome;
}

const patch = (...lines: string[]) => ({ input: ["*** Begin Patch", ...lines, "*** End Patch"].join("\n") });
const edit = { old_string: "end", new_string: "more end" };

const WRITERS: [string, AnyTool, (n: number) => object][] = [
  ["Write", writeTool as AnyTool, (n) => ({ file_path: `dir/new${n}.txt`, content: "written" })],
  [
    "Write below a new directory",
    writeTool as AnyTool,
    (n) => ({ file_path: `dir/n${n}/a/x.txt`, content: "written" }),
  ],
  ["write_file", writeFileTool as AnyTool, (n) => ({ file_path: `dir/sub/new${n}.txt`, content: "written" })],
  ["Edit", editTool as AnyTool, () => ({ file_path: "dir/file.txt", ...edit })],
  ["MultiEdit", multiEditTool as AnyTool, () => ({ file_path: "dir/file.txt", edits: [edit] })],
  ["replace", replaceTool as AnyTool, () => ({ file_path: "dir/sub/deep.txt", ...edit })],
  ["ApplyPatch adding", applyPatchTool as AnyTool, (n) => patch(`*** Add File: dir/new${n}/x.txt`, "+written")],
  [
    "ApplyPatch changing",
    applyPatchTool as AnyTool,
    () => patch("*** Update File: dir/file.txt", "@@", "-end", "+more", "+end"),
  ],
  [
    "ApplyPatch moving away",
    applyPatchTool as AnyTool,
    (n) => patch("*** Update File: dir/file.txt", `*** Move to: moved${n}.txt`, "@@", "-end", "+end!"),
  ],
  ["ApplyPatch deleting", applyPatchTool as AnyTool, () => patch("*** Delete File: dir/secret.txt")],
];

describe.if(process.platform === "linux")("nothing is written outside by", () => {
  test.each(WRITERS)("%s", async (_, tool, args) => {
    const { cwd, dir, outside, evil } = world();
    const before = tree(outside);
    const { refused } = await attack({ tool, args }, cwd, [dir, evil]);
    expect(tree(outside)).toEqual(before);
    expect(refused).toBeGreaterThan(0);
  });

  test("Edit of a file that is swapped itself", async () => {
    const { cwd, dir, outside } = world();
    const before = tree(outside);
    const args = () => ({ file_path: "dir/file.txt", ...edit });
    const swapped: [string, string] = [join(dir, "file.txt"), join(cwd, "evil.txt")];
    const { refused } = await attack({ tool: editTool as AnyTool, args }, cwd, swapped);
    expect(tree(outside)).toEqual(before);
    // An edit that loses the race at its very end puts its file in the link's place, and the attack is over.
    const linksLeft = swapped.filter((path) => lstatSync(path).isSymbolicLink());
    expect(refused > 0 || linksLeft.length === 0).toBe(true);
  });

  test("undo", async () => {
    const { cwd, dir, outside, evil } = world();
    const turns = Array.from({ length: 60 }, (_, n) => `turn-${n}`);
    for (const turnId of turns)
      await bench.call(writeTool as AnyTool, { file_path: `dir/${turnId}.txt`, content: turnId }, { cwd, turnId });
    // What undoing deletes or restores by name is there, too.
    for (const turnId of turns) writeFileSync(join(outside, `${turnId}.txt`), turnId);
    const before = tree(outside);
    const details = new Set<string | undefined>();
    {
      await using _swapping = await startExchanger(dir, evil);
      for (const turnId of turns) {
        await until(() => lstatSync(dir).isSymbolicLink());
        for (const { detail } of (await shadow.undoTurn(turnId, { force: true })).files) details.add(detail);
      }
    }
    expect(tree(outside)).toEqual(before);
    expect([...details].join()).toContain("the path changed while it was used");
  });
});

const READERS: [string, AnyTool, object][] = [
  ["Read", readTool as AnyTool, { file_path: "dir/file.txt" }],
  ["read_file of Codex", codexReadFileTool as AnyTool, { file_path: "dir/sub/deep.txt" }],
  ["read_file of Gemini", readFileTool as AnyTool, { file_path: "dir/file.txt" }],
  ["read_many_files", readManyFilesTool as AnyTool, { include: ["dir/**/*.txt", "dir/file.txt", "dir"] }],
  ["Grep", grepTool as AnyTool, { pattern: "text|only", path: "dir", output_mode: "content" }],
  ["Grep above", grepTool as AnyTool, { pattern: "text|only", output_mode: "content" }],
  ["Grep of a file", grepTool as AnyTool, { pattern: "text", path: "dir/file.txt", output_mode: "content" }],
  ["Grep for names", grepTool as AnyTool, { pattern: "text|only" }],
  ["grep_files", grepFilesTool as AnyTool, { pattern: "text|only", path: "dir" }],
  ["search_file_content", searchFileContentTool as AnyTool, { pattern: "text|only", dir_path: "dir" }],
  ["Glob", globTool as AnyTool, { pattern: "**/*.txt", path: "dir" }],
  ["Glob above", globTool as AnyTool, { pattern: "**/*.txt" }],
  ["glob", globFilesTool as AnyTool, { pattern: "**/*.txt", dir_path: "dir" }],
  ["LS", lsTool as AnyTool, { path: "dir" }],
  ["list_directory", listDirectoryTool as AnyTool, { dir_path: "dir" }],
  ["list_dir", listDirTool as AnyTool, { dir_path: ".", depth: 3, limit: 100 }],
];

/** These find the place changed inside what they walk, and leave it out. */
const WALKERS = new Set(["read_many_files", "Grep above", "Grep for names", "Glob above", "list_dir"]);

describe.if(process.platform === "linux")("nothing is read outside by", () => {
  test.each(READERS)("%s", async (name, tool, args) => {
    const { cwd, dir, evil } = world();
    const awaitRefusal = !WALKERS.has(name);
    const { outputs, refused } = await attack({ tool, args: () => args, awaitRefusal }, cwd, [dir, evil]);
    expect(outputs.filter((output) => output.includes("secret"))).toEqual([]);
    if (awaitRefusal) expect(refused).toBeGreaterThan(0);
  });

  test.each([
    ["Grep", grepTool as AnyTool, { pattern: "text|only", output_mode: "content" }],
    ["Glob", globTool as AnyTool, { pattern: "**/*.txt" }],
  ])("%s without ripgrep", async (_, tool, args) => {
    const { cwd, dir, evil } = world();
    bench.services.findRipgrep = () => null;
    const { outputs } = await attack({ tool, args: () => args, awaitRefusal: false }, cwd, [dir, evil]);
    expect(outputs.length).toBeGreaterThan(0);
    expect(outputs.filter((output) => output.includes("secret"))).toEqual([]);
  });

  test("ViewImage", async () => {
    const { cwd, dir, evil } = world();
    const args = () => ({ path: "dir/image.png" });
    const { refused, outputs } = await attack({ tool: viewImageTool as AnyTool, args }, cwd, [dir, evil]);
    expect(outputs.filter((output) => output.includes(SECRET_PNG.toString("base64")))).toEqual([]);
    expect(refused).toBeGreaterThan(0);
  });
});

test("a link that came after the decision is not followed, one that was there is", async () => {
  const { cwd, dir, outside } = world();
  const call = { file_path: "dir/file.txt" };
  const decided = decide(readTool as AnyTool, call, bench.context({ cwd }));
  const through = decide(readTool as AnyTool, { file_path: "evil/file.txt" }, bench.context({ cwd }));
  renameSync(dir, join(cwd, "moved"));
  symlinkSync(outside, dir);
  await expect(readTool.run(readTool.parse(call), decided)).rejects.toThrow(
    `The path changed while it was used: ${dir}/file.txt leads to another place`,
  );
  expect(await readTool.run({ file_path: "evil/file.txt" }, through)).toMatchObject({ status: "success" });
});
