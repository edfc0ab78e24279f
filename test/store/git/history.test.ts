import { expect, test } from "bun:test";
import { join } from "node:path";
import type { GitRepository, Oid } from "@/store/git/types.ts";
import { ANN, changes, git, hasGit, tempRepo } from "../../support/git-repos.ts";

async function commit(repo: GitRepository, files: Record<string, string | null>): Promise<Oid> {
  const outcome = await repo.commitChanges(changes(files), { message: Object.keys(files).join(), author: ANN });
  if (outcome.status !== "committed") throw new Error("nothing changed");
  return outcome.oid;
}

async function merge(repo: GitRepository, ours: Oid, theirs: Oid): Promise<Oid> {
  const outcome = await repo.merge(ours, theirs, () => null);
  if (outcome.status !== "merged") throw new Error(JSON.stringify(outcome));
  return repo.commitTree(outcome.tree, { message: "merge", author: ANN, parents: [ours, theirs] });
}

test("after merges in both directions, the bases are merged first", async () => {
  using temp = await tempRepo();
  const { dir, repo } = temp;
  const base = await commit(repo, { "x.md": "0", "y.md": "0", "z.md": "0" });
  const side = await repo.addWorktree({ dir: join(temp.path, "side"), branch: "side", from: base });
  const b1 = await commit(repo, { "x.md": "1" });
  const b2 = await commit(side, { "y.md": "1" });
  const m1 = await merge(repo, b1, b2);
  const m2 = await merge(side, b2, b1);
  expect([await repo.isAncestor(b1, m2), await repo.isAncestor(m1, m2), await repo.isAncestor(m1, m1)]).toEqual([
    true,
    false,
    true,
  ]);
  const ours = await commit(repo, { "z.md": "ours" });
  // Back to what it was at one of the two bases: with that one alone, the change would be overlooked.
  const theirs = await commit(side, { "x.md": "0", "y.md": "0" });
  const outcome = await repo.merge(ours, theirs, () => null);
  if (outcome.status !== "merged") throw new Error("conflict");
  const files: Record<string, string> = {};
  for (const { path, oid } of await repo.listFiles(outcome.tree))
    files[path] = Buffer.from(await repo.objects.readBlob(oid)).toString();
  expect(files).toEqual({ "x.md": "0", "y.md": "0", "z.md": "ours" });
  if (hasGit) {
    const id = await repo.commitTree(outcome.tree, { message: "m", author: ANN, parents: [ours, theirs] });
    expect(git(dir, ["merge-tree", "--write-tree", ours, theirs]).trim()).toBe(
      git(dir, ["rev-parse", `${id}^{tree}`]).trim(),
    );
    expect(git(dir, ["merge-base", "--all", ours, theirs]).trim().split("\n")).toContain(
      (await repo.findMergeBase(ours, theirs))!,
    );
  }
});

test("histories with nothing in common, and the log of a path through merges", async () => {
  using temp = await tempRepo();
  const { dir, repo } = temp;
  const a = await commit(repo, { "a.md": "1", "dir/x.md": "x" });
  const side = await repo.addWorktree({ dir: join(temp.path, "side"), branch: "side", from: a });
  const b = await commit(side, { "dir/x.md": "y" });
  const c = await commit(repo, { "a.md": "2" });
  const d = await merge(repo, c, b);
  const e = await commit(repo, { "other.md": "o" });
  const log = async (path?: string, firstParent = false) => {
    const oids: Oid[] = [];
    for await (const { oid } of repo.log({ ...(path && { path }), firstParent })) oids.push(oid);
    return oids;
  };
  expect(await log("dir")).toEqual([b, a]);
  expect(await log("a.md")).toEqual([c, a]);
  expect(await log("none")).toEqual([]);
  expect((await log()).toSorted()).toEqual([a, b, c, d, e].toSorted());
  expect(await log(undefined, true)).toEqual([e, d, c, a]);
  expect(
    (await repo.diffTrees(a, d)).map(({ path, before, after }) => [path, before !== null, after !== null]),
  ).toEqual([
    ["a.md", true, true],
    ["dir/x.md", true, true],
  ]);
  expect(await repo.diffTrees(null, a)).toHaveLength(2);
  if (hasGit) {
    git(dir, ["checkout", "-q", "--orphan", "alien"]);
    git(dir, ["commit", "-q", "-m", "alien"]);
    const alien = (await repo.resolve("alien"))!;
    expect([await repo.findMergeBase(alien, e), await repo.isAncestor(a, alien)]).toEqual([null, false]);
  }
});

