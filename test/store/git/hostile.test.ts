// Repositories that were rewritten to harm: nothing is written or read outside the folder, nothing is run, nothing hangs.

import { expect, test } from "bun:test";
import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { deflateSync } from "node:zlib";
import { openRepository } from "@/store/git/repository.ts";
import { ANN, changes, complaints, filesOf, git, hasGit, tempRepo } from "../../support/git-repos.ts";

const commit = { message: "m", author: ANN };

/** Writes an object as a remote could send it, without any check. */
function writeRaw(dir: string, type: string, content: Uint8Array): string {
  const bytes = Buffer.concat([Buffer.from(`${type} ${content.length}\0`), content]);
  const oid = new Bun.CryptoHasher("sha1").update(bytes).digest("hex");
  mkdirSync(join(dir, ".git/objects", oid.slice(0, 2)), { recursive: true });
  writeFileSync(join(dir, ".git/objects", oid.slice(0, 2), oid.slice(2)), deflateSync(bytes));
  return oid;
}

function rawTree(dir: string, entries: [mode: string, name: string | Uint8Array, oid: string][]): string {
  const parts = entries.flatMap(([mode, name, oid]) => [
    Buffer.from(`${mode} `),
    Buffer.from(name as string),
    Buffer.of(0),
    Buffer.from(oid, "hex"),
  ]);
  return writeRaw(dir, "tree", Buffer.concat(parts));
}

const BAD_NAMES = [
  "..",
  ".",
  ".git",
  ".GIT",
  ".Git ",
  ".git.",
  ".git. .",
  "git~1",
  "GIT~1",
  ".git::$INDEX_ALLOCATION",
  ".git:x",
  ".g\u200cit",
  ".git\u200d",
  "\ufeff.git",
  "a\\b",
  "..\\x",
];

test.each(BAD_NAMES)("a file named %j is neither committed nor checked out", async (name) => {
  using temp = await tempRepo();
  const { dir, repo } = temp;
  await repo.commitChanges(changes({ "a.md": "a" }), commit);
  const head = (await repo.resolve("HEAD"))!;
  for (const path of [name, `${name}/x`, `x/${name}`, `x/${name}/y`])
    await expect(repo.commitChanges(changes({ [path]: "evil" }), commit)).rejects.toMatchObject({
      code: "invalid_data",
    });
  const blob = writeRaw(dir, "blob", Buffer.from("evil"));
  for (const tree of [
    rawTree(dir, [["100644", name, blob]]),
    rawTree(dir, [["40000", name, rawTree(dir, [["100644", "config", blob]])]]),
  ]) {
    await expect(repo.commitTree(tree, { ...commit, parents: [head] })).rejects.toMatchObject({ code: "invalid_data" });
    await expect(repo.restore([], tree)).rejects.toMatchObject({ code: "invalid_data" });
    await expect(
      repo.addWorktree({ dir: join(temp.path, "w"), branch: "w", from: evilCommit(dir, tree) }),
    ).rejects.toMatchObject({
      code: "invalid_data",
    });
  }
  expect(await repo.resolve("HEAD")).toBe(head);
  expect(await filesOf(dir)).toEqual({ "a.md": "a" });
  expect(existsSync(join(temp.path, "w"))).toBe(false);
  expect(await repo.resolve("w")).toBeNull();
  if (hasGit) expect(git(dir, ["status", "--porcelain"])).toBe("");
});

function evilCommit(dir: string, tree: string): string {
  const text = `tree ${tree}\nauthor E <e@e> 1700000000 +0000\ncommitter E <e@e> 1700000000 +0000\n\nm\n`;
  return writeRaw(dir, "commit", Buffer.from(text));
}

test.each(["/etc/x", "", "a//b", "a/", "nul\0byte", `${"x".repeat(256)}`, "d/".repeat(300)])(
  "the path %j is refused",
  async (path) => {
    using temp = await tempRepo();
    await expect(temp.repo.commitChanges(changes({ [path]: "x" }), commit)).rejects.toMatchObject({
      code: "invalid_data",
    });
  },
);

test("names that only look odd are kept as they are", async () => {
  using temp = await tempRepo();
  const names = [
    ".gitignore2",
    ".github/x",
    "git~2",
    "...",
    ".. ",
    "-rf",
    "a b",
    '"',
    "'",
    "$(x)",
    "*",
    "ü",
    "u\u0308",
    "x".repeat(255),
    "CON.md",
    "\u{1f600}",
    "new\nline",
  ];
  const files = Object.fromEntries(names.map((name) => [`${name}/${name}`.slice(0, 511), name]));
  expect(await temp.repo.commitChanges(changes(files), commit)).toMatchObject({ status: "committed" });
  expect(await temp.repo.status()).toEqual([]);
  expect(await filesOf(temp.dir)).toEqual(Object.fromEntries(Object.entries(files).sort()));
  if (hasGit) expect(complaints(temp.dir)).toBe("");
});

