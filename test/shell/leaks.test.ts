// Everything that passes without a question is run for real in a project full of secrets, and must print none of them.

import { afterAll, expect, test } from "bun:test";
import { SUBCOMMANDS } from "@/shell/read-only-git.ts";
import { COMMANDS } from "@/shell/read-only-table.ts";
import { type PermissionWorld, worldPool } from "../support/permission-world.ts";
import { commitSecrets, MARKER, RULED_MARKER, SECRET_FILES } from "../support/secret-world.ts";
import { PROGRAM_PATH as PATH, runAll } from "../support/shell-batch.ts";
import { placeNames, readCorpus, readEveryday } from "../support/shell-corpus.ts";
import { spellOptions } from "../support/shell-options.ts";

const worlds = worldPool();
afterAll(worlds.dispose);

const PATHS = [
  "",
  ".",
  "a.txt",
  ".env",
  ".Env",
  "src",
  "src/",
  "*",
  ".*",
  "src/*",
  "src/.*",
  "*/*",
  "keys",
  ".config",
  ".config/",
  ".config/gh",
  ".local/share",
  "link-to-env",
  "link-to-config",
  "link-to-config/",
  "src/link",
  "private",
  "a.txt .env",
  "./.config/../.config/.",
];
const REVISIONS =
  "|HEAD|HEAD~1|v1|v2|stash@{0}|HEAD~2..HEAD|main...side|--all|HEAD^{tree}|:/two|.env|src|-- src|-- .|HEAD -- .|HEAD~1 src|-- .config|-- :/|-- ':(top,literal).env'|-- ':!src'|':(top).env'|'*.env*'|-- '*'|HEAD:.env|HEAD:./.env|:.env|:0:.env|HEAD:.config|HEAD:.config/gh|HEAD:src HEAD~2:src|HEAD:.config HEAD~3:.config|HEAD:a.txt|HEAD^{tree}:.env|BLOB|BLOB a.txt|v1-1-gBLOB|BLOB^{blob}|BLOB^{}|TREE|TREE BLOB|TREE..OLDTREE|CONFIGTREE|CONFIGTREE CONFIGOLD|CONFIGTREE..CONFIGOLD|COMMIT|COMMIT~1 COMMIT|stash@{0}^1 stash@{0}|.env.moved|copy.txt|-- copy.txt".split(
    "|",
  );

test("what passes without a question prints no secret", async () => {
  const world = await makeWorld();
  const commands = [...corpus(world), ...readers(), ...git(world)];
  const printed = await leaks(world, commands, MARKER);
  expect(printed.leaking).toEqual([]);
  // Otherwise nothing was proven about what is allowed.
  expect(printed.allowed).toBeGreaterThan(1_500);
  expect(printed.telling).toBeGreaterThan(600);
}, 120_000);

test("nor does it print what rules hide", async () => {
  const rules = ["Read(private/**)", "Read(*.hidden)", "Read(~/private/**)", "Read(src/deep/{private,x}/*)"];
  const world = await (await makeWorld()).reopen({ disallowedTools: rules });
  const commands = [
    ...["grep -rn KEY", "grep -rn KEY src", "grep -rn KEY test", "rg KEY", "rg KEY src", "cat src/*", "cat private/*"],
    ...["git diff", "git log -p", "git show v1", "git grep KEY", "git diff --stat", "git log --oneline", "git status"],
    ...[
      "git show HEAD:private/a.txt",
      "git -C src show HEAD:private/a.txt",
      "git -C src show HEAD:./deep/private/b.txt",
    ],
    ...["find . -name '*.txt'", "head src/deep/private/b.txt", "cd src && cat deep/private/*"],
  ];
  expect((await leaks(world, commands, RULED_MARKER)).leaking).toEqual([]);
  // A rule about a name is put into the command; one about a place elsewhere does not matter here.
  const named = await world.reopen({ disallowedTools: ["Read(private)", "Read(*.hidden)", "Read(~/private/**)"] });
  const found = await leaks(named, commands, RULED_MARKER);
  expect(found.leaking).toEqual([]);
  expect(found.allowed).toBe(13);
}, 60_000);

test("whether a secret holds a word cannot be asked either", async () => {
  const world = await makeWorld();
  const ask = async (command: string) => (await runAll(world, [await provenText(world, command)]))[0];
  expect(await ask(`git log --oneline -S ${MARKER} -- src keys`)).toBe("");
  expect(await ask(`git log --oneline --stat -G ${MARKER}`)).not.toContain(".env");
  expect(await ask(`git grep -c ${MARKER}`)).not.toMatch(/env|pem|netrc/i);
}, 60_000);

async function makeWorld(): Promise<PermissionWorld> {
  const world = await worlds.make({ files: SECRET_FILES });
  commitSecrets(world);
  return world;
}

