import { expect, test } from "bun:test";
import { existsSync, readFileSync, rmSync, unlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createBundle } from "@/store/git/bundle.ts";
import { type CheckResult, checkRepository } from "@/store/git/check.ts";
import { ANN, changes, complaints, git, hasGit, tempRepo } from "../../support/git-repos.ts";

const look = (dir: string, repair = false) => checkRepository(dir, { repair, by: ANN });
const said = ({ findings }: CheckResult) =>
  findings.map(({ kind, repaired }) => `${kind}${repaired ? " repaired" : ""}`);

async function world() {
  const temp = await tempRepo();
  const { dir, repo } = temp;
  const commit = async (files: Record<string, string | null>) => {
    await repo.commitChanges(changes(files), { message: "m", author: ANN });
    return (await repo.resolve("HEAD"))!;
  };
  const lose = (oid: string) => unlinkSync(join(dir, ".git/objects", oid.slice(0, 2), oid.slice(2)));
  return { dir, repo, commit, lose, [Symbol.dispose]: () => temp[Symbol.dispose]() };
}

test("a whole repository has nothing to say, also without a commit", async () => {
  using temp = await world();
  expect(await look(temp.dir)).toEqual({ objects: 0, findings: [] });
  await temp.commit({ "a/b.md": "x\n", "c.md": "y\n" });
  expect(await look(temp.dir)).toEqual({ objects: 5, findings: [] });
  expect(await look(temp.dir, true)).toEqual({ objects: 5, findings: [] });
});

test("a lost file that is nowhere any more stays a finding, and loses nothing else", async () => {
  using temp = await world();
  await temp.commit({ "b.md": "0\n" });
  await temp.commit({ "a.md": "1\n" });
  const head = await temp.commit({ "a.md": "2\n" });
  const [old] = await temp.repo.listFiles("HEAD~1");
  temp.lose(old!.oid);
  const result = await look(temp.dir, true);
  expect(said(result)).toEqual(["object"]);
  expect(result.findings[0]!.what).toMatch(/is missing \(a\.md of commit [0-9a-f]{12}\)$/);
  expect(await temp.repo.resolve("HEAD")).toBe(head);
  expect(readFileSync(join(temp.dir, "a.md"), "utf8")).toBe("2\n");
});

test("a file of HEAD that lies unchanged in the folder comes back", async () => {
  using temp = await world();
  await temp.commit({ "deep/a.md": "1\n" });
  const [file] = await temp.repo.listFiles("HEAD");
  temp.lose(file!.oid);
  expect(said(await look(temp.dir))).toEqual(["object"]);
  expect(said(await look(temp.dir, true))).toEqual(["object repaired"]);
  expect(said(await look(temp.dir))).toEqual([]);
  if (hasGit) expect(complaints(temp.dir)).toBe("");
});

test("a branch that is gone is where it was last whole", async () => {
  using temp = await world();
  const first = await temp.commit({ "a.md": "1\n" });
  const second = await temp.commit({ "a.md": "2\n" });
  const { tree } = await temp.repo.objects.readCommit(second);
  temp.lose(tree);
  rmSync(join(temp.dir, ".git/refs/heads/main"));
  expect(said(await look(temp.dir))).toEqual(["ref"]);
  expect(said(await look(temp.dir, true))).toEqual(["ref repaired"]);
  expect(await temp.repo.resolve("HEAD")).toBe(first);
  expect(readFileSync(join(temp.dir, "a.md"), "utf8")).toBe("2\n");
});

test("a damaged index is made anew, and the old one kept", async () => {
  using temp = await world();
  await temp.commit({ "a.md": "1\n", "b.md": "2\n" });
  writeFileSync(join(temp.dir, "a.md"), "changed\n");
  writeFileSync(join(temp.dir, ".git/index"), "broken");
  expect(said(await look(temp.dir))).toEqual(["index"]);
  expect(said(await look(temp.dir, true))).toEqual(["index repaired"]);
  expect(await temp.repo.status()).toEqual([{ path: "a.md", state: "modified", staged: false }]);
  expect(existsSync(join(temp.dir, ".git/index.damaged"))).toBe(true);
  if (hasGit) expect(git(temp.dir, ["status", "--porcelain"])).toBe(" M a.md\n");
});

test("a repository that lacks its HEAD gets it back", async () => {
  using temp = await world();
  const head = await temp.commit({ "a.md": "1\n" });
  rmSync(join(temp.dir, ".git/HEAD"));
  expect(said(await look(temp.dir))).toEqual(["repository"]);
  expect(said(await look(temp.dir, true))).toEqual(["repository repaired"]);
  expect(await temp.repo.resolve("HEAD")).toBe(head);
});

test("what is no repository at all is left alone", async () => {
  using temp = await world();
  rmSync(join(temp.dir, ".git"), { recursive: true });
  expect(said(await look(temp.dir, true))).toEqual(["repository"]);
  expect(existsSync(join(temp.dir, ".git"))).toBe(false);
});

test.skipIf(!hasGit)("a bundle is what git clones", async () => {
  using temp = await world();
  await temp.commit({ "a/ü.md": "1\n", "empty.md": "" });
  await temp.commit({ "a/ü.md": null, "b.md": "2\n" });
  const bundle = join(temp.dir, "..", `${crypto.randomUUID()}.bundle`);
  writeFileSync(bundle, await createBundle(temp.repo, "refs/heads/main"));
  try {
    expect(git(temp.dir, ["bundle", "verify", "-q", bundle])).toContain("is okay");
    git(temp.dir, ["fetch", "-q", bundle, "main:refs/heads/copy"]);
    expect(git(temp.dir, ["rev-parse", "copy"])).toBe(git(temp.dir, ["rev-parse", "main"]));
  } finally {
    rmSync(bundle);
  }
});
