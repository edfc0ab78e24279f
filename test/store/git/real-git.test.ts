// Repositories as real git makes them, read by the engine, and the other way round. Skipped where git is not installed.

import { expect, test } from "bun:test";
import { appendFileSync, chmodSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { openRepository } from "@/store/git/repository.ts";
import { tempDir } from "../../support/binary.ts";
import { ANN, changes, complaints, filesOf, git, hasGit } from "../../support/git-repos.ts";

const commit = { message: "ours", author: ANN };

function realRepo(): { dir: string; path: string; [Symbol.dispose](): void } {
  const folder = tempDir("letta-real-");
  const dir = join(folder.path, "repo");
  mkdirSync(dir);
  git(dir, ["init", "-q", "-b", "main"]);
  return { dir, path: folder.path, [Symbol.dispose]: () => folder[Symbol.dispose]() };
}

const text = (bytes: Uint8Array | null) => bytes && Buffer.from(bytes).toString();

test.skipIf(!hasGit)("packs with deltas, packed refs, tags and the extensions of the index", async () => {
  using real = realRepo();
  const { dir } = real;
  const line = (number: number) => `line ${number} of a file that is long enough for a delta\n`;
  for (let version = 0; version < 12; version++) {
    writeFileSync(
      join(dir, "big.md"),
      Array.from({ length: 300 }, (_, n) => line(n === version * 20 ? -n : n)).join(""),
    );
    mkdirSync(join(dir, "d"), { recursive: true });
    writeFileSync(join(dir, "d/x.md"), `${version}`);
    git(dir, ["add", "-A"]);
    git(dir, ["commit", "-q", "-m", `v${version}`]);
  }
  git(dir, ["tag", "-a", "-m", "t", "annotated"]);
  git(dir, ["branch", "side", "HEAD~3"]);
  git(dir, ["gc", "-q", "--aggressive", "--prune=now"]);
  git(dir, ["pack-refs", "--all"]);
  git(dir, ["update-index", "--untracked-cache", "--index-version", "4"]);
  git(dir, ["status"]);
  const repo = await openRepository(dir);
  expect(await repo.status()).toEqual([]);
  for (const revision of [
    "HEAD",
    "HEAD~11",
    "side",
    "annotated^",
    "main~2^1",
    "refs/heads/side~1",
    "HEAD~12",
    "nope",
  ]) {
    const theirs = git(dir, ["rev-parse", "--verify", "-q", `${revision}^{commit}`], { ok: false }).trim();
    expect([revision, (await repo.resolve(revision)) ?? ""]).toEqual([revision, theirs]);
  }
  const head = git(dir, ["rev-parse", "HEAD"]).trim();
  expect(await repo.resolve(head.slice(0, 8))).toBe(head);
  expect(text(await repo.readFile("HEAD~7", "big.md"))).toBe(git(dir, ["show", "HEAD~7:big.md"]));
  expect(await repo.listRefs("refs/")).toHaveLength(3);
  const logged: string[] = [];
  for await (const { oid } of repo.log({ path: "big.md", limit: 5 })) logged.push(oid);
  expect(logged).toEqual(git(dir, ["log", "-5", "--format=%H", "--", "big.md"]).trim().split("\n"));
  await repo.commitChanges(changes({ "d/x.md": "ours" }), commit);
  await repo.updateRef("refs/heads/side", { from: await repo.resolve("side"), to: null, reason: "", by: ANN });
  expect(git(dir, ["branch", "--format=%(refname)"])).toBe("refs/heads/main\n");
  expect(complaints(dir)).toBe("");
  expect(git(dir, ["log", "-1", "--format=%an <%ae>|%cn|%s"])).toBe("Ann <ann@example.com>|Ann|ours\n");
});

test.skipIf(!hasGit)("status is what git says", async () => {
  using real = realRepo();
  const { dir } = real;
  const put = (path: string, content: string) => {
    mkdirSync(join(dir, path, ".."), { recursive: true });
    writeFileSync(join(dir, path), content);
  };
  for (const name of ["kept", "edited", "staged", "both", "gone", "removed", "cached", "mode", "typed"])
    put(`${name}.md`, name);
  put("deep/er/x.md", "x");
  put(".gitignore", "*.log\n/top/\nbuild/\n!keep.log\n**/cache/*.tmp\na[0-9].txt\n\\#hash\ntrail\\ \n");
  put("logs/.gitignore", "!loud.log\nlocal\n");
  git(dir, ["add", "-A"]);
  git(dir, ["commit", "-q", "-m", "base"]);
  put("edited.md", "EDITED");
  for (const name of ["staged.md", "both.md"]) {
    put(name, "now staged");
    git(dir, ["add", name]);
  }
  put("both.md", "and edited");
  git(dir, ["rm", "-q", "removed.md"]);
  git(dir, ["rm", "-q", "--cached", "cached.md"]);
  Bun.spawnSync(["rm", join(dir, "gone.md"), join(dir, "typed.md")]);
  symlinkSync("kept.md", join(dir, "typed.md"));
  chmodSync(join(dir, "mode.md"), 0o755);
  put("fresh.md", "f");
  git(dir, ["add", "fresh.md"]);
  put("-dash 'q' \"d\".md", "d");
  put("ünï\u0301.md", "u");
  for (const path of [
    "x.log",
    "keep.log",
    "top/a",
    "sub/top/a",
    "build/a",
    "sub/build/a",
    "logs/loud.log",
    "logs/quiet.log",
  ])
    put(path, "i");
  for (const path of [
    "logs/local",
    "logs/in/local",
    "cache/a.tmp",
    "u/v/cache/a.tmp",
    "cache/b/c.tmp",
    "a1.txt",
    "ab.txt",
    "#hash",
    "trail ",
  ])
    put(path, "i");
  put("inner/file.md", "own");
  git(join(dir, "inner"), ["init", "-q"]);
  const theirs = git(dir, ["-c", "core.quotePath=false", "status", "--porcelain", "-z", "-uall"])
    .split("\0")
    .filter((line) => line !== "" && !line.endsWith("inner/"))
    .map((line) => ({ path: line.slice(3), xy: line.slice(0, 2) }));
  const repo = await openRepository(dir);
  const xy = {
    untracked: /^\?\?$/,
    added: /^A[ M]$/,
    modified: /^(M[ MT]|T |.[MT])$/,
    deleted: /^(D | D)$/,
    conflicted: /U/,
  };
  const ours = await repo.status();
  const byPath = (a: { path: string }, b: { path: string }) => (a.path < b.path ? -1 : a.path > b.path ? 1 : 0);
  expect(ours.map(({ path }) => path).sort()).toEqual(theirs.map(({ path }) => path).sort());
  const known = theirs.toSorted(byPath);
  for (const [index, { path, state, staged }] of ours.toSorted(byPath).entries()) {
    const same = known.filter((line) => line.path === path && xy[state].test(line.xy));
    expect([path, state, same.length, known[index]!.path]).toEqual([path, state, 1, path]);
    expect([path, staged]).toEqual([path, !/^[ ?]/.test(same[0]!.xy)]);
  }
  expect((await repo.status({ paths: ["logs", "edited.md", "sub/build/a"] })).map(({ path }) => path)).toEqual(
    theirs
      .map(({ path }) => path)
      .filter((path) => path.startsWith("logs/") || path === "edited.md")
      .sort(),
  );
  await repo.commitPaths([], commit);
  expect(git(dir, ["status", "--porcelain"])).toBe("?? inner/\n");
  expect(git(dir, ["fsck", "--strict", "--no-progress"])).toBe("");
});

test.skipIf(!hasGit)("a detached HEAD, a working tree of git's, and one that git finishes", async () => {
  using real = realRepo();
  const { dir } = real;
  writeFileSync(join(dir, "a.md"), "a\n");
  git(dir, ["add", "-A"]);
  git(dir, ["commit", "-q", "-m", "base"]);
  const linked = join(real.path, "linked");
  git(dir, ["worktree", "add", "-q", "-b", "topic", linked]);
  const topic = await openRepository(linked);
  expect(await topic.currentBranch()).toBe("refs/heads/topic");
  await topic.commitChanges(changes({ "t.md": "t" }), commit);
  git(dir, ["checkout", "-q", "--detach"]);
  const repo = await openRepository(dir);
  expect(await repo.currentBranch()).toBeNull();
  await repo.commitChanges(changes({ "d.md": "d" }), commit);
  expect(git(dir, ["reflog", "-1", "--format=%gs"])).toBe("commit: ours\n");
  expect(complaints(dir) + complaints(linked)).toBe("");
  const ours = await repo.addWorktree({
    dir: join(real.path, "ours"),
    branch: "ours",
    from: (await repo.resolve("HEAD"))!,
  });
  writeFileSync(join(ours.dir, "a.md"), "by git\n");
  git(ours.dir, ["commit", "-q", "-am", "by git"]);
  git(dir, ["merge", "-q", "-m", "m", "ours"]);
  git(dir, ["worktree", "remove", ours.dir]);
  expect((await repo.listWorktrees()).map(({ branch }) => branch)).toEqual([null, "refs/heads/topic"]);
  expect(await filesOf(dir)).toEqual({ "a.md": "by git\n", "d.md": "d" });
  expect(await repo.status()).toEqual([]);
});

test.skipIf(!hasGit)("while git is in the middle of something, nothing is committed", async () => {
  using real = realRepo();
  const { dir } = real;
  const write = (content: string, message: string) => {
    writeFileSync(join(dir, "a.md"), content);
    git(dir, ["add", "-A"]);
    git(dir, ["commit", "-q", "-m", message]);
  };
  write("base\n", "base");
  git(dir, ["checkout", "-q", "-b", "side"]);
  write("side\n", "side");
  git(dir, ["checkout", "-q", "main"]);
  write("main\n", "main");
  git(dir, ["merge", "side"], { ok: false });
  const repo = await openRepository(dir);
  expect(await repo.operation()).toBe("merge");
  expect(await repo.status()).toEqual([{ path: "a.md", state: "conflicted", staged: false }]);
  await expect(repo.commitPaths([], commit)).rejects.toMatchObject({ code: "conflict" });
  git(dir, ["merge", "--abort"]);
  expect(await repo.operation()).toBeNull();
  // A conflict without an operation.
  writeFileSync(join(dir, "a.md"), "stashed\n");
  git(dir, ["stash", "-q"]);
  git(dir, ["checkout", "-q", "side"]);
  git(dir, ["stash", "pop"], { ok: false });
  await expect(repo.commitPaths([], commit)).rejects.toMatchObject({
    code: "conflict",
    message: expect.stringContaining("a.md"),
  });
  git(dir, ["reset", "-q", "--hard"]);
  const [ours, theirs] = [(await repo.resolve("main"))!, (await repo.resolve("side"))!];
  expect(await repo.merge(ours, theirs, () => null)).toMatchObject({
    status: "conflict",
    conflicts: [{ path: "a.md" }],
  });
  expect(await repo.findMergeBase(ours, theirs)).toBe(git(dir, ["merge-base", "main", "side"]).trim());
});

test.skipIf(!hasGit).each([
  ["sha256", ["-c", "init.defaultObjectFormat=sha256", "init", "-q", "--object-format=sha256"], "sha256"],
  ["bare", ["init", "-q", "--bare", ".git"], "bare"],
] as const)("%s is refused with a reason", async (_, args, word) => {
  using folder = tempDir("letta-real-");
  git(folder.path, [...args]);
  await expect(openRepository(folder.path)).rejects.toMatchObject({
    code: "invalid_data",
    message: expect.stringContaining(word),
  });
});

test.each([
  ["[core]\n\trepositoryformatversion = 1\n[extensions]\n\trefStorage = reftable\n", "reftable"],
  ["[core]\n\trepositoryformatversion = 1\n[extensions]\n\tpartialClone = origin\n", "partialclone"],
  ["[core]\n\trepositoryformatversion = 2\n", "version 2"],
])("a config with %j is refused", async (config, word) => {
  using folder = tempDir("letta-real-");
  for (const name of ["objects", "refs"]) mkdirSync(join(folder.path, ".git", name), { recursive: true });
  writeFileSync(join(folder.path, ".git/HEAD"), "ref: refs/heads/main\n");
  writeFileSync(join(folder.path, ".git/config"), config);
  await expect(openRepository(folder.path)).rejects.toMatchObject({
    code: "invalid_data",
    message: expect.stringContaining(word),
  });
});

test.skipIf(!hasGit)("a shallow clone is refused; a split index, too", async () => {
  using real = realRepo();
  const { dir } = real;
  writeFileSync(join(dir, "a.md"), "a");
  git(dir, ["add", "-A"]);
  git(dir, ["commit", "-q", "-m", "1"]);
  git(dir, ["commit", "-q", "--allow-empty", "-m", "2"]);
  git(real.path, ["clone", "-q", "--depth", "1", `file://${dir}`, "shallow"]);
  await expect(openRepository(join(real.path, "shallow"))).rejects.toMatchObject({
    message: expect.stringContaining("history"),
  });
  git(dir, ["update-index", "--split-index"]);
  const repo = await openRepository(dir);
  await expect(repo.status()).rejects.toMatchObject({ message: expect.stringContaining("split index") });
  git(dir, ["update-index", "--no-split-index"]);
  appendFileSync(join(dir, "a.md"), "b");
  expect(await repo.commitPaths([], commit)).toMatchObject({ status: "committed" });
});
