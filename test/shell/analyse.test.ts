import { afterAll, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { analyseCommand } from "@/shell/analyse.ts";
import { createGitConfigCheck, isHarmlessText } from "@/shell/git-config.ts";
import { scanLoosely } from "@/shell/loose-words.ts";

test.each([
  ["ls", ["."]],
  ["ls -la src", ["src"]],
  ["cat -n a.txt b.txt", ["a.txt", "b.txt"]],
  ["head -20 a", ["a"]],
  ["head -n 5 a", ["a"]],
  ["tail -n5 a", ["a"]],
  ["wc -l a", ["a"]],
  ["grep -n foo a", ["a"]],
  ["grep -e foo a b", ["a", "b"]],
  ["rg foo", ["."]],
  ["rg -n --type ts foo src", ["src"]],
  ["rg --files src", ["src"]],
  ["find . -name '*.ts' -not -path ./x", ["."]],
  ["find", ["."]],
  ["sed -n '1,20p' a", ["a"]],
  ["date +%s", []],
  ["date -u", []],
  ["echo hi there", []],
  ["pwd", []],
  ["uname -a", []],
  ["du -sh src", ["src"]],
  ["tree -L 2", ["."]],
  ["diff -u a b", ["a", "b"]],
  ["which node", []],
  ["node --version", []],
  ["git status --short", ["."]],
  ["git log --oneline -5", ["."]],
  ["git diff HEAD~1 -- src/a", [".", "HEAD~1", "src/a"]],
  ["git show HEAD:.env", [".", "HEAD:.env", ".env"]],
  ["git branch --list", ["."]],
  ["git --no-pager diff", ["."]],
])("%s only reads", (command, reads) => {
  expect(analyseCommand(command)).toMatchObject({ kind: "simple", readOnly: true, reads });
});

// Option smuggling and programs with a second life (spec 03 §9.7).
test.each([
  ...[
    "rm x",
    "touch x",
    "node x.js",
    "npm test",
    "make",
    "awk 1 x",
    "python3 x.py",
    "env",
    "printenv",
    "less x",
    "more x",
    "man ls",
  ],
  ...[
    "/bin/ls",
    "./ls",
    "cd src",
    "cd -",
    "command ls",
    "builtin pwd",
    "sudo ls",
    "xargs ls",
    "time ls",
    "bash -c ls",
    "sh evil.sh",
  ],
  ...[
    "printf -v 'a[$(id)]' 1",
    "test -v 'a[$(id)]'",
    "read 'a[$(id)]'",
    "unset 'a[$(id)]'",
    "let x",
    "declare -i x",
    "export PATH=./x",
    "alias ls=rm",
    "hash -p ./x ls",
    "enable -f x y",
  ],
  ...[
    "git -c core.pager=x log",
    "git -C /x status",
    "git -p log",
    "git --git-dir=x status",
    "git --exec-path=. status",
  ],
  ...[
    "git diff --output=f",
    `git diff --out"put"=f`,
    "git log --output f",
    "git diff --ext-diff",
    "git show --textconv",
    "git diff -Ofile",
    "git diff --no-index a b",
  ],
  ...[
    "git grep x",
    "git grep --open-files=vi x",
    "git blame --contents /etc/passwd x",
    "git cat-file --filters x",
    "git log --show-signature",
  ],
  ...[
    "git tag v1",
    "git tag -d v1",
    "git branch x",
    "git branch -D x",
    "git remote add x y",
    "git remote set-url o x",
    "git stash",
    "git stash pop",
    "git config x y",
    "git st",
    "git",
    "git --version x",
  ],
  ...[
    "rg --pre ./x y",
    `rg --p"re"=./x y`,
    "rg --hostname-bin x y",
    "rg -z x",
    "rg --hidden x",
    "rg -u x",
    "rg -uuu x",
    "rg --no-ignore x",
    "rg -g .env x",
    "rg --glob=.env x",
    "rg -L x",
    "rg -f p x",
    "rg --follow x",
  ],
  ...["grep -r x .", "grep -R x", "grep --recursive x", "grep -f p x", "grep --rec x"],
  ...[
    "find . -delete",
    "find . -de\\lete",
    `find . -e"xec" id`,
    "find . -exec id ';'",
    "find . -execdir id +",
    "find . -ok id",
    "find . -fprint f",
    "find . -fls f",
    "find . -printf x",
    "find -L .",
    "find . -newer x",
    "find . -files0-from x",
  ],
  ...[
    "sort -o f x",
    "sort --output=f x",
    "sort -uo f x",
    "sort --compress-program=./x y",
    "sort -T /x y",
    "sort --files0-from=x",
    "uniq a b",
    "uniq - b",
    "uniq -- a b",
  ],
  ...[
    "sed -i s/a/b/ x",
    "sed -n '1w f' x",
    "sed -n '1e id' x",
    "sed s/a/b/e x",
    "sed -Ei x y",
    "sed --in-place=.b x y",
    "sed -n -i 1p x",
    "sed -n 1p -i x",
    "sed -n '1p;w f' x",
    "sed -f x y",
  ],
  ...[
    "date -s x",
    "date 01010000",
    "date --set=x",
    "date -f x",
    "date -r x",
    "hostname x",
    "hostname -F x",
    "tree -o f",
    "tree -R -H x",
    "file -C -m x",
    "file -z x",
    "file -f x",
    "xxd -r a b",
    "yq -i x y",
    "du --files0-from=x",
    "wc --files0-from=x",
  ],
  ...[
    "tail -f x",
    "tail -F x",
    "tail --follow x",
    "tail --retry x",
    "diff --to-file=/x y",
    "diff -r a b",
    "ls --hyperlink",
    "ls --colour",
    "cat --number-non x",
    "head --line=1 x",
    "head -n",
    "ps eww",
    "ps auxe",
  ],
  ...[
    "curl x",
    "wget x",
    "ssh x",
    "tar tf x",
    "zip x",
    "go version",
    "cargo --version",
    "yarn --version",
    "pnpm --version",
    "docker ps",
    "gh pr list",
    "gh api x -ftitle=x",
  ],
])("%s is not known to be harmless", (command) => {
  const analysis = analyseCommand(command);
  expect(analysis.kind === "simple" && analysis.readOnly).toBe(false);
});

test("several commands are listed one by one", () => {
  expect(analyseCommand("ls | wc -l && npm test")).toMatchObject({
    kind: "compound",
    commands: [{ readOnly: true }, { readOnly: true, reads: [] }, { readOnly: false, argv: ["npm", "test"] }],
  });
  expect(analyseCommand("ls $x")).toEqual({ kind: "opaque", why: "`$`" });
});

test.each([
  ["sudo rm x", "rm x"],
  ["env -u A B=1 rm x", "rm x"],
  ["timeout 5 bash -c 'rm x'", "rm x"],
  ["bash -lc 'cd y && rm x'", "rm x"],
  ["echo $(rm x)", "rm x"],
  ["echo `rm x`", "rm x"],
  [`echo "$(rm x)"`, "rm x"],
  ["(rm x)", "rm x"],
  ["if true; then rm x; fi", "rm x"],
  ["ls & rm x", "rm x"],
  ["ls\nrm x", "rm x"],
  ["\\rm x", "rm x"],
  ["r'm' x", "rm x"],
  ["A=1 rm x", "rm x"],
  ["find . -exec rm x ';'", "rm x"],
  ["find . | xargs -n 1 rm x", "rm x"],
  ["busybox rm x", "rm x"],
  ["nohup nice -n 5 rm x", "rm x"],
  ["eval 'rm x'", "rm x"],
  ["f() { rm x; }", "rm x"],
])("%s may run %s", (command, inner) => {
  const found = scanLoosely(command).commands.map(({ argv }) => argv.join(" "));
  expect(found.some((text) => text === inner || text.startsWith(`${inner} `))).toBe(true);
});

test("targets of redirects are seen in any spelling", () => {
  const writes = (command: string) => scanLoosely(command).commands.flatMap((loose) => loose.writes);
  expect(writes("echo x > a")).toEqual(["a"]);
  expect(writes("echo x 2>>a.log >|b")).toEqual(["a.log", "b"]);
  expect(writes("x &>'c d'")).toEqual(["c d"]);
  expect(writes("cat < in")).toEqual([]);
});

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
    "above/.git/config": evil,
    "above/sub/.git/x": "passed over by git",
    "worktree/.git/config": ORDINARY,
    "worktree/.git/config.worktree": evil,
    "inner/repo/HEAD": "ref: refs/heads/main\n",
    "inner/repo/objects/x": "",
    "inner/repo/refs/x": "",
    "inner/repo/sub/x": "",
    "index/.git/index": "garbage",
  });
  const check = createGitConfigCheck();
  for (const name of ["hook", "common", "above/sub", "worktree", "inner/repo/sub", "index"])
    expect([name, check(join(root, name))]).toEqual([name, false]);
});

test("a repository with a submodule is not harmless, one with many files is", () => {
  const root = tree({ "repo/a.bin": "x".repeat(57_344), "repo/b": "b", "repo/sub/c": "c" });
  const git = (cwd: string, ...args: string[]) =>
    Bun.spawnSync(["git", "-c", "user.name=A", "-c", "user.email=a@example.com", ...args], {
      cwd: join(root, cwd),
      env: { PATH: process.env.PATH, HOME: root, GIT_CONFIG_NOSYSTEM: "1" },
    }).exitCode;
  const check = createGitConfigCheck();
  git("repo", "init", "-q");
  git("repo", "add", "a.bin", "b");
  expect(check(join(root, "repo"))).toBe(true);
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
    "tree/.git": "gitdir: ../main/.git/worktrees/w\n",
    "broken/.git": "nonsense",
  });
  const check = createGitConfigCheck();
  const harmless = (name: string) => check(join(root, name));
  expect(["good", "good/sub", "evil", "bare", "tree", "broken"].map(harmless)).toEqual([
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
