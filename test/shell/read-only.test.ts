import { expect, test } from "bun:test";
import { isSecretPath } from "@/permissions/protected.ts";
import { parseShell } from "@/shell/parser.ts";
import { toPlain } from "@/shell/plain.ts";
import { findReads, type ReadOnlyResult } from "@/shell/read-only.ts";
import { GREP_EXCLUSIONS, RIPGREP_EXCLUSIONS } from "@/shell/search-exclusions.ts";
import { SECRET_NAMES, startsSecretName } from "@/shell/secret-names.ts";

const FILES = new Set(["a", "src", "src/a", "sub/a"]);

/** One plain command; globs as they are written. */
function judge(command: string): ReadOnlyResult {
  const plain = toPlain(parseShell(command));
  if (!plain.ok) return { readOnly: false, why: plain.why };
  return findReads(
    plain.items[0]!.commands[0]!.words.map(({ text }) => text),
    (path) => FILES.has(path),
  );
}

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
  ["git show HEAD:.env", [".", "HEAD:.env"]],
  ["git branch --list", ["."]],
  ["grep -rn x src --include=*.ts", ["src"]],
  ["rg -g '*.ts' x src", ["src"]],
  ["git stash list", ["."]],
  ["git cat-file -p HEAD:a", [".", "HEAD:a"]],
  ["git config --get user.name", ["."]],
  ["git grep -n -e x", ["."]],
  ["jq -r .name package.json", ["package.json"]],
  ["jq --arg x y '.a[$x]' f", ["f"]],
  ["sed s/a/b/g f", ["f"]],
  ["sed -n '/a/,/b/p' f", ["f"]],
  ["test -f x", ["x"]],
  ["[ -d src ]", ["src"]],
  ["printf '%s\\n' a", []],
  ["docker ps -a --format '{{.Names}}'", []],
  ["npm ls --depth=0", ["."]],
  ["kubectl get pods", []],
  ["kubectl -n x get pods -o wide", []],
  ["kubectl get pod/a deploy/b -A -owide", []],
  ["git branch --contains HEAD", ["."]],
  ["git branch --merged", ["."]],
  ["git tag -l v1", ["."]],
  ["rg --hidden -uu x", ["."]],
  ["xargs -n1 basename", []],
  ["find . -newer x", [".", "x"]],
  ["git --no-pager diff", ["."]],
])("%s only reads", (command, reads) => {
  const result = judge(command);
  expect(result.readOnly && result.reads).toEqual(reads);
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

    "cd -",
    "command ls",
    "builtin pwd",
    "sudo ls",
    "xargs ls",
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
    "rg -g .env x",
    "rg --glob=.env x",
    "rg -L x",
    "rg -f p x",
    "rg --follow x",
  ],
  ...["grep -R x", "grep -f p x", "grep --rec x"],
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

    "cargo --version",
    "yarn --version",
    "pnpm --version",

    "gh pr list",
    "gh api x -ftitle=x",
  ],
])("%s is not known to be harmless", (command) => {
  expect(judge(command).readOnly).toBe(false);
});