function corpus(world: PermissionWorld): string[] {
  const allowed = readCorpus().filter(({ expected, rules }) => expected === "allow" && rules.length === 0);
  const commands = [...allowed.map(({ command }) => command), ...readEveryday().map(({ command }) => command)];
  // What waits, asks other programs for their version, or talks to a daemon tells nothing about secrets.
  return commands
    .map((command) => placeNames(command, world))
    .filter((text) => !/sleep|docker|npm|kubectl|--version/.test(text));
}

/** Every option of every reader, once without and once with each kind of path. */
function readers(): string[] {
  const names = Object.keys(COMMANDS).filter(
    (name) => !/^(?:sleep|echo|true|false|which|type|whereis|seq|tr|date)$/.test(name),
  );
  const own = names.flatMap((name) => {
    const first = COMMANDS[name]!.operands === "pattern-then-paths" ? " KEY" : "";
    const options = ["", ...spellOptions(COMMANDS[name]!)].map((option) => (option === "" ? "" : ` ${option}`));
    // All options with some paths, some options with all paths.
    const broad = options.map((option) => `${name}${option}${first} .`);
    const recursive = /grep$/.test(name) ? [" -r", " -rn", " -rl", " -r --include=*", " -r --exclude-dir=x"] : [""];
    const deep = recursive.flatMap((option) => PATHS.map((path) => `${name}${option}${first} ${path}`));
    return [...broad, ...deep];
  });
  const special = PATHS.flatMap((path) => [
    `find ${path} -name '*'`,
    `find ${path} -type f -newer a.txt -ls`,
    `sed -n 1,9p ${path}`,
    `sed s/a/b/ ${path}`,
    `jq -R . ${path}`,
    `jq . ${path}`,
    `diff a.txt ${path}`,
    `diff -u src ${path}`,
    `wc ${path} < .env`,
    `cd ${path || "src"} && grep -r KEY`,
    `cd ${path || "src"} && rg KEY`,
    `cd ${path || "src"} && cat * .*`,
    `bash -c 'cat ${path}'`,
    `grep -r KEY -- ${path}`,
    `rg -g '*.yml' KEY ${path}`,
    `rg --iglob '.*' KEY ${path}`,
    `rg --files ${path} | xargs cat`,
  ]);
  return [...own, ...special].map((text) => text.trim());
}

/** Every option of every subcommand with every kind of operand; two options where one may undo the other. */
function git(world: PermissionWorld): string[] {
  const id = (name: string) =>
    Bun.spawnSync(["git", "rev-parse", name], { cwd: world.project, env: { PATH, HOME: world.home } })
      .stdout.toString()
      .trim();
  const ids: Record<string, string> = {
    CONFIGTREE: id("HEAD:.config"),
    CONFIGOLD: id("stash@{0}:.config"),
    OLDTREE: id("v1^{tree}"),
    COMMIT: id("HEAD").slice(0, 9),
    BLOB: id("HEAD:.env").slice(0, 10),
    TREE: id("HEAD^{tree}"),
  };
  const operands = REVISIONS.map((text) =>
    text.replace(/CONFIGTREE|CONFIGOLD|OLDTREE|COMMIT|BLOB|TREE/g, (name) => ids[name]!),
  );
  const seldom = ["", "v1 HEAD", "-- src"];
  return Object.entries(SUBCOMMANDS).flatMap(([name, table]) => {
    const options = spellOptions(table);
    const pattern = name === "grep" ? " -e KEY" : "";
    const show = (option: string, operand: string) => `git ${name}${pattern}${option} ${operand}`.trim();
    const prints = table.contents === undefined ? [""] : ["", " -p -M -C -C"];
    return [
      ...options.flatMap((option) => seldom.map((operand) => show(` ${option}`, operand))),
      ...(table.contents ? options.map((option) => show(` -p ${option}`, "HEAD")) : []),
      ...[...prints, ...(name === "cat-file" ? [" -p", " -t", " -s"] : [])].flatMap((option) =>
        operands.flatMap((operand) => {
          const text = show(option, operand);
          return table.contents === undefined || option !== "" ? [text] : [text, text.replace("git", "git -C src")];
        }),
      ),
    ];
  });
}

/** What of the commands passes without a question, and what of that prints a secret. `telling` would do so unchanged. */
async function leaks(world: PermissionWorld, commands: string[], marker: string) {
  const allowed: { command: string; text: string }[] = [];
  for (const command of new Set(commands)) {
    const text = await provenText(world, command);
    if (text !== null) allowed.push({ command, text });
  }
  const outputs = await runAll(
    world,
    allowed.map(({ text }) => text),
  );
  const changed = allowed.filter(({ command, text }) => text.length > command.length + 100);
  const unchanged = await runAll(
    world,
    changed.map(({ command }) => command),
  );
  return {
    allowed: allowed.length,
    leaking: allowed.filter((_, index) => outputs[index]!.includes(marker)).map(({ command }) => command),
    telling: unchanged.filter((output) => output.includes(marker)).length,
  };
}

async function provenText(world: PermissionWorld, command: string): Promise<string | null> {
  const verdict = await world.shell(command);
  return verdict.behavior === "allow" ? (verdict.run?.command ?? null) : null;
}
