import { expect, test } from "bun:test";
import { ANN, changes, git, hasGit, tempRepo } from "../../support/git-repos.ts";

test("each line answers with the commit that brought it, also past moved lines and merges", async () => {
  using temp = await tempRepo();
  const { dir, repo } = temp;
  const versions = ["a\nb\nc\n", "a\nnew\nb\nc\n", "a\nnew\nb\nC\n", "top\na\nnew\nb\nC\nend", "top\na\nb\nC\nend\n"];
  for (const [index, text] of versions.entries()) {
    await repo.commitChanges(changes({ "x.md": text }), { message: `v${index}`, author: ANN });
    await repo.commitChanges(changes({ "other.md": text }), { message: `other ${index}`, author: ANN });
  }
  const lines = (await repo.blame("HEAD", "x.md"))!;
  expect(lines.map(({ text, commit, line }) => [text, commit.message, line])).toEqual([
    ["top", "v3\n", 1],
    ["a", "v0\n", 1],
    ["b", "v0\n", 2],
    ["C", "v2\n", 4],
    ["end", "v3\n", 6],
  ]);
  expect(await repo.blame("HEAD", "none.md")).toBeNull();
  expect(await repo.blame("nothing", "x.md")).toBeNull();
  await repo.commitChanges([{ path: "bin", content: Uint8Array.of(0, 1) }], { message: "b", author: ANN });
  expect(await repo.blame("HEAD", "bin")).toBeNull();
  if (hasGit) {
    const theirs = git(dir, ["blame", "--first-parent", "--porcelain", "x.md"]).match(/^[0-9a-f]{40}/gm);
    expect(lines.slice(0, 4).map(({ commit }) => commit.oid)).toEqual(theirs!.slice(0, 4));
  }
});
