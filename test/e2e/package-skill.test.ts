// The script of creating-skills that makes one file of a skill; an independent reader opens the result.

import { afterEach, beforeEach, expect, test } from "bun:test";
import { chmodSync, existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { runLetta, type TempHome, tempHome } from "../support/binary.ts";
import { readZip } from "../support/zip.ts";

const SCRIPT = join(import.meta.dir, "../../skills/creating-skills/scripts/package-skill.ts");
const HEAD = "---\nname: my-skill\ndescription: Does it.\n---\n\n# Body ü\n";

let home: TempHome;
let folder: string;
beforeEach(() => {
  home = tempHome();
  folder = join(home.workdir, "my-skill");
  mkdirSync(join(folder, "scripts"), { recursive: true });
  writeFileSync(join(folder, "SKILL.md"), HEAD);
});
afterEach(() => home[Symbol.dispose]());

const pack = (...args: string[]) => runLetta(["script", SCRIPT, ...args], { home, env: { PATH: "/nowhere" } });

test("a folder becomes an archive that others read; the same folder gives the same bytes", async () => {
  writeFileSync(join(folder, "scripts", "é.sh"), "#!/bin/sh\n");
  chmodSync(join(folder, "scripts", "é.sh"), 0o755);
  writeFileSync(join(folder, "big.txt"), "a".repeat(100_000));
  writeFileSync(join(folder, ".secret"), "not for anybody");
  const run = await pack("my-skill");
  const file = join(home.workdir, "my-skill.skill");
  expect(run).toMatchObject({
    stdout: `SKILL.md  ${Buffer.byteLength(HEAD)}\nbig.txt  100000\nscripts/é.sh  10  executable\n${file}: 3 files\n`,
    stderr: "",
    exitCode: 0,
  });
  const bytes = readFileSync(file);
  expect(bytes.length).toBeLessThan(2000);
  expect(readZip(bytes)).toEqual([
    { name: "my-skill/SKILL.md", mode: 0o644, text: HEAD },
    { name: "my-skill/big.txt", mode: 0o644, text: "a".repeat(100_000) },
    { name: "my-skill/scripts/é.sh", mode: 0o755, text: "#!/bin/sh\n" },
  ]);
  if (Bun.which("unzip")) expect(Bun.spawnSync(["unzip", "-tqq", file]).exitCode).toBe(0);
  await pack("my-skill", "--out", home.path);
  expect(readFileSync(join(home.path, "my-skill.skill")).equals(bytes)).toBe(true);
});

test.each([
  ["a link", () => symlinkSync("/etc/hostname", join(folder, "link")), "link is no plain file"],
  ["no SKILL.md", () => (folder = join(home.workdir)), "SKILL.md is missing"],
  ["no head", () => writeFileSync(join(folder, "SKILL.md"), "# Hi\n"), "does not begin with a head"],
  ["another name", () => writeFileSync(join(folder, "SKILL.md"), HEAD.replace("my-", "your-")), 'name is "your-skill"'],
  [
    "no description",
    () => writeFileSync(join(folder, "SKILL.md"), HEAD.replace("Does it.", "")),
    "description must be",
  ],
  ["broken YAML", () => writeFileSync(join(folder, "SKILL.md"), HEAD.replace("Does it.", "[")), "is no YAML"],
  ["too many bytes", () => writeFileSync(join(folder, "x"), Buffer.alloc(21 * 1024 * 1024)), "more than 20 MB"],
] as const)("%s is refused", async (_, spoil, message) => {
  spoil();
  const run = await pack(folder, "--out", home.path);
  expect(run.stderr).toContain(message);
  expect(run.exitCode).toBe(1);
  expect(existsSync(join(home.path, "my-skill.skill"))).toBe(false);
});

test("usage", async () => {
  expect((await pack("--help")).exitCode).toBe(0);
  expect((await pack()).exitCode).toBe(2);
  expect((await pack("a", "b")).exitCode).toBe(2);
  expect((await pack("a", "--nope")).exitCode).toBe(2);
});