test.skipIf(process.platform !== "linux")("a name that is not UTF-8 keeps its bytes", async () => {
  using temp = await tempRepo();
  const { dir, repo } = temp;
  const name = Buffer.concat([Buffer.from(`${dir}/`), Buffer.of(0x66, 0xff, 0x2e)]);
  writeFileSync(name, "odd");
  mkdirSync(Buffer.concat([name, Buffer.of(0x80)]));
  writeFileSync(Buffer.concat([name, Buffer.of(0x80), Buffer.from("/in")]), "inside");
  expect(await repo.commitPaths([], commit)).toMatchObject({ status: "committed" });
  expect(await repo.status()).toEqual([]);
  await repo.commitChanges(changes({ "a.md": "a" }), commit);
  rmSync(name);
  await repo.restore([], "HEAD");
  expect(readFileSync(name, "utf8")).toBe("odd");
  if (hasGit) expect(complaints(dir) + git(dir, ["ls-files"])).toBe('a.md\n"f\\377."\n"f\\377.\\200/in"\n');
});

test("nothing is written or read through a link in the place of a folder", async () => {
  using temp = await tempRepo();
  const { dir, repo } = temp;
  const outside = join(temp.path, "outside");
  mkdirSync(outside);
  writeFileSync(join(outside, "secret.md"), "secret");
  await repo.commitChanges(changes({ "real/x.md": "x" }), commit);
  rmSync(join(dir, "real"), { recursive: true });
  symlinkSync(outside, join(dir, "real"));
  symlinkSync(outside, join(dir, "linked"));
  symlinkSync(join(outside, "secret.md"), join(dir, "file.md"));
  for (const path of ["real/x.md", "real/new.md", "linked/new.md"])
    await expect(repo.commitChanges(changes({ [path]: "y" }), commit)).rejects.toMatchObject({ code: "conflict" });
  await expect(repo.restore([], "HEAD")).rejects.toMatchObject({ code: "conflict" });
  // What is behind a link is not there; the links themselves are content.
  expect((await repo.status()).map(({ path, state }) => `${state} ${path}`)).toEqual([
    "untracked file.md",
    "untracked linked",
    "untracked real",
    "deleted real/x.md",
  ]);
  expect(await repo.status({ paths: ["linked/secret.md", "real/x.md"] })).toEqual([
    { path: "real/x.md", state: "deleted", staged: false },
  ]);
  // A file takes the place of a link, and not of what it leads to.
  await repo.commitChanges(changes({ "file.md": "mine" }), commit);
  await repo.commitPaths(["linked"], commit);
  expect(Buffer.from((await repo.readFile("HEAD", "linked"))!).toString()).toBe(outside);
  expect(await filesOf(outside)).toEqual({ "secret.md": "secret" });
});

test("a tree with a link and a file below it is not checked out through the link", async () => {
  using temp = await tempRepo();
  const { dir, repo } = temp;
  await repo.commitChanges(changes({ "a.md": "a" }), commit);
  const outside = join(temp.path, "outside");
  mkdirSync(outside);
  const link = writeRaw(dir, "blob", Buffer.from(outside));
  const evil = writeRaw(dir, "blob", Buffer.from("evil"));
  // Git refuses a name twice; its objects can still hold it.
  const tree = rawTree(dir, [
    ["120000", "x", link],
    ["40000", "x", rawTree(dir, [["100644", "evil.md", evil]])],
  ]);
  await expect(repo.restore([], tree)).rejects.toMatchObject({ code: "conflict" });
  expect(await filesOf(outside)).toEqual({});
  expect(await filesOf(dir)).toEqual({ "a.md": "a" });
});

