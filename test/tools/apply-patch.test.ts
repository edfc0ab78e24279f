import { afterAll, describe, expect, test } from "bun:test";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { ToolError } from "@/lib/errors.ts";
import { openDatabase } from "@/store/db.ts";
import { createShadowStore } from "@/store/shadow.ts";
import { applyPatchTool } from "@/tools/apply-patch.ts";
import { openWorkbench } from "./support.ts";

let shadow: ReturnType<typeof createShadowStore> | undefined;
const bench = openWorkbench({
  shadow: (paths) => {
    shadow = createShadowStore(openDatabase(":memory:"), paths);
    return shadow;
  },
});
afterAll(() => bench[Symbol.asyncDispose]());

let count = 0;
/** A folder with these files, and the tool working in it. */
function folder(files: Record<string, string>) {
  const cwd = join(bench.cwd, `folder-${++count}`);
  mkdirSync(cwd);
  for (const [name, content] of Object.entries(files)) writeFileSync(join(cwd, name), content);
  const own = { cwd, turnId: `turn-${count}`, conversationId: `conv-${count}` };
  return {
    cwd,
    turnId: own.turnId,
    apply: (...lines: string[]) =>
      bench.call(applyPatchTool, { input: ["*** Begin Patch", ...lines, "*** End Patch"].join("\n") }, own),
    context: bench.context(own),
    contents: () =>
      Object.fromEntries(
        readdirSync(cwd, { recursive: true, withFileTypes: true })
          .filter((entry) => entry.isFile())
          .map((entry) => join(entry.parentPath, entry.name))
          .map((path) => [path.slice(cwd.length + 1), readFileSync(path, "utf8")]),
      ),
  };
}

test("adds, changes, moves and deletes in one patch, and can be undone", async () => {
  const before = { "a.txt": "a\nb\n", "run.sh": "#!/bin/sh\necho 1\n", "old.txt": "old\n" };
  const { apply, contents, cwd, turnId } = folder(before);
  chmodSync(join(cwd, "run.sh"), 0o755);
  const result = await apply(
    "*** Add File: new/deep.txt",
    "+hello",
    "*** Update File: a.txt",
    "-b",
    "+B",
    "*** Update File: run.sh",
    "*** Move to: bin/run.sh",
    "-echo 1",
    "+echo 2",
    "*** Delete File: old.txt",
  );
  expect(result.output).toBe("Success. Updated the following files:\nA new/deep.txt\nM a.txt\nM bin/run.sh\nD old.txt");
  expect(result.summary).toBe("4 files +4 -4");
  expect(result.diff!.map(({ kind, path }) => [kind, path.slice(cwd.length + 1)])).toEqual([
    ["create", "new/deep.txt"],
    ["update", "a.txt"],
    ["create", "bin/run.sh"],
    ["delete", "run.sh"],
    ["delete", "old.txt"],
  ]);
  expect(contents()).toEqual({
    "a.txt": "a\nB\n",
    "bin/run.sh": "#!/bin/sh\necho 2\n",
    "new/deep.txt": "hello\n",
  });
  expect(statSync(join(cwd, "bin/run.sh")).mode & 0o777).toBe(0o755);
  await shadow!.undoTurn(turnId);
  expect(contents()).toEqual(before);
});

describe("nothing is changed by", () => {
  const files = { "a.txt": "a\r\nb", "b.txt": "\ufeffx\n", "c.txt": "same\n" };
  const good = ["*** Update File: a.txt", "-a", "+A", "*** Add File: n.txt", "+n", "*** Delete File: c.txt"];
  test.each([
    [
      "a last hunk that does not fit",
      ["*** Update File: b.txt", "-x", "+y", "@@", "-nope"],
      /b\.txt \(hunk 2 of 2\) does not have these lines/,
    ],
    ["adding an existing file", ["*** Add File: b.txt", "+x"], /exists already/],
    ["moving onto an existing file", ["*** Update File: b.txt", "*** Move to: ./c2.txt", "-x"], /exists already/],
    ["a missing file", ["*** Update File: nope.txt", "-x"], /does not exist/],
    ["deleting a directory", ["*** Delete File: d"], /is a directory/],
    ["deleting through a link", ["*** Delete File: link.txt"], /is a symbolic link/],
    ["the same file twice", ["*** Update File: ./x/../a.txt", "-b"], /names .*a\.txt twice/],
    ["the same file through a link", ["*** Update File: link-a.txt", "-b"], /names .*link-a\.txt twice/],
    ["a write that fails", ["*** Add File: b.txt/inside.txt", "+x"], /b\.txt\/inside\.txt|not a directory/],
    ["a file inside a new file", ["*** Add File: n.txt/inside.txt", "+x"], /was not applied\. Nothing was changed\./],
  ])("%s", async (_, bad, message) => {
    const { apply, contents, cwd } = folder({ ...files, "c2.txt": "there\n" });
    mkdirSync(join(cwd, "d"));
    mkdirSync(join(cwd, "x"));
    symlinkSync("b.txt", join(cwd, "link.txt"));
    symlinkSync("a.txt", join(cwd, "link-a.txt"));
    const before = contents();
    await expect(apply(...good, ...bad)).rejects.toThrow(message);
    expect(contents()).toEqual(before);
    expect(existsSync(join(cwd, "link.txt"))).toBe(true);
  });
});

