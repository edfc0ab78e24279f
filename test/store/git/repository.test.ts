import { expect, test } from "bun:test";
import { existsSync, mkdtempSync, readFileSync, readlinkSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { initRepository, openRepository } from "@/store/git/repository.ts";
import type { Commit, FileStatus } from "@/store/git/types.ts";
import { tempDir } from "../../support/binary.ts";
import { ANN, changes, complaints, filesOf, git, hasGit, scratchIsEmpty, tempRepo } from "../../support/git-repos.ts";

const commit = { message: "why\n\nbecause", author: ANN };

async function collect(log: AsyncIterable<Commit>): Promise<string[]> {
  const messages: string[] = [];
  for await (const { message } of log) messages.push(message);
  return messages;
}

test("a commit writes its files, and one commit of exactly them", async () => {
  using temp = await tempRepo();
  const { dir, repo } = temp;
  const first = await repo.commitChanges(changes({ "system/persona.md": "I am\n", "a b/ü.md": "x" }), commit);
  expect(first).toMatchObject({ status: "committed", paths: ["a b/ü.md", "system/persona.md"] });
  writeFileSync(join(dir, "draft.md"), "not yet");
  writeFileSync(join(dir, "a b/ü.md"), "changed by hand");
  const second = await repo.commitChanges(changes({ "system/persona.md": null, "new.md": "n" }), commit);
  expect(second).toMatchObject({ status: "committed", paths: ["new.md", "system/persona.md"] });
  expect(await filesOf(dir)).toEqual({ "a b/ü.md": "changed by hand", "draft.md": "not yet", "new.md": "n" });
  expect((await repo.listFiles("HEAD")).map(({ path }) => path)).toEqual(["a b/ü.md", "new.md"]);
  expect(Buffer.from((await repo.readFile("HEAD~1", "system/persona.md"))!).toString()).toBe("I am\n");
  expect(await repo.readFile("HEAD", "system/persona.md")).toBeNull();
  expect(await repo.status()).toEqual([
    { path: "a b/ü.md", state: "modified", staged: false },
    { path: "draft.md", state: "untracked", staged: false },
  ] satisfies FileStatus[]);
  expect(await repo.commitPaths([], commit)).toMatchObject({ status: "committed", paths: ["a b/ü.md", "draft.md"] });
  expect(await repo.commitPaths([], commit)).toEqual({ status: "unchanged" });
  expect(await collect(repo.log())).toEqual(["why\n\nbecause\n", "why\n\nbecause\n", "why\n\nbecause\n"]);
  expect(scratchIsEmpty(dir)).toBe(true);
  if (hasGit) expect(complaints(dir)).toBe("");
});

test("making a repository again changes nothing but settings and hooks", async () => {
  using folder = tempDir("letta-git-");
  const dir = join(folder.path, "deep/memory");
  const repo = await initRepository(dir, { branch: "main", config: { "user.name": 'Ann "A" #1' } });
  await repo.commitChanges(changes({ "a.md": "a" }), commit);
  const head = await repo.resolve("HEAD");
  const config = readFileSync(join(dir, ".git/config"), "utf8");
  writeFileSync(join(dir, ".git/config"), `# mine\n${config}[remote "origin"]\n\turl = x\n`);
  const again = await initRepository(dir, {
    branch: "other",
    config: { "user.name": "Bob", "branch.main.remote": "origin" },
    hooks: { "pre-commit": "#!/bin/sh\nexit 1\n" },
  });
  expect(await again.resolve("HEAD")).toBe(head);
  expect(await again.currentBranch()).toBe("refs/heads/main");
  expect(readFileSync(join(dir, ".git/config"), "utf8")).toBe(
    `# mine\n${config.replace(/name = .*/, "name = Bob")}[remote "origin"]\n\turl = x\n[branch "main"]\n\tremote = origin\n`,
  );
  if (hasGit) {
    expect(git(dir, ["config", "user.name"])).toBe("Bob\n");
    expect(git(dir, ["commit", "--allow-empty", "-m", "x"], { ok: false })).toBe("");
    expect(complaints(dir)).toBe("");
  }
});

test("an empty first commit, and everything deleted again", async () => {
  using temp = await tempRepo();
  const { dir, repo } = temp;
  expect([await repo.resolve("HEAD"), await repo.status(), await repo.commitPaths([], commit)]).toEqual([
    null,
    [],
    { status: "unchanged" },
  ]);
  const first = await repo.commitTree(await repo.objects.writeTree([]), { ...commit, parents: [], expectedHead: null });
  expect([await repo.resolve("HEAD"), await repo.listFiles("HEAD")]).toEqual([first, []]);
  if (hasGit) expect(complaints(dir)).toBe("");
  await repo.commitChanges(changes({ "a/b/c.md": "c" }), commit);
  await repo.commitChanges(changes({ "a/b/c.md": null }), commit);
  expect([await repo.listFiles("HEAD"), existsSync(join(dir, "a"))]).toEqual([[], false]);
  if (hasGit) expect(complaints(dir)).toBe("");
});

test("where there is no repository, opening says so", async () => {
  using folder = tempDir("letta-git-");
  await expect(openRepository(join(folder.path, "none"))).rejects.toMatchObject({ code: "not_found" });
  await expect(openRepository(folder.path)).rejects.toMatchObject({ code: "not_found" });
  expect(existsSync(join(folder.path, "none"))).toBe(false);
});

test("a linked working tree has a branch of its own, and is merged back in memory", async () => {
  using temp = await tempRepo();
  const { dir, repo } = temp;
  await repo.commitChanges(changes({ "a.md": "a", "dir/b.md": "b" }), commit);
  const from = (await repo.resolve("HEAD"))!;
  const linkedDir = join(temp.path, "worktrees/dream");
  const linked = await repo.addWorktree({ dir: linkedDir, branch: "letta/dream", from });
  expect(await filesOf(linkedDir)).toEqual({ "a.md": "a", "dir/b.md": "b" });
  expect(await repo.listWorktrees()).toEqual([
    { dir, branch: "refs/heads/main", head: from },
    { dir: linkedDir, branch: "refs/heads/letta/dream", head: from },
  ]);
  await linked.commitChanges(changes({ "dir/b.md": null, "dream.md": "d" }), commit);
  await repo.commitChanges(changes({ "a.md": "a2" }), commit);
  if (hasGit) expect(complaints(dir) + complaints(linkedDir)).toBe("");
  const ours = (await repo.resolve("HEAD"))!;
  const theirs = (await repo.resolve("letta/dream"))!;
  expect(await repo.findMergeBase(ours, theirs)).toBe(from);
  const merged = await repo.merge(ours, theirs, () => null);
  if (merged.status !== "merged") throw new Error("the merge is not clean");
  await repo.commitTree(merged.tree, { message: "merge", author: ANN, parents: [ours, theirs] });
  expect(await filesOf(dir)).toEqual({ "a.md": "a2", "dream.md": "d" });
  await repo.removeWorktree(linkedDir);
  expect(existsSync(linkedDir)).toBe(false);
  expect(await repo.listRefs("refs/heads/")).toEqual([
    { ref: "refs/heads/letta/dream", oid: theirs },
    { ref: "refs/heads/main", oid: (await repo.resolve("HEAD"))! },
  ]);
  if (hasGit) expect(complaints(dir) + git(dir, ["worktree", "list"]).split("\n").length).toBe("2");
});

const otherDisk = existsSync("/dev/shm") && statSync("/dev/shm").dev !== statSync(tmpdir()).dev;

test.skipIf(!otherDisk)("a linked working tree may be on another disk", async () => {
  using temp = await tempRepo(tempDir());
  const { repo } = temp;
  await repo.commitChanges(
    [...changes({ "a.md": "a", "dir/b.md": "b" }), { path: "link", content: Buffer.from("a.md"), mode: "120000" }],
    commit,
  );
  const dir = mkdtempSync("/dev/shm/letta-");
  try {
    const linked = await repo.addWorktree({ dir, branch: "side", from: (await repo.resolve("HEAD"))! });
    await linked.commitChanges(changes({ "a.md": "changed", "dir/b.md": null, "new/c.md": "c" }), commit);
    expect(await filesOf(dir)).toEqual({ "a.md": "changed", "new/c.md": "c" });
    expect(await linked.status()).toEqual([]);
    await linked.restore([], "HEAD~1");
    expect(await filesOf(dir)).toEqual({ "a.md": "a", "dir/b.md": "b" });
    expect(readlinkSync(join(dir, "link"))).toBe("a.md");
    await repo.removeWorktree(dir);
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
  if (hasGit) expect(complaints(temp.dir)).toBe("");
});
