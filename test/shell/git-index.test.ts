import { afterAll, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { hasLinkedFolders, readFolders, readGitlinks } from "@/shell/git-index.ts";

const root = mkdtempSync(join(tmpdir(), "letta-git-index-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));

function git(...args: string[]): string {
  const env = { PATH: process.env.PATH, HOME: root, GIT_CONFIG_NOSYSTEM: "1" };
  const { exitCode, stdout, stderr } = Bun.spawnSync(["git", ...args], { cwd: root, env });
  if (exitCode !== 0) throw new Error(stderr.toString());
  return stdout.toString();
}

test("a tracked folder that has become a link", () => {
  git("init", "-q");
  expect(hasLinkedFolders(root)).toBe(false);
  const names = ["a", "b/c", "b/d/e", `deep/${"x".repeat(200)}/f`, "ü/é"];
  for (let length = 1; length <= 16; length++) names.push(`pad${length}/${"n".repeat(length)}`);
  for (const name of names) {
    mkdirSync(join(root, name, ".."), { recursive: true });
    writeFileSync(join(root, name), name);
  }
  git("add", ".");
  const listed = git("-c", "core.quotepath=off", "ls-files").trim().split("\n");
  const expected = new Set(
    listed.flatMap((name) => name.split("/").map((_, at, parts) => parts.slice(0, at).join("/"))),
  );
  expected.delete("");
  expect(readFolders(readFileSync(join(root, ".git/index")))).toEqual(expected);
  expect(hasLinkedFolders(root)).toBe(false);
  rmSync(join(root, "b/d"), { recursive: true });
  expect(hasLinkedFolders(root)).toBe(false);
  symlinkSync("/etc", join(root, "b/d"));
  expect(hasLinkedFolders(root)).toBe(true);
  rmSync(join(root, "b/d"));
  git("update-index", "--index-version=4");
  expect(hasLinkedFolders(root)).toBe(true);
});

test.each(["", "DIRC", "DIRC\0\0\0\u0002\0\0\0\u0001".padEnd(200, "x"), "x".repeat(100)])("no index: %j", (text) =>
  expect(readFolders(Buffer.from(text))).toBeNull(),
);

test.each([
  ["version 2", "sha1", 2],
  ["version 3", "sha1", 3],
  ["version 4, with shortened names", "sha1", 4],
  ["long numbers", "sha256", 2],
  ["long numbers and shortened names", "sha256", 4],
] as const)("submodules in an index of %s", (_, format, version) => {
  const root = mkdtempSync(join(tmpdir(), "letta-index-"));
  try {
    const git = (...args: string[]) =>
      Bun.spawnSync(["git", "-C", root, ...args], { env: { PATH: process.env.PATH ?? "", HOME: root } });
    git("init", "-q", `--object-format=${format}`);
    const names = ["a", "dir/aa", "dir/ab", `dir/${"long".repeat(60)}`, "lib/x", "lib/y y", "z"];
    for (const name of names) {
      mkdirSync(join(root, name, ".."), { recursive: true });
      writeFileSync(join(root, name), name);
    }
    git("add", ".");
    const number = "1".repeat(format === "sha1" ? 40 : 64);
    for (const name of ["dir/sub", "lib/sub"]) git("update-index", "--add", "--cacheinfo", `160000,${number},${name}`);
    if (version === 3) {
      writeFileSync(join(root, "later"), "x");
      git("add", "-N", "later");
    }
    git("update-index", "--index-version", String(version));
    const index = readFileSync(join(root, ".git/index"));
    expect([index.readUInt32BE(4), readGitlinks(index)]).toEqual([version, ["dir/sub", "lib/sub"]]);
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
});