test.each([
  ...[
    "jq env",
    "jq '$ENV.X' f",
    "jq input_filename f",
    "jq 'include \"a\"; b' f",
    "jq -f x",
    "jq --slurpfile a b .",
    "jq",
  ],
  ...["sed 's/a/b/w f' x", "sed 's/a\\/b/w f/' x", "sed 's|a|b|e' x", "sed -s p x", "sed -nf x", "sed 's/a/b/;e id' x"],
  ...["test -v 'a[1]'", "[ 1 -eq 'a[$(id)]' ]", "test -R x", "[ -f x", "test a -nt b"],
  ...["printf '%n' 'a[$(id)]'", "printf -v x y", "printf '%(%Y)T%n' 1 x"],
  ...[
    "docker inspect x",
    "docker -H x ps",
    "docker logs -f x",
    "docker exec x ls",
    "docker top x -o pid,args",
    "docker stats",
  ],
  ...["npm ls --prefix /x", "npm run x", "npm root"],
  ...["kubectl get secrets", "kubectl get pods,secrets", "kubectl get secret/x pod/y", "kubectl get pod/y secret/x"],
  ...["kubectl get pods -o yaml", "kubectl get pods -ojson", "kubectl get pods -o=yaml", "kubectl get pods -Aoyaml"],
  ...["kubectl get pods -w", "kubectl get --raw /api", "kubectl get -f http://x", "kubectl get -k ."],
  ...["kubectl --kubeconfig x get pods", "kubectl get pods --server x", "kubectl get pods --token x"],
  ...[
    "kubectl get pods.v1.example.com",
    "kubectl get widgets",
    "kubectl get",
    "kubectl logs x",
    "kubectl describe pod x",
  ],
  ...[
    "kubectl get pods --out yaml",
    "kubectl get pods -o jsonpath={.x}",
    "kubectl get -- pods",
    "gh pr list",
    "git branch --contains HEAD x",
    "git tag -l -d x",
    "git branch --list -D x",
  ],
  ...["xargs rm", "xargs cat", "xargs -I{} echo {}", "xargs sh -c id", "xargs -a f echo"],
  ...[
    "git log --format=%GK",
    "git for-each-ref --format='%(trailers:key=x)'",
    "git config -l",
    "git config --get http.extraheader",
  ],
  ...[
    "git config user.name x",
    "git reflog expire",
    "git worktree add x",
    "git symbolic-ref HEAD x",
    "git cat-file --batch",
  ],
  ...["git -C a -C b status", "git grep --textconv -e x", "git stash show --textconv", "git remote get-url --add x y"],
  ...["rg -ng '*' x", "rg --glob '*' x", "rg -g '*.ts' -g '*' x", "rg -g '.*' x"],
])("%s is not proven", (command) => expect(judge(command).readOnly).toBe(false));

test("what runs has the options that close what configuration opens", () => {
  const run = (command: string) => {
    const result = judge(command);
    if (!result.readOnly) return result.why;
    const { run, searches } = result;
    return run.toSpliced(run.length - (searches?.behind ?? 0), 0, ...(searches?.exclusions.always ?? [])).join(" ");
  };
  expect(run("git diff --stat HEAD")).toBe("git diff --no-ext-diff --no-textconv --stat HEAD");
  expect(run("git -C sub log -3 -- a")).toBe("git -C sub log --no-ext-diff --no-textconv -3 -- a");
  expect(run("git stash show")).toBe("git stash show --no-ext-diff --no-textconv --stat");
  expect(run("git blame a")).toBe("git blame --no-textconv a");
  expect(run("rg x")).toStartWith("rg --no-config x --iglob=!.env ");
  expect(run("grep -r x src -- y")).toMatch(
    /^grep -r x src --exclude=\.\[eE\]\[nN\]\[vV\] .*--exclude-dir=\.\[lL\]\S+ .* -- y$/,
  );
});

test("every secret name is left out of searches, and a search that starts inside a longer one is noticed", () => {
  for (const name of SECRET_NAMES) {
    const file = name.replace("*", "a");
    expect([name, isSecretPath(`/x/${file}`), isSecretPath(`/x/${file.toUpperCase()}/y`)]).toEqual([name, true, true]);
    expect(RIPGREP_EXCLUSIONS.always.some((option) => option.endsWith(name))).toBe(true);
  }
  expect(GREP_EXCLUSIONS.always).toContain("--exclude-dir=.[sS][sS][hH]");
  expect(GREP_EXCLUSIONS.always).toContain("--exclude=.[eE][nN][vV]");
  expect(["/h/.config", "/h/.local/share", "/h/Library", "/h/.config/nvim", "/h/share"].map(startsSecretName)).toEqual([
    true,
    true,
    true,
    false,
    false,
  ]);
});