test("settings, attributes, hooks, alternates, grafts and replacements have no say", async () => {
  using temp = await tempRepo();
  const { dir, repo } = temp;
  await repo.commitChanges(changes({ "a.md": "a\r\n" }), commit);
  const proof = join(temp.path, "ran");
  const script = `#!/bin/sh\necho ran >> ${proof}\n`;
  for (const hook of ["pre-commit", "post-commit", "commit-msg", "reference-transaction", "post-checkout"])
    writeFileSync(join(dir, ".git/hooks", hook), script, { mode: 0o755 });
  writeFileSync(join(temp.path, "tool"), script, { mode: 0o755 });
  const other = join(temp.path, "other");
  mkdirSync(other);
  const config = readFileSync(join(dir, ".git/config"), "utf8").replace("autocrlf = false", "autocrlf = true");
  writeFileSync(
    join(dir, ".git/config"),
    `${config}\thooksPath = ${temp.path}\n\tfsmonitor = ${join(temp.path, "tool")}\n\tworktree = ${other}\n\tattributesFile = x\n` +
      `[include]\n\tpath = ${join(temp.path, "included")}\n[filter "x"]\n\tclean = ${join(temp.path, "tool")}\n\tsmudge = ${join(temp.path, "tool")}\n` +
      `[commit]\n\tgpgsign = true\n[gpg]\n\tprogram = ${join(temp.path, "tool")}\n`,
  );
  writeFileSync(join(temp.path, "included"), "[core]\n\tbare = true\n");
  const victim = (await repo.resolve("HEAD"))!;
  mkdirSync(join(dir, ".git/refs/replace"));
  writeFileSync(join(dir, ".git/refs/replace", victim), `${evilCommit(dir, rawTree(dir, []))}\n`);
  writeFileSync(join(dir, ".git/info/grafts"), `${victim} ${"1".repeat(40)}\n`);
  writeFileSync(join(dir, ".git/objects/info/alternates"), `${temp.path}\n`);
  const again = await openRepository(dir);
  await again.commitChanges(changes({ ".gitattributes": "* text=auto filter=x\n", "b.md": "b\r\n" }), commit);
  expect(await again.status()).toEqual([]);
  expect(Buffer.from((await again.readFile("HEAD", "b.md"))!).toString()).toBe("b\r\n");
  expect(await again.resolve("HEAD~1")).toBe(victim);
  expect(existsSync(proof)).toBe(false);
  expect(await filesOf(other)).toEqual({});
});

test("objects that claim to be huge, are damaged, or are too deep are errors, not crashes", async () => {
  using temp = await tempRepo();
  const { dir, repo } = temp;
  await repo.commitChanges(changes({ "a.md": "a" }), commit);
  const zeros = deflateSync(
    Buffer.concat([Buffer.from(`blob ${200 * 1024 * 1024}\0`), Buffer.alloc(200 * 1024 * 1024)]),
  );
  const bomb = "ab".repeat(20);
  mkdirSync(join(dir, ".git/objects/ab"), { recursive: true });
  writeFileSync(join(dir, ".git/objects/ab", bomb.slice(2)), zeros);
  await expect(repo.objects.readBlob(bomb)).rejects.toMatchObject({ code: "invalid_data" });
  const blob = writeRaw(dir, "blob", Buffer.from("x"));
  let tree = rawTree(dir, [["100644", "x", blob]]);
  for (let depth = 0; depth < 400; depth++) tree = rawTree(dir, [["40000", "d", tree]]);
  await expect(repo.listFiles(tree)).rejects.toMatchObject({ code: "invalid_data" });
  await expect(repo.diffTrees("HEAD", tree)).rejects.toMatchObject({ code: "invalid_data" });
  const cut = writeRaw(dir, "tree", Buffer.from("100644 a"));
  await expect(repo.objects.readTree(cut)).rejects.toMatchObject({ code: "invalid_data" });
  const noTree = writeRaw(dir, "commit", Buffer.from("nothing\n"));
  await expect(repo.objects.readCommit(noTree)).rejects.toMatchObject({ code: "invalid_data" });
  await expect(repo.objects.readBlob("0".repeat(40))).rejects.toMatchObject({ code: "not_found" });
});

test("a ref, an index and a pack with rubbish in them are errors that name the file", async () => {
  using temp = await tempRepo();
  const { dir, repo } = temp;
  await repo.commitChanges(changes({ "a.md": "a" }), commit);
  writeFileSync(join(dir, ".git/refs/heads/bad"), "ref: ../../../etc/passwd\n");
  await expect(repo.resolve("bad")).rejects.toMatchObject({
    code: "invalid_data",
    message: expect.stringContaining("refs/heads/bad"),
  });
  writeFileSync(join(dir, ".git/refs/heads/round"), "ref: refs/heads/round\n");
  await expect(repo.resolve("round")).rejects.toMatchObject({ code: "invalid_data" });
  for (const ref of [
    "refs/heads/../../config",
    "refs/heads/x.lock",
    "../x",
    "refs/heads/a b",
    "refs/heads/.x",
    "config",
  ]) {
    const change = { from: null, to: await repo.resolve("HEAD"), reason: "x", by: ANN };
    await expect(repo.updateRef(ref, change)).rejects.toMatchObject({ code: "invalid_data" });
  }
  writeFileSync(join(dir, ".git/objects/pack/pack-x.pack"), "PACK");
  writeFileSync(join(dir, ".git/objects/pack/pack-x.idx"), "rubbish");
  await expect((await openRepository(dir)).objects.readBlob("1".repeat(40))).rejects.toMatchObject({
    message: expect.stringContaining("pack-x.idx"),
  });
  rmSync(join(dir, ".git/objects/pack/pack-x.idx"));
  writeFileSync(join(dir, ".git/index"), "DIRCrubbish that is long enough to be an index file at all");
  await expect(repo.status()).rejects.toMatchObject({
    code: "invalid_data",
    message: expect.stringContaining("index"),
  });
});

