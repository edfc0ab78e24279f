// Several processes at once: ours among themselves, and with real git's locks.

import { expect, test } from "bun:test";
import { existsSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { ANN, changes, complaints, git, hasGit, tempRepo } from "../../support/git-repos.ts";

const WRITER = join(import.meta.dir, "../../support/git-writer.ts");
const commit = { message: "m", author: ANN };

test("three processes with fifty commits each leave a hundred and fifty", async () => {
  using temp = await tempRepo();
  const { dir, repo } = temp;
  const children = [1, 2, 3].map(() =>
    Bun.spawn([process.execPath, WRITER, dir, "fifty commits"], { stdout: "ignore", stderr: "inherit" }),
  );
  expect(await Promise.all(children.map((child) => child.exited))).toEqual([0, 0, 0]);
  const messages = new Set<string>();
  for await (const { message } of repo.log({ limit: 1_000 })) messages.add(message);
  expect(messages.size).toBe(150);
  expect(await repo.listFiles("HEAD")).toHaveLength(150);
  expect(await repo.status()).toEqual([]);
  if (hasGit) expect(complaints(dir) + git(dir, ["rev-list", "--count", "HEAD"])).toBe("150\n");
}, 120_000);

test("two writers in one process, and one that expected another HEAD", async () => {
  using temp = await tempRepo();
  const { repo } = temp;
  const commits = Array.from({ length: 10 }, (_, number) =>
    repo.commitChanges(changes({ [`${number}.md`]: "x" }), commit),
  );
  expect((await Promise.all(commits)).map(({ status }) => status)).toEqual(Array(10).fill("committed"));
  expect(await repo.listFiles("HEAD")).toHaveLength(10);
  const stale = await repo.resolve("HEAD~1");
  const late = repo.commitChanges(changes({ "late.md": "x" }), { ...commit, expectedHead: stale });
  await expect(late).rejects.toMatchObject({ code: "conflict" });
  await expect(
    repo.commitTree((await repo.objects.readCommit(stale!)).tree, { ...commit, parents: [stale!] }),
  ).rejects.toMatchObject({ code: "conflict" });
  expect(existsSync(join(temp.dir, "late.md"))).toBe(false);
  const from = await repo.resolve("HEAD");
  await expect(
    repo.updateRef("refs/heads/main", { from: stale, to: stale, reason: "x", by: ANN }),
  ).rejects.toMatchObject({ code: "conflict" });
  expect(await repo.resolve("HEAD")).toBe(from);
});

test.each(["index.lock", "refs/heads/main.lock"])(
  "a young %s of another program is respected, an old one is not",
  async (name) => {
    using temp = await tempRepo();
    const { dir, repo } = temp;
    await repo.commitChanges(changes({ "a.md": "a" }), commit);
    const lock = join(dir, ".git", name);
    writeFileSync(lock, "");
    const waiting = repo.commitChanges(changes({ "a.md": "b" }), commit);
    await expect(waiting).rejects.toMatchObject({ code: "busy", message: expect.stringContaining(lock) });
    expect(existsSync(lock)).toBe(true);
    if (hasGit) {
      // The other one releases it while we wait.
      const patient = repo.commitChanges(changes({ "a.md": "c" }), commit);
      rmSync(lock);
      expect(await patient).toMatchObject({ status: "committed" });
      writeFileSync(lock, "");
    }
    const old = new Date(Date.now() - 11 * 60_000);
    utimesSync(lock, old, old);
    expect(await repo.commitChanges(changes({ "a.md": "d" }), commit)).toMatchObject({ status: "committed" });
    expect(existsSync(lock)).toBe(false);
  },
  30_000,
);

test("a lock of a process of ours that is gone is nobody's; one on another machine counts until it is stale", async () => {
  using temp = await tempRepo();
  const { dir, repo } = temp;
  const lock = join(dir, ".git/index.lock");
  const gone = Bun.spawnSync(["true"]).pid;
  writeFileSync(lock, `${JSON.stringify({ pid: gone, host: hostname(), startTicks: "1" })}\n`);
  expect(await repo.commitChanges(changes({ "a.md": "a" }), commit)).toMatchObject({ status: "committed" });
  writeFileSync(lock, `${JSON.stringify({ pid: gone, host: "elsewhere", startTicks: "1" })}\n`);
  await expect(repo.commitChanges(changes({ "a.md": "b" }), commit)).rejects.toMatchObject({ code: "busy" });
  const stale = new Date(Date.now() - 91_000);
  utimesSync(lock, stale, stale);
  expect(await repo.commitChanges(changes({ "a.md": "b" }), commit)).toMatchObject({ status: "committed" });
}, 30_000);

test.skipIf(!hasGit)(
  "real git and the engine take turns",
  async () => {
    using temp = await tempRepo();
    const { dir, repo } = temp;
    await repo.commitChanges(changes({ "a.md": "a" }), commit);
    const script =
      'for n in 1 2 3 4 5 6 7 8 9 10 11 12; do until git -c user.name=r -c user.email=r commit -q --allow-empty -m "real $n"; do :; done; done';
    const real = Bun.spawn(["sh", "-c", script], { cwd: dir, stdout: "ignore", stderr: "ignore" });
    for (let number = 0; number < 12; number++)
      await repo.commitChanges(changes({ "a.md": `${number}` }), { message: `ours ${number}`, author: ANN });
    await real.exited;
    expect(git(dir, ["rev-list", "--count", "HEAD"])).toBe("25\n");
    expect(complaints(dir, { dangling: true })).toBe("");
  },
  60_000,
);
