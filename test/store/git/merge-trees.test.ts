import { afterAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { diff3Merge } from "node-diff3";
import { mergeTrees } from "@/store/git/merge-trees.ts";
import type { FileMerger, MergeOutcome, Resolution } from "@/store/git/types.ts";
import { type FileSpec, memoryObjects } from "../../support/memory-objects.ts";

type Files = Record<string, FileSpec>;

/** Lines, as git merges them. */
const mergeLines: FileMerger = ({ base, ours, theirs }) => {
  const [o, a, b] = [base ?? new Uint8Array(), ours, theirs].map((bytes) => Buffer.from(bytes).toString().split("\n"));
  const regions = diff3Merge(a!, o!, b!);
  if (regions.some((region) => region.conflict)) return null;
  return Buffer.from(regions.flatMap((region) => region.ok!).join("\n"));
};

async function merge(
  sides: { base: Files | null; ours: Files; theirs: Files },
  resolve?: (path: string) => Resolution | null,
): Promise<{ outcome: MergeOutcome; files: Record<string, string> | null; asked: string[] }> {
  const objects = memoryObjects();
  const asked: string[] = [];
  const base = sides.base && (await objects.tree(sides.base));
  const trees = { base, ours: await objects.tree(sides.ours), theirs: await objects.tree(sides.theirs) };
  const before = objects.size;
  const outcome = await mergeTrees(
    objects,
    trees,
    (file) => {
      asked.push(file.path);
      return mergeLines(file);
    },
    resolve && ((conflict) => resolve(conflict.path)),
  );
  if (outcome.status === "conflict") expect(objects.size).toBe(before);
  return { outcome, files: outcome.status === "merged" ? await objects.files(outcome.tree) : null, asked };
}

/** The merge and its mirror give the same tree, or the same conflicts with the sides swapped. */
async function mergeBothWays(base: Files | null, ours: Files, theirs: Files): ReturnType<typeof merge> {
  const result = await merge({ base, ours, theirs });
  const mirrored = (await merge({ base, ours: theirs, theirs: ours })).outcome;
  if (mirrored.status === "merged") expect(mirrored).toEqual(result.outcome as never);
  else {
    const conflicts = mirrored.conflicts.map(({ ours, theirs, ...rest }) => ({ ...rest, ours: theirs, theirs: ours }));
    expect({ ...mirrored, conflicts }).toEqual(result.outcome as never);
  }
  return result;
}

const text = "one\ntwo\nthree\nfour\nfive\n";

describe("clean merges", () => {
  test.each<[string, Files | null, Files, Files, Record<string, string>, string[]]>([
    ["different files", { a: "1", b: "1" }, { a: "2", b: "1" }, { a: "1", b: "2" }, { a: "2", b: "2" }, []],
    [
      "files come and go on both sides",
      { "x/a": "1", "x/b": "1", "y/c": "1" },
      { "x/b": "1", "y/c": "1", "z/d": "4" },
      { "x/a": "1", "x/b": "1", "x/e": "5" },
      { "x/b": "1", "x/e": "5", "z/d": "4" },
      [],
    ],
    ["the same change twice", { a: "1" }, { a: "2", n: "n" }, { a: "2", n: "n" }, { a: "2", n: "n" }, []],
    [
      "lines of one file",
      { "d/a.md": text },
      { "d/a.md": text.replace("one", "ONE") },
      { "d/a.md": text.replace("five", "FIVE") },
      { "d/a.md": "ONE\ntwo\nthree\nfour\nFIVE\n" },
      [],
    ],
    ["nothing in common", null, { a: "1", same: "s" }, { b: "2", same: "s" }, { a: "1", b: "2", same: "s" }, []],
    ["everything deleted by both", { "d/a": "1" }, {}, {}, {}, []],
    [
      "changed here, deleted there: the change is kept",
      { a: "1", b: "1" },
      { a: "2", b: "1" },
      { b: "1" },
      { a: "2", b: "1" },
      ["a was changed on one side and deleted on the other; the changed file is kept."],
    ],
    [
      "mode here, content there",
      { run: "1" },
      { run: { mode: "100755", content: "1" } },
      { run: "2" },
      { run: "100755:2" },
      [],
    ],
    [
      "mode here, lines on both sides",
      { run: text },
      { run: { mode: "100755", content: text.replace("one", "ONE") } },
      { run: text.replace("five", "FIVE") },
      { run: "100755:ONE\ntwo\nthree\nfour\nFIVE\n" },
      [],
    ],
    [
      "a file becomes a directory while nobody else touches it",
      { a: "1", k: "1" },
      { "a/b": "new", k: "1" },
      { a: "1", k: "2" },
      { "a/b": "new", k: "2" },
      [],
    ],
    [
      "a directory becomes a file while the other side only deletes in it",
      { "a/b": "1", "a/c": "1" },
      { a: "file" },
      { "a/b": "1" },
      { a: "file" },
      [],
    ],
    [
      "a link changed on one side",
      { l: { mode: "120000", content: "x" }, k: "1" },
      { l: { mode: "120000", content: "y" }, k: "1" },
      { l: { mode: "120000", content: "x" }, k: "2" },
      { l: "120000:y", k: "2" },
      [],
    ],
    [
      "renamed here, changed there",
      { "old.md": text },
      { "new/old.md": text },
      { "old.md": `${text}six\n` },
      { "new/old.md": `${text}six\n` },
      ["old.md was renamed to new/old.md on one side and changed on the other; new/old.md has the change."],
    ],
    [
      "a rename into a directory of the file's own name",
      { a: text },
      { "a/index": text },
      { a: `${text}six\n` },
      { "a/index": `${text}six\n` },
      ["a was renamed to a/index on one side and changed on the other; a/index has the change."],
    ],
    [
      "renamed and made executable here, changed there",
      { "old.sh": text, k: "1" },
      { "new.sh": { mode: "100755", content: text }, k: "1" },
      { "old.sh": `${text}six\n`, k: "1" },
      { "new.sh": `100755:${text}six\n`, k: "1" },
      ["old.sh was renamed to new.sh on one side and changed on the other; new.sh has the change."],
    ],
    [
      "renamed here, renamed and rewritten to the same path there",
      { "old.md": text },
      { "new.md": text },
      { "new.md": `${text}six\n` },
      { "new.md": `${text}six\n` },
      [],
    ],
    [
      "two renames of one file",
      { "old.md": text },
      { "a.md": text },
      { "b.md": text },
      { "a.md": text, "b.md": text },
      ["old.md was renamed to a.md on one side and to b.md on the other; both are kept."],
    ],
    [
      "renamed here, deleted there",
      { "old.md": text, k: "1" },
      { "a.md": text, k: "1" },
      { k: "1" },
      { "a.md": text, k: "1" },
      ["old.md was renamed to a.md on one side and removed on the other; a.md is kept."],
    ],
    [
      "a rename whose target the other side has taken keeps both",
      { "old.md": text },
      { "new.md": text },
      { "old.md": `${text}six\n`, "new.md": text },
      { "old.md": `${text}six\n`, "new.md": text },
      ["old.md was changed on one side and deleted on the other; the changed file is kept."],
    ],
    [
      "two files with the same bytes: the one with the same name moved",
      { "a/x.md": text, "a/y.md": text },
      { "b/x.md": text, "b/y.md": text },
      { "a/x.md": text, "a/y.md": `${text}six\n` },
      { "b/x.md": text, "b/y.md": `${text}six\n` },
      ["a/y.md was renamed to b/y.md on one side and changed on the other; b/y.md has the change."],
    ],
    [
      "empty files are nobody's rename",
      { empty: "" },
      { other: "" },
      { empty: "now full" },
      { other: "", empty: "now full" },
      ["empty was changed on one side and deleted on the other; the changed file is kept."],
    ],
  ])("%s", async (_, base, ours, theirs, files, notes) => {
    const result = await mergeBothWays(base, ours, theirs);
    expect(result.files).toEqual(files);
    expect(result.outcome).toMatchObject({ status: "merged", notes });
  });
});

describe("conflicts", () => {
  test.each<[string, Files | null, Files, Files, [path: string, kind: string][]]>([
    ["the same line", { a: "1" }, { a: "2" }, { a: "3" }, [["a", "content"]]],
    ["two new files", {}, { "d/a": "1" }, { "d/a": "2" }, [["d/a", "both_added"]]],
    ["binaries", { a: "\0a" }, { a: "\0b" }, { a: "\0c" }, [["a", "binary"]]],
    ["text that became binary on one side", { a: "1" }, { a: "2" }, { a: "\0" }, [["a", "binary"]]],
    [
      "links that lead to two places",
      { l: { mode: "120000", content: "a" } },
      { l: { mode: "120000", content: "b" } },
      { l: { mode: "120000", content: "c" } },
      [["l", "binary"]],
    ],
    [
      "a link here, a changed file there",
      { l: "1" },
      { l: { mode: "120000", content: "b" } },
      { l: "2" },
      [["l", "binary"]],
    ],
    ["a new file here, a new directory there", {}, { a: "1" }, { "a/b": "1" }, [["a", "file_and_directory"]]],
    [
      "a changed file here, a directory in its place there",
      { a: "1" },
      { a: "2" },
      { "a/b": "new" },
      [["a", "file_and_directory"]],
    ],
    [
      "a directory in use here, a file in its place there",
      { "x/a/b": "1" },
      { "x/a/b": "2" },
      { "x/a": "file" },
      [["x/a", "file_and_directory"]],
    ],
    [
      "several at once, in order",
      { b: "1", a: "1", c: "1" },
      { b: "2", a: "2", c: "2" },
      { b: "3", a: "3", c: "1" },
      [
        ["a", "content"],
        ["b", "content"],
      ],
    ],
  ])("%s", async (_, base, ours, theirs, expected) => {
    const { outcome } = await mergeBothWays(base, ours, theirs);
    if (outcome.status !== "conflict") throw new Error(`merged: ${JSON.stringify(outcome)}`);
    expect(outcome.conflicts.map(({ path, kind }) => [path, kind])).toEqual(expected as never);
  });

  test("a conflict names what each side has at the path", async () => {
    const objects = memoryObjects();
    const base = await objects.tree({ a: "1" });
    const ours = await objects.tree({ a: "2" });
    const theirs = await objects.tree({ "a/b": "new" });
    const inside = (await objects.readTree(theirs))[0]!.oid;
    const [was, is] = [base, ours].map(async (tree) => (await objects.readTree(tree))[0]!.oid);
    expect(await mergeTrees(objects, { base, ours, theirs }, mergeLines)).toEqual({
      status: "conflict",
      conflicts: [
        { path: "a", kind: "file_and_directory", base: (await was) ?? null, ours: (await is) ?? null, theirs: inside },
      ],
    });
  });
});

describe("decisions about conflicts", () => {
  const base = { a: "1", b: "1", "d/x": "1" };
  const ours = { a: "2", b: "2", "d/x": "2" };
  const theirs = { a: "3", b: "3", d: "file" };

  test.each<[string, (path: string) => Resolution | null, Record<string, string>]>([
    ["ours everywhere", () => ({ take: "ours" }), { a: "2", b: "2", "d/x": "2" }],
    ["theirs everywhere", () => ({ take: "theirs" }), { a: "3", b: "3", d: "file" }],
    [
      "bytes of one's own",
      (path) => (path === "b" ? { take: "ours" } : { content: Buffer.from(`${path}!`) }),
      { a: "a!", b: "2", d: "d!" },
    ],
  ])("%s", async (_, resolve, files) => {
    expect((await merge({ base, ours, theirs }, resolve)).files).toEqual(files);
  });

  test("what is not decided stays a conflict", async () => {
    const { outcome } = await merge({ base, ours, theirs }, (path) => (path === "a" ? { take: "ours" } : null));
    if (outcome.status !== "conflict") throw new Error("merged");
    expect(outcome.conflicts.map(({ path }) => path)).toEqual(["b", "d"]);
  });
});

test("only files that both sides changed are merged, and equal subtrees are never opened", async () => {
  const objects = memoryObjects();
  const many: Files = {};
  for (let i = 0; i < 2000; i++) many[`dir${i % 100}/file${i}`] = `content ${i}`;
  const base = await objects.tree(many);
  const ours = await objects.tree({ ...many, "dir0/file0": "ours" });
  const theirs = await objects.tree({ ...many, "dir1/file1": "theirs" });
  const before = objects.treeReads;
  const outcome = await mergeTrees(objects, { base, ours, theirs }, () => {
    throw new Error("nothing to merge");
  });
  expect(outcome.status).toBe("merged");
  expect(objects.treeReads - before).toBeLessThanOrEqual(10);
});

const git = Bun.which("git");
describe.skipIf(git === null)("compared with real git (skipped where git is missing)", () => {
  const dir = mkdtempSync(join(tmpdir(), "letta-merge-trees-"));
  afterAll(() => rmSync(dir, { recursive: true, force: true }));

  function runGit(args: string[], stdin = ""): { code: number; out: string } {
    const env = { PATH: process.env.PATH!, HOME: dir, GIT_CONFIG_NOSYSTEM: "1" };
    const done = Bun.spawnSync([git!, "-C", dir, ...args], { stdin: Buffer.from(stdin), env });
    return { code: done.exitCode, out: done.stdout.toString() };
  }

  test("where git merges cleanly, so do we, to the same tree; what conflicts here conflicts there", async () => {
    expect(runGit(["init", "-q", "-b", "main"]).code).toBe(0);
    // `merge-tree --write-tree` is younger than some gits around.
    if (runGit(["merge-tree", "--write-tree", "-h"]).code !== 129) throw new Error("git without merge-tree");
    const random = seeded(7);
    const cases = Array.from({ length: 60 }, () => randomSides(random));
    const stream: string[] = [];
    for (const [at, { base, ours, theirs }] of cases.entries()) {
      stream.push(commitOf(`base${at}`, base), commitOf(`ours${at}`, ours, `base${at}`));
      stream.push(commitOf(`theirs${at}`, theirs, `base${at}`));
    }
    expect(runGit(["fast-import", "--quiet"], stream.join("")).code).toBe(0);

    let clean = 0;
    for (const [at, sides] of cases.entries()) {
      const { code, out } = runGit([
        ...["-c", "merge.renames=false", "-c", "merge.directoryRenames=false"],
        ...["merge-tree", "--write-tree", `ours${at}`, `theirs${at}`],
      ]);
      const { outcome } = await mergeBothWays(sides.base, sides.ours, sides.theirs);
      if (code === 0) {
        clean++;
        expect({ at, tree: outcome.status === "merged" && outcome.tree }).toEqual({ at, tree: out.trim() });
      }
      if (outcome.status === "conflict") expect({ at, code }).toEqual({ at, code: 1 });
    }
    expect(clean).toBeGreaterThan(10);
    expect(clean).toBeLessThan(60);
  });
});

function seeded(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

function randomSides(random: (below: number) => number): { base: Files; ours: Files; theirs: Files } {
  const line = (): string => `line ${random(1e6)}`;
  const content = (): string => `${Array.from({ length: 6 + random(6) }, line).join("\n")}\n`;
  const paths = ["a", "b", "c/d", "c/e", "c/f/g", "h/i", "h/j", "k"];
  const base: Files = {};
  for (const path of paths) if (random(4) > 0) base[path] = content();
  const change = (): Files => {
    const files = { ...base };
    for (const path of paths) {
      const what = random(8);
      const had = files[path] as string | undefined;
      if (what === 0) delete files[path];
      else if (what === 1) files[path] = content();
      else if (what <= 3 && had !== undefined) {
        const lines = had.split("\n");
        lines.splice(random(lines.length - 1), random(2), line());
        files[path] = lines.join("\n");
      }
    }
    if (random(6) === 0) {
      delete files.k;
      files["k/inside"] = content();
    }
    return files;
  };
  return { base, ours: change(), theirs: change() };
}

function commitOf(branch: string, files: Files, from?: string): string {
  const parts = [`commit refs/heads/${branch}\ncommitter T <t@example.com> 1700000000 +0000\ndata 1\nx\n`];
  if (from) parts.push(`from refs/heads/${from}\ndeleteall\n`);
  for (const [path, content] of Object.entries(files)) {
    parts.push(`M 100644 inline ${path}\ndata ${Buffer.byteLength(content as string)}\n${content}\n`);
  }
  return `${parts.join("")}\n`;
}
