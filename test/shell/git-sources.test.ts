import { afterAll, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { findSources, showsCredentials } from "@/shell/git-sources.ts";

const root = mkdtempSync(join(tmpdir(), "letta-git-sources-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));

const git = (cwd: string, ...args: string[]) => {
  const options = ["-c", "user.name=A", "-c", "user.email=a@example.com"];
  const env = { PATH: process.env.PATH, HOME: root, GIT_CONFIG_NOSYSTEM: "1" };
  const { exitCode, stderr } = Bun.spawnSync(["git", ...options, ...args], { cwd: join(root, cwd), env });
  if (exitCode !== 0) throw new Error(stderr.toString());
};

function write(files: Record<string, string>): void {
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, name)), { recursive: true });
    writeFileSync(join(root, name), text);
  }
}

function repository(name: string): void {
  write({ [`${name}/a`]: "a" });
  git(name, "init", "-q");
  git(name, "add", ".");
  git(name, "commit", "-qm", "one");
}

test("repositories that hold their own contents, and linked worktrees of theirs", () => {
  repository("own");
  mkdirSync(join(root, "own/sub"));
  git("own", "worktree", "add", "-q", "../linked");
  expect(findSources(join(root, "own/sub"))).toEqual([join(root, "own")]);
  expect(findSources(join(root, "linked"))).toEqual([join(root, "linked")]);
  expect(findSources(root)).toEqual([]);
  // Git would pass over it, but is told not to look further.
  write({ "own/fake/.git/x": "" });
  expect(findSources(join(root, "own/fake"))).toEqual([join(root, "own/fake")]);
});

test("an unpacked archive that leads to somebody else's repository", () => {
  repository("victim");
  const victim = join(root, "victim/.git");
  write({ "file/.git": `gitdir: ${victim}\n` });
  write({ "common/.git/HEAD": "ref: refs/heads/main\n", "common/.git/commondir": victim });
  repository("alternates");
  write({ "alternates/.git/objects/info/alternates": `${victim}/objects\n` });
  mkdirSync(join(root, "link"));
  symlinkSync(victim, join(root, "link/.git"));
  for (const part of ["refs", "objects", "refs/heads", "objects/aa"]) {
    const name = `part-${part.replace("/", "-")}`;
    repository(name);
    rmSync(join(root, name, ".git", part), { recursive: true, force: true });
    symlinkSync(join(victim, part), join(root, name, ".git", part));
    expect([name, findSources(join(root, name))]).toEqual([name, null]);
  }
  for (const name of ["file", "common", "alternates", "link"])
    expect([name, findSources(join(root, name))]).toEqual([name, null]);
});

test.each([
  ["url = https://example.com/x.git", false],
  ["url = git@example.com:x.git", false],
  ["url = ssh://git@example.com/x.git", false],
  ["url = https://ann:pw@example.com/x.git", true],
  ["url = https://ghp_0@example.com/x.git", true],
  ['url = "https://ann:"pw@example.com/x.git', true],
  ["url = ssh://ann:pw@example.com/x", true],
])("an address in the configuration: %s: credentials %p", (line, shows) => {
  write({ "addresses/.git/config": `[remote "o"]\n\t${line}\n`, "addresses/.git/HEAD": "ref: refs/heads/main\n" });
  expect(showsCredentials(join(root, "addresses"), join(root, "nobody"))).toBe(shows);
});

test("the user's own rewriting of addresses counts, also in included files", () => {
  write({ "plain/a": "", "ann/.gitconfig": "[user]\n\tname = Ann\n[include]\n\tpath = ~/more\n" });
  expect(showsCredentials(join(root, "plain"), join(root, "ann"))).toBe(false);
  write({ "ann/more": '[url "https://token@example.com/"]\n\tinsteadOf = https://example.com/\n' });
  expect(showsCredentials(join(root, "plain"), join(root, "ann"))).toBe(true);
});
