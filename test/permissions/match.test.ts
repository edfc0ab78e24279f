import { afterAll, expect, test } from "bun:test";
import { symlinkSync } from "node:fs";
import { join } from "node:path";
import { brief, worldPool } from "../support/permission-world.ts";

const worlds = worldPool();
afterAll(worlds.dispose);

test.each([
  ["Bash(git diff:*)", "git diff", "allow"],
  ["Bash(git diff:*)", "git diff --ext-diff", "allow"],
  ["Bash(git:*)", "gitevil", "ask"],
  ["Bash(git commit:*)", "git commits", "ask"],
  ["Bash(git diff:*)", "git diff --ext-diff && rm x", "ask"],
  ["Bash(git diff:*)", "git diff --ext-diff; rm x", "ask"],
  ["Bash(git diff:*)", "git diff --ext-diff | sh", "ask"],
  ["Bash(git diff:*)", "git diff --ext-diff & rm x", "ask"],
  ["Bash(git diff:*)", "git diff --ext-diff $(rm x)", "ask"],
  ["Bash(git diff:*)", "git diff --ext-diff > f", "ask"],
  ["Bash(git diff:*)", "cd /x && export A=$(evil) && git diff", "ask"],
  ["Bash(git diff:*)", "A=1 git diff", "ask"],
  ["Bash(git diff:*)", "git -c core.pager=x diff", "ask"],
  ["Bash(npm test)", "npm test", "allow"],
  ["Bash(npm test)", "  npm   test ", "allow"],
  ["Bash(npm test)", "'npm' \"test\"", "allow"],
  ["Bash(npm test)", "npm test 2>&1 | tail -20", "allow"],
  ["Bash(npm test)", "npm test -- --x", "ask"],
  ["Bash(npm test)", "npm test\nrm x", "ask"],
  ["Bash(npm run *)", "npm run lint --fix", "allow"],
  ["Bash(npm run *)", "npm run", "allow"],
  ["Bash(npm run *)", "npm install", "ask"],
  ["Bash(* --version)", "rustc --version", "allow"],
  ["Bash(* --version)", "rustc --version x", "ask"],
  ["Bash(npm run test*)", "npm run test:unit", "allow"],
  ["Bash(sh -c '*')", "sh -c '*'", "allow"],
  ["Bash(sh -c '*')", "sh -c 'rm x'", "ask"],
  ["Bash(find . -name \\*.ts)", "find . -name '*.ts' -x", "ask"],
  ["Bash(:*)", "anything $(at all)", "allow"],
  ["Bash", "x > y", "allow"],
  ["Bash(make 2>&1 | tee log)", "make 2>&1 | tee log", "allow"],
  ["Bash(make 2>&1 | tee log)", "make 2>&1 | tee log2", "ask"],
  ["Bash(echo:*)", "echo x >> ~/.bashrc", "ask!"],
  ["Bash(cd:*)", "cd / && cat etc/passwd", "ask"],
  ["Bash(export:*)", "export PATH=x && ls", "ask"],
  ["Bash(a:*),Bash(b:*)", "a 1 && b 2", "allow"],
  ["Bash(a:*)", "a 1 && b 2", "ask"],
  ["Bash(a:*)", "a 1 && cat .env", "ask"],
])("allow %s, then %j: %s", async (rules, command, expected) => {
  const { shell } = await worlds.make({ user: { permissions: { allow: rules.split(",") } } });
  expect(brief(await shell(command))).toBe(expected);
});

