import { expect, test } from "bun:test";
import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { openRepository } from "@/store/git/repository.ts";
import { ANN, changes, complaints, git, hasGit, scratchIsEmpty, tempRepo } from "../../support/git-repos.ts";

const commit = { message: "m", author: ANN };

const packs = (dir: string) => readdirSync(join(dir, ".git/objects/pack")).filter((name) => name.endsWith(".pack"));
const loose = (dir: string) =>
  readdirSync(join(dir, ".git/objects"))
    .filter((name) => name.length === 2)
    .flatMap((name) => readdirSync(join(dir, ".git/objects", name)));

test("many loose objects become a pack, which everybody reads", async () => {
  using temp = await tempRepo();
  const { dir, repo } = temp;
  const reader = await openRepository(dir);
  for (let number = 0; number < 12; number++)
    await repo.commitChanges(changes({ [`d${number}/x.md`]: `${number}` }), commit);
  expect(await reader.listFiles("HEAD~3")).toHaveLength(9);
  await repo.maintain();
  expect([packs(dir).length, loose(dir).length]).toEqual([0, 48]);
  await repo.maintain({ maxLoose: 47 });
  expect([packs(dir).length, loose(dir).length]).toEqual([1, 0]);
  // Opened before, with nothing read of these yet.
  expect(await reader.listFiles("HEAD")).toHaveLength(12);
  expect(await (await openRepository(dir)).listFiles("HEAD")).toHaveLength(12);
  await repo.commitChanges(changes({ "d0/x.md": "again" }), commit);
  expect(await reader.status()).toEqual([]);
  if (hasGit) {
    expect(complaints(dir)).toBe("");
    for (const name of packs(dir)) expect(git(dir, ["verify-pack", join(".git/objects/pack", name)])).toBe("");
    git(dir, ["gc", "-q"]);
    expect(await reader.listFiles("HEAD")).toHaveLength(12);
  }
});

test("a commit of many files is one pack; many small packs become one", async () => {
  using temp = await tempRepo();
  const { dir, repo } = temp;
  for (let number = 0; number < 32; number++) {
    const files = Object.fromEntries(
      Array.from({ length: 100 }, (_, file) => [`many/${file}.md`, `${number} ${file}`]),
    );
    await repo.commitChanges(changes(files), commit);
  }
  expect([packs(dir).length, loose(dir).length]).toEqual([32, 0]);
  await repo.maintain();
  expect(packs(dir)).toHaveLength(1);
  expect(Buffer.from((await repo.readFile("HEAD~31", "many/7.md"))!).toString()).toBe("0 7");
  expect(await repo.status()).toEqual([]);
  if (hasGit) expect(complaints(dir) + git(dir, ["verify-pack", join(".git/objects/pack", packs(dir)[0]!)])).toBe("");
});

test("what is left of working trees, temporary files and locks goes; what may be in use stays", async () => {
  using temp = await tempRepo();
  const { dir, repo } = temp;
  await repo.commitChanges(changes({ "a.md": "a" }), commit);
  const from = (await repo.resolve("HEAD"))!;
  for (const name of ["gone", "kept", "locked"])
    await repo.addWorktree({ dir: join(temp.path, name), branch: name, from });
  writeFileSync(join(dir, ".git/worktrees/locked/locked"), "on a stick\n");
  for (const name of ["gone", "locked"]) rmSync(join(temp.path, name), { recursive: true });
  mkdirSync(join(dir, ".git/letta/tmp"), { recursive: true });
  const dead = Bun.spawnSync(["true"]).pid;
  writeFileSync(join(dir, `.git/letta/tmp/${dead}-x`), "left");
  writeFileSync(join(dir, ".git/refs/heads/kept.lock"), `{"pid":${dead},"host":"${hostname()}","startTicks":"1"}\n`);
  writeFileSync(join(dir, ".git/refs/heads/main.lock"), "");
  await repo.maintain();
  expect(readdirSync(join(dir, ".git/worktrees")).sort()).toEqual(["kept", "locked"]);
  expect(scratchIsEmpty(dir)).toBe(true);
  expect(existsSync(join(dir, ".git/refs/heads/kept.lock"))).toBe(false);
  expect(existsSync(join(dir, ".git/refs/heads/main.lock"))).toBe(true);
  expect((await repo.listRefs("refs/heads/")).map(({ ref }) => ref)).toEqual(
    ["gone", "kept", "locked", "main"].map((name) => `refs/heads/${name}`),
  );
});
