// Permission checks as the compiled binary makes them: what runs is what was proven, and people can ask why.

import { expect, test } from "bun:test";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { runLetta, tempHome } from "../support/binary.ts";
import { callTools } from "../support/protocols.ts";

const bash = (command: string) => ({ id: "a", name: "Bash", args: { command } });

test("readers run without a question, also several, and search around secrets", async () => {
  using home = tempHome();
  mkdirSync(join(home.workdir, "src"));
  writeFileSync(join(home.workdir, "src/a.ts"), "needle\n");
  writeFileSync(join(home.workdir, "src/.env"), "needle=secret\n");
  const { results } = await callTools([bash("cd src && ls *.ts | head -3; grep -rn needle . 2>/dev/null")], {
    home,
    args: ["--permission-mode", "standard"],
  });
  expect(results).toEqual(["a.ts\n./a.ts:1:needle"]);
});

test("git shows what changed, but not in a tracked .env", async () => {
  using home = tempHome();
  const git = (...args: string[]) =>
    Bun.spawnSync(["git", "-c", "user.name=A", "-c", "user.email=a@example.com", ...args], { cwd: home.workdir });
  const write = (text: string) => {
    for (const name of [".env", "a.txt"]) writeFileSync(join(home.workdir, name), `${name} ${text}\n`);
  };
  git("init", "-q");
  write("one");
  git("add", "-f", ".env", "a.txt");
  git("commit", "-qm", "one");
  write("two");
  const commands = ["git diff", "git log -p", "git show", "git grep -h one HEAD", "git show HEAD:.env"];
  const { results } = await callTools(
    commands.map((command, index) => ({ ...bash(command), id: `c${index}` })),
    { home, args: ["--permission-mode", "standard"] },
  );
  for (const result of results.slice(0, 4)) expect(result).toContain("a.txt one");
  for (const result of results) expect(result).not.toMatch(/\.env (?:one|two)/);
  expect(results[4]).toContain("Tool requires approval");
});

test("neither text nor environment turn a reader into something else", async () => {
  using home = tempHome();
  const evil = join(home.workdir, "evil");
  writeFileSync(evil, "#!/bin/sh\ntouch ran\n", { mode: 0o755 });
  writeFileSync(join(home.workdir, "ls"), "#!/bin/sh\ntouch ran\n", { mode: 0o755 });
  const { results } = await callTools(
    ["ls", "git diff --no-index a b", "ls & touch ran", "echo $'\\'' ; touch ran #'", "cat <(touch ran)"].map(
      (command, index) => ({ ...bash(command), id: `c${index}` }),
    ),
    {
      home,
      args: ["--permission-mode", "standard"],
      env: { PATH: `${home.workdir}:${process.env.PATH}`, GIT_EXTERNAL_DIFF: evil, BASH_ENV: evil },
    },
  );
  expect(results[0]).toContain("evil");
  expect(results.slice(1).every((text) => text.includes("Tool requires approval"))).toBe(true);
  expect(existsSync(join(home.workdir, "ran"))).toBe(false);
});

test("explain says why, and test holds a file of expectations against the rules", async () => {
  using home = tempHome();
  writeFileSync(join(home.workdir, "rules.txt"), "allow git log --oneline\nask npm publish\ndeny rm x\n");
  const explained = await runLetta(["permissions", "explain", "ls && rm x", "--json"], { home });
  expect(JSON.parse(explained.stdout)).toMatchObject({
    ok: true,
    data: { behavior: "ask", commands: [{ parts: [{ status: "reads" }, { status: "open" }] }] },
  });
  const tested = await runLetta(["permissions", "test", "rules.txt"], { home });
  expect([tested.exitCode, tested.stdout.split("\n").at(-2)]).toEqual([1, "2 passed, 1 failed"]);
});