test.each([
  ["Bash(rm:*)", "rm x", "deny"],
  ["Bash(rm:*)", "ls && rm x", "deny"],
  ["Bash(rm:*)", "/bin/rm x", "deny"],
  ["Bash(rm:*)", "sudo rm x", "deny"],
  ["Bash(rm:*)", "env -u A rm x", "deny"],
  ["Bash(rm:*)", "\\rm x", "deny"],
  ["Bash(rm:*)", "'r'm x", "deny"],
  ["Bash(rm:*)", "command rm x", "deny"],
  ["Bash(rm:*)", "busybox rm x", "deny"],
  ["Bash(rm:*)", "bash -c 'rm x'", "deny"],
  ["Bash(rm:*)", "echo `rm x`", "deny"],
  ["Bash(rm:*)", "x=$(rm y)", "deny"],
  ["Bash(rm:*)", "find . | xargs rm", "deny"],
  ["Bash(rm:*)", "find . -exec rm {} +", "deny"],
  ["Bash(rm:*)", "if true; then rm x; fi", "deny"],
  ["Bash(rm:*)", "ls\nrm x", "deny"],
  ["Bash(rm:*)", "cat <<EOF | sh\nrm x\nEOF", "deny"],
  ["Bash(rm:*)", "r\\\nm x", "deny"],
  ["Bash(rm:*)", "$X x", "ask"],
  ["Bash(rm:*)", "git rmx", "allow"],
  ["Bash(rm:*)", "echo format", "allow"],
  ["Bash(git push:*)", "git push origin x", "deny"],
  ["Bash(git push:*)", "git status && git push", "deny"],
  ["Bash(git push:*)", "git pull", "allow"],
  ["Bash(npm publish)", "npm publish", "deny"],
  ["Bash", "ls", "deny"],
  ["Read(.env)", "cat .env", "deny"],
  ["Read(.env)", "cat ./.env", "deny"],
  ["Read(.env)", "cat a/../.env", "deny"],
  ["Read(.env)", "cat < .env", "deny"],
  ["Read(.env)", "grep x --file=.env", "deny"],
  ["Read(.env)", "cd sub && cat .env", "deny"],
  ["Edit(secret/**)", "cp x secret/y", "deny"],
  ["Read(.env)", "cat $X", "ask"],
])("deny %s in unrestricted mode, then %j: %s", async (rule, command, expected) => {
  const { shell } = await worlds.make({ user: { permissions: { deny: [rule] } } }, { mode: "unrestricted" });
  expect(brief(await shell(command))).toBe(expected);
});

test.each([
  ["Read(.env)", "Read", ".env", "deny"],
  ["Read(.env)", "Read", "./sub/../.env", "deny"],
  ["Read(.env)", "Read", "sub/.env", "deny"],
  ["Read(.env)", "Read", "link-to-env", "deny"],
  ["Read(./.env)", "Read", ".env", "deny"],
  ["Read(~/.ssh/**)", "Read", "HOME/.ssh/id_rsa", "deny"],
  ["Read(//HOME/.ssh/**)", "Read", "HOME/.ssh/id_rsa", "deny"],
  ["Read(src/**)", "Grep", "src", "deny"],
  ["Read(src/**)", "Glob", "src/deep", "deny"],
  ["Read(src/**)", "ListDir", "other", "allow"],
  ["Grep", "Grep", ".", "deny"],
  ["Grep(**)", "Grep", ".", "deny"],
  ["Edit(a.txt)", "Write", "a.txt", "deny"],
  ["Write(a.txt)", "Edit", "a.txt", "deny"],
  ["Edit(a.txt)", "Read", "a.txt", "allow"],
  ["Read(*.pem)", "Read", "deep/in/x.pem", "deny"],
  ["Read({a,b}/**)", "Read", "b/x", "deny"],
  [`Read(${"{a,b}".repeat(9)})`, "Read", "zz", "deny"],
  ["Read(", "Read", "zz", "deny"],
] as const)("deny %s, then %s %s: %s", async (rule, family, path, expected) => {
  const world = await worlds.make(
    { files: { "project/.env": "x", "home/.ssh/id_rsa": "x" } },
    { mode: "unrestricted" },
  );
  symlinkSync(join(world.project, ".env"), join(world.project, "link-to-env"));
  await world.settings.updateUser((settings) => {
    settings.permissions = { deny: [rule.replace("//HOME", `/${world.home}`)] };
  });
  expect(brief(await world.file(family, path.replace("HOME", world.home)))).toBe(expected);
});

