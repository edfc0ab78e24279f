import { expect, test } from "bun:test";
import { findLastStanding, revertCommit } from "@/memory/revert.ts";
import { ANN, changes, tempRepo } from "../support/git-repos.ts";

async function history() {
  const temp = await tempRepo();
  const { repo } = temp;
  const commit = async (files: Record<string, string | null>, message: string) => {
    await repo.commitChanges(changes(files), { message, author: ANN });
  };
  const undo = async () => {
    const last = await findLastStanding(repo);
    return last && (await revertCommit(repo, last, ANN)).of.message.trim();
  };
  const text = async (path: string) => Buffer.from((await repo.readFile("HEAD", path)) ?? "").toString();
  return { repo, commit, undo, text, [Symbol.dispose]: () => temp[Symbol.dispose]() };
}

test("undo goes back commit by commit, and stops at the beginning", async () => {
  using world = await history();
  const { commit, undo } = world;
  await commit({ "a.md": "1\n" }, "begin");
  await commit({ "a.md": "2\n" }, "two");
  await commit({ "b.md": "x\n" }, "three");
  expect([await undo(), await undo(), await undo()]).toEqual(["three", "two", null]);
  expect(await world.text("a.md")).toBe("1\n");
});

test("a revert that was taken back takes nothing back: its commit stands again", async () => {
  using world = await history();
  const { repo, commit, undo } = world;
  await commit({ "a.md": "1\n" }, "begin");
  await commit({ "a.md": "2\n" }, "two");
  await undo();
  await revertCommit(repo, await repo.objects.readCommit((await repo.resolve("HEAD"))!), ANN);
  expect(await world.text("a.md")).toBe("2\n");
  expect((await findLastStanding(repo))?.message).toBe("two\n");
});

test("reverting what is already gone, and the beginning, are refused", async () => {
  using world = await history();
  const { repo, commit, undo } = world;
  await commit({ "a.md": "1\n" }, "begin");
  await commit({ "a.md": "2\n" }, "two");
  const two = await repo.objects.readCommit((await repo.resolve("HEAD"))!);
  const begin = await repo.objects.readCommit(two.parents[0]!);
  await undo();
  await expect(revertCommit(repo, two, ANN)).rejects.toMatchObject({
    code: "usage",
    message: expect.stringContaining("left to take back"),
  });
  await expect(revertCommit(repo, begin, ANN)).rejects.toMatchObject({ code: "usage" });
});

test("only what the commit did is taken back, also in a file that went on", async () => {
  using world = await history();
  const { repo, commit } = world;
  await commit({ "a.md": "# One\n\n1\n\n# Two\n\n2\n" }, "begin");
  await commit({ "a.md": "# One\n\nfirst\n\n# Two\n\n2\n" }, "one");
  const one = await repo.objects.readCommit((await repo.resolve("HEAD"))!);
  await commit({ "a.md": "# One\n\nfirst\n\n# Two\n\nsecond\n" }, "two");
  await revertCommit(repo, one, ANN);
  expect(await world.text("a.md")).toBe("# One\n\n1\n\n# Two\n\nsecond\n");
});
