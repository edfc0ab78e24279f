// A process that changes a repository: `git-writer.ts DIR OPERATION [STEP]`. With a step, it kills itself there: before
// that change to the disk, or, where a file is written, with half of it written. Without, it says how many steps it took.

import { closeSync, openSync, writeSync } from "node:fs";
import { join } from "node:path";
import { type Disk, systemDisk } from "@/store/git/disk.ts";
import { initRepository, openRepository } from "@/store/git/repository.ts";
import type { GitRepository, Identity } from "@/store/git/types.ts";

const BY: Identity = { name: "Ann", email: "ann@example.com" };
const encode = (text: string) => new TextEncoder().encode(text);

export const operations: Record<string, (repo: GitRepository, dir: string) => Promise<unknown>> = {
  commit: (repo) =>
    repo.commitChanges(
      [
        { path: "system/persona.md", content: encode("changed\n") },
        { path: "system/gone.md", content: null },
        { path: "new/deep/file.md", content: encode("new\n") },
      ],
      { message: "commit", author: BY },
    ),
  "commit everything": (repo) => repo.commitPaths([], { message: "all", author: BY }),
  merge: async (repo) => {
    const [ours, theirs] = [(await repo.resolve("HEAD"))!, (await repo.resolve("other"))!];
    if (await repo.isAncestor(theirs, ours)) return;
    const merged = await repo.merge(ours, theirs, () => null);
    if (merged.status !== "merged") throw new Error("conflict");
    await repo.commitTree(merged.tree, { message: "merge", author: BY, parents: [ours, theirs], expectedHead: ours });
  },
  "fast forward": async (repo) =>
    repo.fastForward((await repo.resolve("ahead"))!, { reason: "pull: Fast-forward", by: BY }),
  restore: (repo) => repo.restore(["system"], "HEAD~1"),
  "add a working tree": async (repo, dir) => {
    const from = (await repo.resolve("HEAD"))!;
    if ((await repo.listWorktrees()).length < 2 || (await repo.resolve("dream")) === null)
      await repo.addWorktree({ dir: join(dir, "../tree"), branch: "dream", from });
  },
  "remove a working tree": async (repo, dir) => {
    if ((await repo.listWorktrees()).length > 1) await repo.removeWorktree(join(dir, "../linked"));
  },
  "delete a branch": async (repo) => {
    const from = await repo.resolve("ahead");
    if (from) await repo.updateRef("refs/heads/ahead", { from, to: null, reason: "", by: BY });
  },
  maintain: (repo) => repo.maintain({ maxLoose: 10 }),
  init: (_, dir) => initRepository(dir, { branch: "main" }),
};

if (import.meta.main) {
  const [dir = "", operation = "", step] = process.argv.slice(2);
  const disk = mortalDisk(Number(step ?? Number.POSITIVE_INFINITY));
  // The number of steps counts new object folders, and those follow from the hashes: every run commits at one time.
  const options = operation === "fifty commits" ? disk : { ...disk, now: () => Date.UTC(2026, 0, 1) };
  const repo =
    operation === "init"
      ? await initRepository(dir, { branch: "main", ...options })
      : await openRepository(dir, options);
  if (operation === "fifty commits") {
    for (let number = 0; number < 50; number++) {
      const path = `${process.pid}/${number}.md`;
      await repo.commitChanges([{ path, content: encode(`${number}`) }], { message: path, author: BY });
    }
  } else await operations[operation]!(repo, dir);
  console.log(disk.steps());
}

function mortalDisk(fatalStep: number): { disk: Disk; steps: () => number } {
  let steps = 0;
  const die = () => process.kill(process.pid, "SIGKILL");
  const disk = Object.fromEntries(
    Object.entries(systemDisk).map(([name, method]) => [
      name,
      (...args: unknown[]) => {
        if (++steps === fatalStep) {
          if (name === "create") writeHalf(args[0] as string, args[1] as Uint8Array[]);
          die();
        }
        return (method as (...args: unknown[]) => unknown)(...args);
      },
    ]),
  ) as unknown as Disk;
  return { disk, steps: () => steps };
}

function writeHalf(path: string, content: readonly Uint8Array[]): void {
  const bytes = Buffer.concat(content);
  const file = openSync(path, "wx");
  writeSync(file, bytes.subarray(0, bytes.length >> 1));
  closeSync(file);
}
