// Readers with random options, dangerous ones among them: whatever passes without a question is run for real, and must
// leave every file as it was and start nothing of the project.

import { afterAll, expect, test } from "bun:test";
import { chmodSync, lstatSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { hardenEnv } from "@/shell/hardened-env.ts";
import { SUBCOMMANDS } from "@/shell/read-only-git.ts";
import { COMMANDS } from "@/shell/read-only-table.ts";

import { type PermissionWorld, worldPool } from "../support/permission-world.ts";
import { runAll } from "../support/shell-batch.ts";
import { CORPUS_FILES, furnish } from "../support/shell-corpus.ts";
import { spellBare } from "../support/shell-options.ts";

const worlds = worldPool();
afterAll(worlds.dispose);

const GIT =
  "status diff log show shortlog blame ls-files ls-tree rev-parse describe rev-list branch tag remote stash worktree reflog cat-file symbolic-ref for-each-ref show-ref grep config";
const NAMES = [
  ...Object.keys(COMMANDS).filter((name) => name !== "sleep"),
  ...["find", "find", "sed", "sed", "jq", "printf", "test", "xargs"],
  ...GIT.split(" ").map((name) => `git ${name}`),
];
const WORDS =
  "-o f -of --output=f --output -i -n -e -f -w -r -a -c -z -p -u -s -S -T -l -d -D -m -M -v -x -g -O./evil -E --pre=./evil --ext-diff --textconv --no-index -exec ./evil {} + -delete -fprint -print --in-place -k1 --list -b -1 -2 --all --stat --get user.name list show . .. a.txt b.txt src src/app.ts new HEAD v1 -- = -eq 1 2 '1w f' '1e ./evil' 's/a/b/w f' s/a/b/e 1,2p s/a/b/ .name env %s %n +%s --set=x -U3 --format=%GK --sort=refname --edit".match(
    /'[^']*'|\S+/g,
  )!;
/** Commands run. */
const ENOUGH = 150;

test("what passes without a question changes nothing and starts nothing", async () => {
  const world = await worlds.make({ files: CORPUS_FILES });
  furnish(world);
  makeRepository(world);
  const random = seeded(31);
  const pick = <Item>(items: readonly Item[]) => items[Math.floor(random() * items.length)]!;
  const before = snapshot(world.root);
  const ran = new Set<string>();
  for (let tries = 0; ran.size < ENOUGH && tries < 20_000; tries++) {
    const words = Array.from({ length: Math.floor(random() * 5) }, () => pick(WORDS));
    const command = [pick(NAMES), ...words].join(" ");
    const verdict = await world.shell(command);
    if (verdict.behavior !== "allow" || ran.has(command)) continue;
    ran.add(command);
    const { run } = verdict;
    const env = hardenEnv({ PATH: process.env.PATH ?? "", HOME: world.home }, run!.closedRoots);
    const argv = ["bash", "--noprofile", "--norc", "-c", run!.command];
    Bun.spawnSync(argv, { cwd: world.project, env, stdin: "ignore" });
    expect([command, snapshot(world.root)]).toEqual([command, before]);
  }
  expect(ran.size).toBe(ENOUGH);
}, 60_000);

test("no option takes or leaves a word that was judged otherwise", async () => {
  const world = await worlds.make({ files: CORPUS_FILES });
  furnish(world);
  makeRepository(world);
  // What a misjudged option would turn into an output file, an editor, or a program.
  const tables = [
    ...Object.entries(COMMANDS).map(([name, table]) => ({ name, table, tails: ["a.txt new", "-- --output=new"] })),
    ...Object.entries(SUBCOMMANDS).map(([name, table]) => ({ name: `git ${name}`, table, tails: ["-- --output=new"] })),
  ].filter(({ name }) => name !== "sleep");
  const texts: string[] = [];
  const commands = tables.flatMap(({ name, table, tails }) =>
    spellBare(table).flatMap((option) => tails.map((tail) => `${name} ${option} ${tail}`)),
  );
  for (const command of commands) {
    const verdict = await world.shell(command);
    if (verdict.behavior === "allow") texts.push(verdict.run!.command);
  }
  const before = snapshot(world.root);
  for (let at = 0; at < texts.length; at += 200) {
    const some = texts.slice(at, at + 200);
    await runAll(world, some);
    if (snapshot(world.root) !== before) expect(some).toEqual([]);
  }
  expect(texts.length).toBeGreaterThan(2_000);
}, 120_000);

function makeRepository({ project, home }: PermissionWorld): void {
  const script = `rm -rf .git; git init -q; git config user.name A; git config user.email a@example.com
    git add a.txt src; git commit -qm one; git tag v1; echo w >> src/app.ts; git stash -q; echo k >> a.txt`;
  Bun.spawnSync(["bash", "-c", script], { cwd: project, env: { PATH: process.env.PATH, HOME: home } });
  writeFileSync(join(project, "evil"), `#!/bin/sh\ntouch ${project}/ran\n`);
  chmodSync(join(project, "evil"), 0o755);
}

/** Every file with its size and time; of the repository's own, the content. */
function snapshot(root: string): string {
  const entries = readdirSync(root, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  return entries
    .map(({ parentPath, name }) => {
      const path = join(parentPath, name);
      const { size, mtimeMs } = lstatSync(path);
      return `${path} ${size} ${/\.git\b/.test(path) ? Bun.hash(readFileSync(path)) : mtimeMs}`;
    })
    .sort()
    .join("\n");
}

function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1_664_525 + 1_013_904_223) % 4_294_967_296;
    return state / 4_294_967_296;
  };
}