test.each([
  ["Edit(src/**)", "Edit", "src/a", "allow"],
  ["Edit(src/**)", "Edit", "src/.hidden/a", "allow"],
  ["Edit(src/**)", "Write", "src/a", "ask"],
  ["Edit(src/**)", "Edit", "src/../x", "ask"],
  ["Edit(src/**)", "Edit", "src/out/x", "ask"],
  ["Edit(*.md)", "Edit", "docs/a.md", "allow"],
  ["Edit(*.md)", "Edit", "/elsewhere/a.md", "ask"],
  ["Edit(**)", "Edit", "a", "allow"],
  ["Edit(**)", "Edit", "/elsewhere/a", "ask"],
  ["Edit(**)", "Edit", ".git/hooks/pre-commit", "ask!"],
  ["Edit(**)", "Edit", ".GIT/Config", "ask!"],
  ["Edit(**)", "Edit", ".Letta/Settings.json", "ask!"],
  ["Edit", "Edit", "/elsewhere/a", "allow"],
  ["Edit(//elsewhere/**)", "Edit", "/elsewhere/a", "allow"],
  ["Read(//etc/**)", "Read", "/etc/hosts", "allow"],
] as const)("allow %s, then %s %s: %s", async (rule, family, path, expected) => {
  const world = await worlds.make({
    user: { permissions: { allow: [rule] } },
    files: { "project/src/a": "", "outside/x": "" },
  });
  symlinkSync(join(world.root, "outside"), join(world.project, "src/out"));
  expect(brief(await world.file(family, path))).toBe(expected);
});

test.each([
  ["WebFetch(domain:example.com)", "https://example.com/x", "allow"],
  ["WebFetch(domain:example.com)", "https://EXAMPLE.com./x", "allow"],
  ["WebFetch(domain:example.com)", "https://a.example.com/x", "ask"],
  ["WebFetch(domain:*.example.com)", "https://a.example.com/", "allow"],
  ["WebFetch(domain:*.example.com)", "https://evilexample.com/", "ask"],
  ["WebFetch(domain:example.com)", "https://example.com@evil.test/", "ask"],
  ["WebFetch(https://example.com/*)", "https://example.com/docs", "allow"],
  ["WebFetch(https://example.com/*)", "https://example.com.evil.test/", "ask"],
  ["WebFetch(https://example.com*)", "https://example.com.evil.test/", "ask"],
  ["WebFetch", "not a url", "allow"],
])("allow %s, then %s: %s", async (rule, url, expected) => {
  const { checker } = await worlds.make({ user: { permissions: { allow: [rule] } } });
  expect(brief(await checker.check("WebFetch", [{ kind: "url", url }]))).toBe(expected);
});

test.each([
  ["mcp__git", "mcp__git__log", {}, undefined, "allow"],
  ["mcp__git__*", "mcp__git__log", {}, undefined, "allow"],
  ["mcp__git__log", "mcp__git__push", {}, undefined, "ask"],
  ["mcp__git", "mcp__github__push", {}, undefined, "ask"],
  ["Task(recall)", "Task", {}, "recall", "allow"],
  ["Task(recall)", "agent", {}, "recall", "allow"],
  ["Task(recall)", "Task", {}, "coder", "ask"],
  ["Deploy(env:test)", "Deploy", { env: "test" }, undefined, "allow"],
  ["Deploy(env:test)", "Deploy", { env: "prod" }, undefined, "ask"],
  ["Deploy(toString:x)", "Deploy", {}, undefined, "ask"],
  ["*", "Anything", {}, undefined, "allow"],
] as const)("allow %s, then %s %j %s: %s", async (rule, name, args, payload, expected) => {
  const { checker } = await worlds.make({ user: { permissions: { allow: [rule] } } });
  const target = { kind: "tool" as const, name, args, ...(payload !== undefined && { payload }) };
  expect(brief(await checker.check(name, [target]))).toBe(expected);
});
