// kill -9 at every single change an operation makes to the disk: real git finds nothing wrong, no content is lost, and the
// next run does what the killed one did not finish.

import { expect, test } from "bun:test";
import { cpSync, existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { deflateSync } from "node:zlib";
import { initRepository, openRepository } from "@/store/git/repository.ts";
import { ANN, changes, complaints, filesOf, git, hasGit, memoryDir, scratchIsEmpty } from "../../support/git-repos.ts";
import { operations } from "../../support/git-writer.ts";

const WRITER = join(import.meta.dir, "../../support/git-writer.ts");

/** Those that bring a working tree from one commit to another. */
const KEEPS_FILES = ["commit", "merge", "fast forward"];

/** main, `other` (diverged), `ahead` (of main), a linked working tree, and what an operation needs besides. */
async function makeBase(folder: string, operation: string): Promise<string> {
  const dir = join(folder, "memory");
  if (operation === "init") return dir;
  const repo = await initRepository(dir, { branch: "main" });
  const commit = async (files: Record<string, string | null>) => {
    await repo.commitChanges(changes(files), { message: "m", author: ANN });
    return (await repo.resolve("HEAD"))!;
  };
  await commit({ "system/persona.md": "first\n", "system/gone.md": "gone\n", "notes.md": "n\n" });
  const base = await commit({ "system/persona.md": "second\n", "system/more/x.md": "x\n" });
  const linked = await repo.addWorktree({ dir: join(folder, "linked"), branch: "other", from: base });
  await linked.commitChanges(changes({ "notes.md": "theirs\n", "theirs/a.md": "a\n", "system/gone.md": null }), {
    message: "theirs",
    author: ANN,
  });
  const ahead = await linked.commitChanges(changes({ "notes.md": "further\n" }), { message: "further", author: ANN });
  if (ahead.status !== "committed") throw new Error("nothing ahead");
  await repo.updateRef("refs/heads/ahead", { from: null, to: ahead.oid, reason: "branch", by: ANN });
  if (operation === "merge") await commit({ "system/more/x.md": "ours\n" });
  if (operation === "commit everything") {
    writeFileSync(join(dir, "system/persona.md"), "by hand\n");
    writeFileSync(join(dir, "hand.md"), "new by hand\n");
  }
  // In both places, as `git pack-refs` without pruning leaves it.
  if (operation === "delete a branch") writeFileSync(join(dir, ".git/packed-refs"), `${ahead.oid} refs/heads/ahead\n`);
  if (operation === "maintain") {
    for (let number = 0; number < 5; number++) writeLoose(dir, `loose ${number}`);
  }
  return dir;
}

/** As another program would. */
function writeLoose(dir: string, text: string): void {
  const header = `blob ${text.length}\0${text}`;
  const oid = new Bun.CryptoHasher("sha1").update(header).digest("hex");
  mkdirSync(join(dir, ".git/objects", oid.slice(0, 2)), { recursive: true });
  writeFileSync(join(dir, ".git/objects", oid.slice(0, 2), oid.slice(2)), deflateSync(header));
}

/** Everything of a working tree and its history that a kill must not take away. */
async function look(dir: string) {
  const repo = await openRepository(dir);
  const head = await repo.resolve("HEAD");
  return { head, files: await filesOf(dir), status: await repo.status() };
}

test.each(Object.keys(operations))(
  "%s, killed at every step",
  async (operation) => {
    using folder = memoryDir();
    // Linked working trees name each other by absolute path, so every run happens in the same place.
    const place = join(folder.path, "place");
    const saved = join(folder.path, "saved");
    mkdirSync(place);
    const dir = await makeBase(place, operation);
    cpSync(place, saved, { recursive: true, preserveTimestamps: true });
    const reset = () => {
      rmSync(place, { recursive: true, force: true });
      cpSync(saved, place, { recursive: true, preserveTimestamps: true });
    };
    const run = async (step?: number) => {
      const args = [process.execPath, WRITER, dir, operation, ...(step === undefined ? [] : [String(step)])];
      await using child = Bun.spawn(args, { stdout: "pipe", stderr: "pipe" });
      const [out, err] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
      return { out, err, signal: child.signalCode };
    };
    const before = operation === "init" ? null : await look(dir);
    const whole = await run();
    expect(whole.err).toBe("");
    const after = await look(dir);
    // Of an empty repository it says that there is nothing, and of a restored one that files are staged.
    const saysFsck = operation === "init" && hasGit ? fsck(dir) : "";
    const says = hasGit ? complaints(dir, { dangling: true }) : "";
    const steps = Number(whole.out);
    expect(steps).toBeGreaterThan(0);
    for (let step = 1; step <= steps; step++) {
      reset();
      const killed = await run(step);
      expect({ step, signal: killed.signal, err: killed.err }).toEqual({ step, signal: "SIGKILL", err: "" });
      if (existsSync(join(dir, ".git/HEAD"))) {
        if (hasGit) expect({ step, fsck: fsck(dir) }).toEqual({ step, fsck: saysFsck });
        const now = await look(dir);
        // HEAD is the old commit or the new one, and each file the old or the new one: none is lost, none is half.
        if (before && now.head !== before.head) expect({ step, ...now.status }).toEqual({ step, ...after.status });
        for (const path of new Set([
          ...Object.keys(now.files),
          ...Object.keys(before?.files ?? {}),
          ...Object.keys(after.files),
        ]))
          expect([before?.files[path], after.files[path]]).toContain(now.files[path]);
      }
      // Whoever edits the same file next finds no work of somebody else's in it, and leaves nothing behind.
      if (KEEPS_FILES.includes(operation)) {
        const repo = await openRepository(dir);
        const edit = await repo.commitChanges(changes({ "system/persona.md": "next\n", "notes.md": "next\n" }), {
          message: "next",
          author: ANN,
          refuseLocal: (files) => new Error(JSON.stringify({ step, files })),
        });
        expect({ step, outcome: edit.status, status: await repo.status() }).toEqual({
          step,
          outcome: "committed",
          status: [],
        });
        if (hasGit) expect({ step, says: git(dir, ["status", "--porcelain"]) }).toEqual({ step, says: "" });
        reset();
        await run(step);
      }
      // The next run of anybody finds what is left, says nothing, and finishes.
      const repo = operation === "init" ? await initRepository(dir, { branch: "main" }) : await openRepository(dir);
      await operations[operation]!(repo, dir);
      await repo.maintain();
      const { files, status } = await look(dir);
      expect({ step, files, status }).toEqual({ step, files: after.files, status: after.status });
      const left = { scratch: scratchIsEmpty(dir), lock: existsSync(`${dir}.lock`) };
      expect({ step, ...left }).toEqual({ step, scratch: true, lock: false });
      if (hasGit) expect({ step, says: complaints(dir, { dangling: true }) }).toEqual({ step, says });
    }
  },
  300_000,
);

function fsck(dir: string): string {
  return git(dir, ["fsck", "--strict", "--no-dangling", "--no-progress"], { ok: false });
}