test("a .git that leads elsewhere is not followed", async () => {
  using temp = await tempRepo();
  using victim = await tempRepo();
  await victim.repo.commitChanges(changes({ "v.md": "v" }), commit);
  writeFileSync(join(temp.dir, ".git/commondir"), join(victim.dir, ".git"));
  await expect(openRepository(temp.dir)).rejects.toMatchObject({ code: "invalid_data" });
  const fake = join(temp.path, "fake");
  mkdirSync(fake);
  const linked = await victim.repo.addWorktree({
    dir: join(victim.path, "w"),
    branch: "w",
    from: (await victim.repo.resolve("HEAD"))!,
  });
  writeFileSync(join(fake, ".git"), readFileSync(join(linked.dir, ".git")));
  await expect(openRepository(fake)).rejects.toMatchObject({ code: "invalid_data" });
  rmSync(join(temp.dir, ".git/commondir"));
  rmSync(join(temp.dir, ".git/objects"), { recursive: true });
  symlinkSync(join(victim.dir, ".git/objects"), join(temp.dir, ".git/objects"));
  await expect(openRepository(temp.dir)).rejects.toMatchObject({ code: "not_found" });
});

test("ignore patterns made to take long do not", async () => {
  using temp = await tempRepo();
  const { dir, repo } = temp;
  writeFileSync(
    join(dir, ".gitignore"),
    `${"*a".repeat(100)}b\n${"**/".repeat(200)}x\n${"a*/".repeat(100)}b\n[${"a-".repeat(500)}\n`,
  );
  const deep = Array.from({ length: 12 }, () => "a".repeat(200)).join("/");
  mkdirSync(join(dir, deep), { recursive: true });
  writeFileSync(join(dir, deep, "c"), "c");
  const startedAt = performance.now();
  expect((await repo.status()).map(({ path }) => path)).toEqual([".gitignore", `${deep}/c`]);
  // Backtracking would take longer than the universe lasts; this is not a measure of speed.
  expect(performance.now() - startedAt).toBeLessThan(20_000);
});

test("what git's own fsck would refuse is not committed", async () => {
  using temp = await tempRepo();
  const { repo } = temp;
  for (const path of [".gitmodules", "x/.GitModules", "gitmod~1"])
    await expect(repo.commitChanges(changes({ [path]: "[submodule]" }), commit)).rejects.toMatchObject({
      code: "invalid_data",
    });
  await expect(repo.commitChanges(changes({ ".gitattributes": "x".repeat(3_000) }), commit)).rejects.toMatchObject({
    code: "invalid_data",
  });
  await repo.commitChanges(changes({ "a.md": "a" }), {
    message: "nul\0 lone \ud800 end\n\n\n",
    author: { name: "<E\nvil>\0.", email: "" },
    committer: { name: "", email: "a b<>@x" },
  });
  for await (const { message, author } of repo.log())
    expect([message, author.name, author.email]).toEqual(["nul lone \ufffd end\n", "Evil.", "unknown"]);
  if (hasGit) expect(complaints(temp.dir)).toBe("");
});

test("a mark that came along with a repository takes no branch whose commits would be lost", async () => {
  using repo = await tempRepo();
  const repository = repo.repo;
  await repository.commitChanges(changes({ "a.md": "1" }), commit);
  const base = (await repository.resolve("HEAD"))!;
  const tree = await repository.addWorktree({ dir: join(repo.dir, "../other"), branch: "precious", from: base });
  await tree.commitChanges(changes({ "b.md": "2" }), commit);
  const precious = (await repository.resolve("precious"))!;
  const [main, safe] = ["refs/heads/main", "refs/heads/safe"];
  await repository.updateRef(safe, { from: null, to: base, reason: "branch", by: ANN });
  const dead = { pid: 2 ** 22 + 1, host: hostname(), startedAt: 1 };
  for (const [branch, from] of [
    [main, base],
    ["refs/heads/precious", precious],
    [safe, base],
  ]) {
    const draft = join(repo.dir, ".git/letta/worktrees", branch!.replaceAll("/", "-"));
    mkdirSync(draft, { recursive: true });
    writeFileSync(join(draft, "locked"), JSON.stringify({ ...dead, branch, from }));
  }
  await repository.maintain();
  expect([
    await repository.resolve(main),
    await repository.resolve("precious"),
    await repository.resolve(safe),
  ]).toEqual([base, precious, null]);
});
