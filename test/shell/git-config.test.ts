import { afterAll, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createGitConfigCheck, isHarmlessText } from "@/shell/git-config.ts";

const roots: string[] = [];
afterAll(() => {
  for (const root of roots) rmSync(root, { recursive: true, force: true });
});
function tree(files: Record<string, string>): string {
  const root = mkdtempSync(join(tmpdir(), "letta-shell-"));
  roots.push(root);
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(join(root, name, ".."), { recursive: true });
    writeFileSync(join(root, name), text);
  }
  return root;
}

const ORDINARY = `[core]
\trepositoryformatversion = 0
\tfilemode = true
\tbare = false
[remote "origin"]
\turl = https://example.com/x.git
\tfetch = +refs/heads/*:refs/remotes/origin/*
[branch "main"]
\tremote = origin
; comment
[user]
\tname = Ann
`;

test.each([
  [ORDINARY, true],
  ["", true],
  ["[core]\n\tfsmonitor = ./evil\n", false],
  ["[core] fsmonitor = ./evil\n", false],
  ["[CORE]\n\tFsMonitor = ./evil\n", false],
  ["[core]\n\thooksPath = x\n", false],
  ["[core]\n\tpager = x\n", false],
  ["[core]\n\tsshCommand = x\n", false],
  ["[core]\n\tworktree = /\n", false],
  ['[diff "x"]\n\ttextconv = ./evil\n', false],
  ["[diff]\n\texternal = ./evil\n", false],
  ['[filter "x"]\n\tclean = ./evil\n', false],
  ["[include]\n\tpath = ../evil\n", false],
  ['[includeIf "gitdir:x"]\n\tpath = y\n', false],
  ["[alias]\n\tstatus = !x\n", false],
  ["[gpg]\n\tprogram = x\n", false],
  ["[log]\n\tshowSignature = true\n", false],
  ["[core]\n\tabbrev = 7 \\\n\tfsmonitor = x\n", false],
  ['[remote "o"]\n\tuploadpack = x\n', false],
  ["[core.x]\n\ta = b\n", false],
  ["[status]\n\tshort = true\n", true],
  ["[status]\n\tsubmoduleSummary = true\n", false],
  ["fsmonitor = x\n", false],
  ["[core]\nbare = false # x\n[core]\nfsmonitor=x", false],
])("git configuration %j: harmless %p", (text, expected) => expect(isHarmlessText(text)).toBe(expected));

test("hostile repositories in disguise", () => {
  const evil = "[core]\n\tfsmonitor = x\n";
  const root = tree({
    "hook/.git/config": ORDINARY,
    "hook/.git/hooks/post-index-change": "#!/bin/sh",
    "common/.git/config": ORDINARY,
    "common/.git/commondir": "../elsewhere",
    "common/elsewhere/config": evil,
    "padded/.git/config": ORDINARY,
    "padded/.git/commondir": `../elsewhere${"\n".repeat(2000)}`,
    "blank/.git/config": ORDINARY,
    "blank/.git/commondir": "../elsewhere \n",
    "blank/elsewhere/config": ORDINARY,
    "file/.git": "gitdir: gd \n",
    "file/gd/config": ORDINARY,
    "half-bare/HEAD": "ref: refs/heads/main\n",
    "half-bare/commondir": "x",
    "worktree/.git/config": ORDINARY,
    "worktree/.git/config.worktree": evil,
    "inner/repo/HEAD": "ref: refs/heads/main\n",
    "inner/repo/objects/x": "",
    "inner/repo/refs/x": "",
    "inner/repo/sub/x": "",
    "index/.git/index": "garbage",
  });
  const judge = createGitConfigCheck();
  const check = (cwd: string) => judge(cwd) !== null;
  for (const name of "hook common padded blank file half-bare worktree inner/repo/sub index".split(" "))
    expect([name, check(join(root, name))]).toEqual([name, false]);
});

test("a repository with a submodule is not harmless, one with many files is", () => {
  const root = tree({ "repo/a.bin": "x".repeat(57_344), "repo/b": "b", "repo/sub/c": "c" });
  const git = (cwd: string, ...args: string[]) =>
    Bun.spawnSync(["git", "-c", "user.name=A", "-c", "user.email=a@example.com", ...args], {
      cwd: join(root, cwd),
      env: { PATH: process.env.PATH, HOME: root, GIT_CONFIG_NOSYSTEM: "1" },
    }).exitCode;
  const judge = createGitConfigCheck();
  const check = (cwd: string) => judge(cwd) !== null;
  git("repo", "init", "-q");
  git("repo", "add", "a.bin", "b");
  expect(check(join(root, "repo"))).toBe(true);
  git("repo", "update-index", "--index-version=4");
  expect(check(join(root, "repo"))).toBe(true);
  git("repo", "update-index", "--index-version=2");
  git("repo/sub", "init", "-q");
  git("repo/sub", "add", ".");
  git("repo/sub", "commit", "-qm", "c");
  expect(git("repo", "add", "sub")).toBe(0);
  expect(check(join(root, "repo"))).toBe(false);
  git("repo", "update-index", "--index-version=4");
  expect(check(join(root, "repo"))).toBe(false);
});

test("where the configuration lies: root, worktree, bare look-alikes", () => {
  const root = tree({
    "good/.git/config": ORDINARY,
    "good/sub/x": "",
    "evil/.git/config": "[core]\n\tfsmonitor = x\n",
    "bare/HEAD": "ref: refs/heads/main\n",
    "bare/objects/x": "",
    "bare/refs/x": "",
    "main/.git/config": "[core]\n\tfsmonitor = x\n",
    "main/.git/worktrees/w/commondir": "../..\n",
    "above/.git/config": "[core]\n\tfsmonitor = x\n",
    "above/sub/.git/x": "git is told to take this one",
    "tree/.git": "gitdir: ../main/.git/worktrees/w\n",
    "broken/.git": "nonsense",
  });
  const judge = createGitConfigCheck();
  const check = (cwd: string) => judge(cwd) !== null;
  const harmless = (name: string) => check(join(root, name));
  expect(["good", "good/sub", "above/sub", "evil", "bare", "tree", "broken"].map(harmless)).toEqual([
    true,
    true,
    true,
    false,
    false,
    false,
    false,
  ]);
  writeFileSync(join(root, "good/.git/config"), "[alias]\n");
  expect(harmless("good")).toBe(false);
});