test("refs change only from what the caller saw, and cannot be folder and file at once", async () => {
  using temp = await tempRepo();
  const { repo } = temp;
  const a = await commit(repo, { "a.md": "1" });
  const by = { reason: "x", by: ANN };
  await repo.updateRef("refs/letta/one", { from: null, to: a, ...by });
  await expect(repo.updateRef("refs/letta/one", { from: null, to: a, ...by })).rejects.toMatchObject({
    code: "conflict",
  });
  await expect(repo.updateRef("refs/letta/one/two", { from: null, to: a, ...by })).rejects.toMatchObject({
    code: "conflict",
  });
  await expect(repo.updateRef("refs/letta", { from: null, to: a, ...by })).rejects.toMatchObject({ code: "conflict" });
  await expect(repo.updateRef("refs/letta/x", { from: null, to: "1".repeat(40), ...by })).rejects.toMatchObject({
    code: "not_found",
  });
  await repo.updateRef("refs/letta/one", { from: a, to: null, ...by });
  await repo.updateRef("refs/letta/one/two", { from: null, to: a, ...by });
  expect(await repo.listRefs("refs/letta/")).toEqual([{ ref: "refs/letta/one/two", oid: a }]);
  // A tree that was only written so far is there for everybody once a ref names it.
  const tree = await repo.objects.writeTree([
    { name: "b.md", mode: "100644", oid: await repo.objects.writeBlob(Buffer.from("b")) },
  ]);
  await repo.updateRef("refs/letta/one/two", { from: a, to: null, ...by });
  await repo.updateRef("refs/letta/one", { from: null, to: tree, ...by });
  if (hasGit) expect(git(temp.dir, ["ls-tree", "--name-only", "refs/letta/one"])).toBe("b.md\n");
});

test("a change in the way refuses a switch whole, and one that is there already does not", async () => {
  using temp = await tempRepo();
  const { dir, repo } = temp;
  const a = await commit(repo, { "a.md": "1", "b.md": "1", "c.md": "1" });
  const side = await repo.addWorktree({ dir: join(temp.path, "side"), branch: "side", from: a });
  const b = await commit(side, { "a.md": "2", "b.md": null, "new/n.md": "n" });
  const forward = () => repo.fastForward(b, { reason: "x", by: ANN });
  const refused = { code: "conflict", message: expect.stringContaining("local changes") };
  await Bun.write(join(dir, "new/n.md"), "mine");
  await expect(forward()).rejects.toMatchObject({ ...refused, message: expect.stringContaining("new/n.md") });
  await Bun.write(join(dir, "new/n.md"), "n");
  await Bun.write(join(dir, "b.md"), "edited");
  await expect(forward()).rejects.toMatchObject({ ...refused, message: expect.stringContaining("b.md") });
  expect([await repo.resolve("HEAD"), await Bun.file(join(dir, "a.md")).text()]).toEqual([a, "1"]);
  await Bun.file(join(dir, "b.md")).delete();
  await Bun.write(join(dir, "c.md"), "unrelated");
  await forward();
  expect(await repo.status()).toEqual([{ path: "c.md", state: "modified", staged: false }]);
  await repo.restore(["c.md"], "HEAD");
  await repo.restore(["b.md", "new"], a);
  expect((await repo.status()).map(({ path, state, staged }) => [path, state, staged])).toEqual([
    ["b.md", "added", true],
    ["new/n.md", "deleted", true],
  ]);
  await repo.restore([], "HEAD");
  expect(await repo.status()).toEqual([]);
  await expect(repo.fastForward(a, { reason: "x", by: ANN })).rejects.toMatchObject({ code: "conflict" });
});
