// Real git on both ends; the ssh between them is a script that runs the command here. Skipped where git is missing.

import { describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseRemoteUrl, type RemotePlace, type Transport } from "@/store/git/remote.ts";
import { createSshTransport } from "@/store/git/ssh-transport.ts";
import { ANN, changes, git, hasGit, type TempRepo, tempRepo } from "../../support/git-repos.ts";

const MAIN = "refs/heads/main";

interface World extends TempRepo {
  remote: Transport;
  /** The bare repository. */
  bare: string;
  /** Where the fake ssh writes what it was called with. */
  calls: string;
}

async function world(script = 'exec sh -c "$last"', extra: Record<string, string> = {}): Promise<World> {
  const temp = await tempRepo();
  const bare = join(temp.path, "bare.git");
  mkdirSync(bare);
  git(bare, ["init", "-q", "--bare", "-b", "main"]);
  const calls = join(temp.path, "calls");
  const ssh = join(temp.path, "ssh");
  writeFileSync(ssh, `#!/bin/sh\necho "$@" >>${calls}\nenv | sort >${calls}.env\nfor last; do :; done\n${script}\n`, {
    mode: 0o755,
  });
  const remote = createSshTransport(parseRemoteUrl(`git@host.example:${bare}`) as RemotePlace & { kind: "ssh" }, {
    env: { PATH: process.env.PATH, HOME: temp.path, GIT_SSH_COMMAND: ssh, ...extra },
    objectsDir: join(temp.dir, ".git/objects"),
  });
  return { ...temp, remote, bare, calls };
}

function leftovers(): string[] {
  return readdirSync(tmpdir()).filter((name) => name.startsWith("letta-ssh-"));
}

describe.skipIf(!hasGit)("SSH remotes (skipped without git)", () => {
  test("push, fetch, and a branch that moved", async () => {
    const before = leftovers();
    using temp = await world();
    const { repo, remote, bare } = temp;
    expect(await remote.tip(MAIN)).toBeNull();
    expect(await remote.fetch(repo.objects, MAIN)).toBeNull();
    await repo.commitChanges(changes({ "a.md": "a\n" }), { message: "one", author: ANN });
    const first = (await repo.resolve("HEAD"))!;
    expect(await remote.push(repo.objects, MAIN, { from: null, to: first })).toEqual({ status: "pushed" });
    expect(git(bare, ["rev-parse", "main"]).trim()).toBe(first);

    const elsewhere = join(temp.path, "elsewhere");
    git(temp.path, ["clone", "-q", bare, elsewhere]);
    writeFileSync(join(elsewhere, "b.md"), "b\n");
    git(elsewhere, ["add", "-A"]);
    git(elsewhere, ["commit", "-qm", "two"]);
    git(elsewhere, ["push", "-q"]);
    const second = git(elsewhere, ["rev-parse", "HEAD"]).trim();
    await repo.commitChanges(changes({ "c.md": "c\n" }), { message: "mine", author: ANN });
    const mine = (await repo.resolve("HEAD"))!;
    const change = { from: first, to: mine };
    expect(await remote.push(repo.objects, MAIN, change)).toEqual({ status: "moved", tip: second });
    expect(await remote.push(repo.objects, MAIN, { from: null, to: mine })).toEqual({ status: "moved", tip: second });
    expect(await remote.fetch(repo.objects, MAIN, { have: first })).toBe(second);
    expect(git(temp.dir, ["show", `${second}:b.md`])).toBe("b\n");
    expect(git(temp.dir, ["fsck", "--strict", "--no-progress", "--no-dangling"])).toBe("");
    expect(leftovers()).toEqual(before);
  });

  test("a refusal is told in the remote's words", async () => {
    using temp = await world();
    writeFileSync(join(temp.bare, "hooks/update"), "#!/bin/sh\nexit 1\n", { mode: 0o755 });
    await temp.repo.commitChanges(changes({ "a.md": "a\n" }), { message: "one", author: ANN });
    const to = (await temp.repo.resolve("HEAD"))!;
    expect(await temp.remote.push(temp.repo.objects, MAIN, { from: null, to })).toEqual({
      status: "refused",
      reason: "hook declined",
    });
  });

  test("nothing of the repository's settings, hooks or environment takes part", async () => {
    using temp = await world(undefined, { LETTA_API_KEY: "sk-let-secret", GIT_EXTERNAL_DIFF: "x" });
    const trap = join(temp.path, "trap");
    const touch = `touch ${trap}`;
    await temp.repo.setConfig({
      "core.sshCommand": touch,
      "core.fsmonitor": touch,
      "core.hooksPath": join(temp.dir, "hooks"),
      [`url.ext::sh -c "${touch}" .insteadOf`]: "git@host.example:",
    });
    mkdirSync(join(temp.dir, "hooks"));
    writeFileSync(join(temp.dir, "hooks/pre-push"), `#!/bin/sh\n${touch}\n`, { mode: 0o755 });
    await temp.repo.commitChanges(changes({ "a.md": "a\n" }), { message: "one", author: ANN });
    const to = (await temp.repo.resolve("HEAD"))!;
    expect(await temp.remote.push(temp.repo.objects, MAIN, { from: null, to })).toEqual({ status: "pushed" });
    expect(existsSync(trap)).toBe(false);
    const seen = readFileSync(`${temp.calls}.env`, "utf8");
    expect(seen).toContain("GIT_TERMINAL_PROMPT=0");
    expect(seen).not.toContain("LETTA_API_KEY");
    expect(seen).not.toContain("GIT_EXTERNAL_DIFF");
  });

  test("a host that lets nobody in is an error with what it said", async () => {
    using temp = await world("echo 'git@host.example: Permission denied (publickey).' >&2; exit 255");
    await expect(temp.remote.tip(MAIN)).rejects.toMatchObject({
      code: "network",
      message: expect.stringContaining("Permission denied (publickey)"),
    });
  });

  test("a host that never answers is left when told so, with everything that was started", async () => {
    using temp = await world('echo "$$" >>"$0.pid"; exec sleep 1000');
    const controller = new AbortController();
    const waiting = temp.remote.tip(MAIN, { signal: controller.signal });
    const pidFile = join(temp.path, "ssh.pid");
    while (!existsSync(pidFile) || readFileSync(pidFile, "utf8") === "") await Bun.sleep(5);
    controller.abort(new Error("stopped"));
    await expect(waiting).rejects.toThrow("stopped");
    const pid = Number(readFileSync(pidFile, "utf8"));
    while (isAlive(pid)) await Bun.sleep(5);
  });

  test("without git it says what is needed", async () => {
    using temp = await world(undefined, { PATH: "/nonexistent" });
    await expect(temp.remote.tip(MAIN)).rejects.toMatchObject({
      code: "not_found",
      hint: "Install git, or use an https:// address with a token.",
    });
  });
});

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
