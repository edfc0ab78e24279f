import { afterEach, beforeEach, expect, test } from "bun:test";
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { indexBundle, readBundle } from "@/skills/bundle.ts";
import { unpackBundled } from "@/skills/unpack.ts";
import { type TempDir, tempDir } from "../support/binary.ts";

let dir: TempDir;
beforeEach(() => {
  dir = tempDir();
});
afterEach(() => dir[Symbol.dispose]());

const TEXTS = {
  "one/SKILL.md": "---\nname: one\ndescription: First.\n---\nBody\n",
  "one/scripts/run.ts": "console.log(1);\n",
  "two/SKILL.md": "---\nname: two\ndescription: Second.\n---\n",
};

test("a folder of skills becomes texts and an index of their heads", () => {
  for (const [path, text] of Object.entries(TEXTS)) {
    mkdirSync(join(dir.path, path, ".."), { recursive: true });
    writeFileSync(join(dir.path, path), text);
  }
  writeFileSync(join(dir.path, "one/.DS_Store"), "not for anybody");
  expect(readBundle(dir.path)).toEqual(TEXTS);
  expect(indexBundle(TEXTS)).toEqual({
    digest: expect.stringMatching(/^[0-9a-f]{16}$/),
    skills: [
      { id: "one", head: "---\nname: one\ndescription: First.\n---\n" },
      { id: "two", head: "---\nname: two\ndescription: Second.\n---\n" },
    ],
  });
  expect(indexBundle({ ...TEXTS, "two/SKILL.md": "other" }).digest).not.toBe(indexBundle(TEXTS).digest);
  expect(readBundle(join(dir.path, "missing"))).toEqual({});
});

test("only the skill that is used is unpacked, and its scripts can run", () => {
  const folder = unpackBundled(dir.path, { digest: "d1", texts: TEXTS }, "one");
  expect(folder).toBe(join(dir.path, "d1/one"));
  expect(readdirSync(dir.path, { recursive: true }).toSorted()).toEqual([
    "d1",
    "d1/one",
    "d1/one/SKILL.md",
    "d1/one/scripts",
    "d1/one/scripts/run.ts",
  ]);
  expect(statSync(join(folder, "scripts/run.ts")).mode & 0o777).toBe(0o755);
});

test("what was changed, added or linked on disk is put right before it is used again", () => {
  const bundle = { digest: "d1", texts: TEXTS };
  const folder = unpackBundled(dir.path, bundle, "one");
  const before = statSync(folder).ino;
  expect(statSync(unpackBundled(dir.path, bundle, "one")).ino).toBe(before);

  writeFileSync(join(folder, "scripts/run.ts"), "console.log('evil');\n");
  unpackBundled(dir.path, bundle, "one");
  expect(readFileSync(join(folder, "scripts/run.ts"), "utf8")).toBe(TEXTS["one/scripts/run.ts"]);

  writeFileSync(join(folder, "scripts/more.ts"), "");
  symlinkSync("/etc/hostname", join(folder, "link"));
  unpackBundled(dir.path, bundle, "one");
  expect(readdirSync(folder).toSorted()).toEqual(["SKILL.md", "scripts"]);
  expect(readdirSync(join(dir.path, "d1"))).toEqual(["one"]);
});

test("copies of other versions go when nobody has used them for a month", () => {
  unpackBundled(dir.path, { digest: "old", texts: TEXTS }, "one");
  unpackBundled(dir.path, { digest: "recent", texts: TEXTS }, "one");
  const longAgo = new Date(Date.now() - 31 * 24 * 3_600_000);
  utimesSync(join(dir.path, "old"), longAgo, longAgo);
  unpackBundled(dir.path, { digest: "new", texts: TEXTS }, "two");
  expect(["old", "recent", "new"].map((name) => existsSync(join(dir.path, name)))).toEqual([false, true, true]);
});

test("a place that cannot be written to is an error that names it", () => {
  writeFileSync(join(dir.path, "cache"), "a file");
  expect(() => unpackBundled(join(dir.path, "cache"), { digest: "d", texts: TEXTS }, "one")).toThrow(
    /cannot unpack the skill one to .*cache\/d\/one/,
  );
});
