// What the disk refuses: a failure at any step is an error that leaves everything as it was.

import { expect, test } from "bun:test";
import { chmodSync, cpSync, mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { type Disk, systemDisk } from "@/store/git/disk.ts";
import { initRepository, openRepository } from "@/store/git/repository.ts";
import type { GitRepository } from "@/store/git/types.ts";
import {
  ANN,
  changes,
  complaints,
  filesOf,
  hasGit,
  memoryDir,
  scratchIsEmpty,
  tempRepo,
} from "../../support/git-repos.ts";
import { operations } from "../../support/git-writer.ts";

interface Failing {
  disk: Disk;
  steps: () => number;
}

/** The disk fails at one step, or, when it is full, at every later one that needs space. */
function failingDisk(failAt: number, full: boolean): Failing {
  let steps = 0;
  const needsSpace = ["create", "append", "makeDir", "symlink", "link"];
  const disk = Object.fromEntries(
    Object.entries(systemDisk).map(([name, method]) => [
      name,
      (...args: unknown[]) => {
        const step = ++steps;
        if (full ? step >= failAt && needsSpace.includes(name) : step === failAt) {
          const error = Object.assign(new Error(`ENOSPC: no space left on device, ${name} '${args[0]}'`), {
            code: "ENOSPC",
          });
          if (name === "create" || name === "syncDir") return Promise.reject(error);
          throw error;
        }
        return (method as (...args: unknown[]) => unknown)(...args);
      },
    ]),
  ) as unknown as Disk;
  return { disk, steps: () => steps };
}

async function look(dir: string) {
  const repo = await openRepository(dir);
  const refs = await repo.listRefs("refs/");
  return { head: await repo.resolve("HEAD"), refs, files: await filesOf(dir), status: await repo.status() };
}

async function makeBase(dir: string): Promise<GitRepository> {
  const repo = await initRepository(dir, { branch: "main" });
  await repo.commitChanges(changes({ "system/persona.md": "1\n", "system/gone.md": "g\n", "notes.md": "n\n" }), {
    message: "1",
    author: ANN,
  });
  const base = (await repo.resolve("HEAD"))!;
  const linked = await repo.addWorktree({ dir: join(dir, "../linked"), branch: "other", from: base });
  await linked.commitChanges(changes({ "theirs/a.md": "a\n", "system/gone.md": null }), { message: "2", author: ANN });
  await repo.updateRef("refs/heads/ahead", { from: null, to: (await linked.resolve("HEAD"))!, reason: "x", by: ANN });
  return repo;
}

const cases = ["commit", "merge", "fast forward", "add a working tree"].flatMap((operation) => [
  [operation, "fails once", false] as const,
  [operation, "is full", true] as const,
]);

test.each(cases)(
  "%s, where the disk %s at any step",
  async (operation, _, full) => {
    using folder = memoryDir();
    const place = join(folder.path, "place");
    const saved = join(folder.path, "saved");
    const dir = join(place, "memory");
    mkdirSync(place);
    const repo = await makeBase(dir);
    if (operation === "merge") await repo.commitChanges(changes({ "ours.md": "o\n" }), { message: "3", author: ANN });
    cpSync(place, saved, { recursive: true, preserveTimestamps: true });
    const before = await look(dir);
    let failures = 0;
    for (let step = 1; ; step++) {
      const failing = failingDisk(step, full);
      const victim = await openRepository(dir, failing);
      const error = await operations[operation]!(victim, dir).then(
        () => null,
        (error: unknown) => error,
      );
      if (failing.steps() < step) break;
      const now = await look(dir);
      if (error) {
        failures++;
        expect({ step, code: (error as { code?: unknown }).code }).toEqual({ step, code: "storage" });
        expect((error as Error).message).toContain(place);
        expect({ step, ...now }).toEqual({ step, ...before });
        // Nothing is in the way of the next one, also where cleaning up failed.
        await operations[operation]!(await openRepository(dir), dir);
      }
      const after = await look(dir);
      expect({ step, moved: JSON.stringify(after.refs) !== JSON.stringify(before.refs), status: after.status }).toEqual(
        { step, moved: true, status: [] },
      );
      rmSync(place, { recursive: true });
      cpSync(saved, place, { recursive: true, preserveTimestamps: true });
    }
    expect(failures).toBeGreaterThan(5);
  },
  120_000,
);

test.skipIf(process.platform === "win32")(
  "a file size limit: content that does not fit, and an index that does not",
  async () => {
    using temp = await tempRepo();
    const { dir, repo } = temp;
    const many = Object.fromEntries(Array.from({ length: 400 }, (_, number) => [`many/${number}.md`, `${number}`]));
    await repo.commitChanges(changes({ ...many, "a.md": "old" }), { message: "1", author: ANN });
    const before = await look(dir);
    const writer = join(import.meta.dir, "../../../src/store/git/repository.ts");
    const script = `
    import { openRepository } from ${JSON.stringify(writer)};
    const repo = await openRepository(process.argv[1]);
    const content = process.argv[2] === "large" ? crypto.getRandomValues(new Uint8Array(60_000)) : Buffer.from("new");
    await repo.commitChanges([{ path: "a.md", content }], { message: "2", author: { name: "A", email: "a" } })
      .then(() => console.log("ok"), (error) => console.log(error.code, error.message.includes(process.argv[1])));
  `;
    // 16 blocks of 512 or 1024 bytes.
    const limited = ["sh", "-c", 'trap "" XFSZ; ulimit -f 16; exec "$@"', "sh"];
    for (const what of ["large", "small"]) {
      const child = Bun.spawn([...limited, process.execPath, "-e", script, dir, what], {
        stdout: "pipe",
        stderr: "inherit",
      });
      expect([what, await child.stdout.text()]).toEqual([what, "storage true\n"]);
      expect(await look(dir)).toEqual(before);
      expect(scratchIsEmpty(dir)).toBe(true);
      if (hasGit) expect(complaints(dir, { dangling: true })).toBe("");
    }
  },
);

test.skipIf(process.platform === "win32" || process.getuid?.() === 0)(
  "a read-only repository can be read, and says why not written",
  async () => {
    using temp = await tempRepo();
    await temp.repo.commitChanges(changes({ "a.md": "a" }), { message: "1", author: ANN });
    const folders = [...new Bun.Glob("**").scanSync({ cwd: temp.path, dot: true, onlyFiles: false })].map((path) =>
      join(temp.path, path),
    );
    for (const path of [temp.path, ...folders]) chmodSync(path, 0o555);
    try {
      const repo = await openRepository(temp.dir);
      expect(await repo.status()).toEqual([]);
      await expect(repo.commitChanges(changes({ "b.md": "b" }), { message: "2", author: ANN })).rejects.toMatchObject({
        code: "storage",
        message: expect.stringContaining(temp.dir),
      });
    } finally {
      for (const path of [temp.path, ...folders]) chmodSync(path, 0o755);
    }
  },
);