test("permission is wanted for every path: sources, targets, new files", () => {
  const { context, cwd } = folder({});
  const input =
    "*** Begin Patch\n*** Add File: a\n+x\n*** Delete File: ../b\n*** Update File: c\n*** Move to: /d\n-x\n*** End Patch";
  expect(applyPatchTool.targets({ input }, context)).toEqual([
    { kind: "file", family: "Write", path: join(cwd, "a") },
    { kind: "file", family: "Edit", path: join(cwd, "../b") },
    { kind: "file", family: "Edit", path: join(cwd, "c") },
    { kind: "file", family: "Write", path: "/d" },
  ]);
  expect(applyPatchTool.resource({ input }, context)).toEqual({ kind: "barrier" });
  expect(applyPatchTool.title({ input }, cwd)).toBe("a and 2 more");
});

test("`~` and variables are names of files", () => {
  const { context, cwd } = folder({});
  const input = "*** Begin Patch\n*** Add File: ~/$HOME.tsx\n+x\n*** End Patch";
  expect(applyPatchTool.targets({ input }, context)).toEqual([
    { kind: "file", family: "Write", path: join(cwd, "~/$HOME.tsx") },
  ]);
});

test("the preview is what is applied, and only to the bytes it was made for", async () => {
  const { apply, context, cwd } = folder({ "a.txt": "a\nb\n" });
  const lines = ["*** Update File: a.txt", "-b", "+B"];
  const input = ["*** Begin Patch", ...lines, "*** End Patch"].join("\n");
  const [diff] = await applyPatchTool.preview!({ input }, context);
  writeFileSync(join(cwd, "a.txt"), "a\nb\nc\n");
  await expect(apply(...lines)).rejects.toThrow(/has changed on disk since you last saw it/);
  writeFileSync(join(cwd, "a.txt"), "a\nb\n");
  await expect(apply(...lines)).rejects.toThrow(/has changed on disk/);
  // Whoever looks again and repeats it is believed.
  const { diff: done } = await apply(...lines);
  expect(done).toEqual([diff!]);
});

test("whatever a patch names, all of it happens or nothing", async () => {
  let seed = 5;
  const random = (below: number): number => {
    seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648;
    return (seed >> 8) % below;
  };
  const names = ["a", "b", "c", "d/e", "f"];
  const path = (): string => [...names, "new", "new/deep", "a/below", "d", "./b", "missing"][random(11)]!;
  const operation = (): string[] => {
    const hunk = random(4) ? ["@@", "-one", "+ONE"] : ["-not there"];
    const move = random(3) ? [] : [`*** Move to: ${path()}`];
    return [
      [`*** Add File: ${path()}`, "+x"],
      [`*** Delete File: ${path()}`],
      [`*** Update File: ${path()}`, ...move, ...hunk],
    ][random(3)]!;
  };
  let applied = 0;
  for (let round = 0; round < 300; round++) {
    const { apply, contents, cwd } = folder({});
    mkdirSync(join(cwd, "d"));
    for (const name of names) writeFileSync(join(cwd, name), "one\r\ntwo");
    const before = contents();
    const operations = Array.from({ length: 1 + random(3) }, operation);
    try {
      await apply(...operations.flat());
      applied++;
      for (const [first = ""] of operations.filter(([first]) => first?.startsWith("*** Delete"))) {
        expect(existsSync(join(cwd, first.split(": ")[1]!))).toBe(false);
      }
      expect(contents()).not.toEqual(before);
    } catch (error) {
      expect(error).toBeInstanceOf(ToolError);
      expect(contents()).toEqual(before);
    }
  }
  expect(applied).toBeGreaterThan(30);
});

test("a patch that fails takes away the directories it made, and no others", async () => {
  const { apply, cwd } = folder({ "a.txt": "a\n" });
  mkdirSync(join(cwd, "kept"));
  const added = [
    "*** Add File: new/deep/x.txt",
    "+x",
    "*** Add File: kept/y.txt",
    "+y",
    "*** Add File: new/z.txt",
    "+z",
  ];
  await expect(apply(...added, "*** Add File: new/z.txt/w.txt", "+w")).rejects.toThrow("Nothing was changed.");
  expect(readdirSync(cwd, { recursive: true }).sort()).toEqual(["a.txt", "kept"]);
});

test("a pipe is no file to patch", async () => {
  const { apply, cwd } = folder({});
  Bun.spawnSync(["mkfifo", join(cwd, "pipe")]);
  for (const patch of [["*** Update File: pipe", "-a"], ["*** Delete File: pipe"], ["*** Add File: pipe", "+x"]])
    await expect(apply(...patch)).rejects.toThrow("not a regular file");
});
