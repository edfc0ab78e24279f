import { afterEach, beforeEach, expect, test } from "bun:test";
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { createSkillCache, type SkillCache } from "@/skills/cache.ts";
import type { SkillRoot } from "@/skills/types.ts";
import { type TempDir, tempDir } from "../support/binary.ts";

let dir: TempDir;
let cache: SkillCache;
beforeEach(() => {
  dir = tempDir();
  cache = createSkillCache({ bundle: () => null, watch: true });
});
afterEach(() => {
  cache.close();
  dir[Symbol.dispose]();
});

const write = (path: string, description: string): void => {
  const file = join(dir.path, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, `---\nname: ${path.split("/").at(-2)}\ndescription: ${description}\n---\n`);
};
const root = (path: string): SkillRoot => ({ source: "global", path: join(dir.path, path), label: path });
const found = (...paths: string[]) =>
  Object.fromEntries(cache.get(paths.map(root)).skills.map(({ id, description }) => [id, description]));

/** Until the change was heard of: nothing is watched any more. */
const heard = async (): Promise<void> => {
  while (cache.watched > 0) await Bun.sleep(1);
};

test.skipIf(process.platform !== "linux")("what is watched is what the system holds for us", () => {
  const held = () =>
    readdirSync("/proc/self/fdinfo").flatMap((fd) => {
      try {
        return readFileSync(`/proc/self/fdinfo/${fd}`, "utf8").match(/^inotify /gm) ?? [];
      } catch {
        return []; // The one that lists them is gone.
      }
    }).length;
  write("a/one/SKILL.md", "One.");
  const before = held();
  found("a", "missing");
  expect(cache.watched).toBe(3);
  expect(held() - before).toBe(3);
  cache.close();
  expect(held() - before).toBe(0);
});

test("a change closes everything; the next look finds it and arms again", async () => {
  write("a/one/SKILL.md", "One.");
  expect(found("a")).toEqual({ one: "One." });
  expect(cache.get([root("a")])).toBe(cache.get([root("a")]));

  write("a/one/SKILL.md", "Uno.");
  await heard();
  expect(cache.watched).toBe(0);
  expect(found("a")).toEqual({ one: "Uno." });
  expect(cache.watched).toBe(2);

  write("a/group/two/SKILL.md", "Two.");
  await heard();
  expect(found("a")).toEqual({ one: "Uno.", "group/two": "Two." });

  rmSync(join(dir.path, "a/one"), { recursive: true });
  await heard();
  expect(found("a")).toEqual({ "group/two": "Two." });
});

test("a root that was not there, however much of its path is missing", async () => {
  expect(found("not/yet/there")).toEqual({});
  mkdirSync(join(dir.path, "not"));
  await heard();
  expect(found("not/yet/there")).toEqual({});
  write("not/yet/there/one/SKILL.md", "One.");
  await heard();
  expect(found("not/yet/there")).toEqual({ one: "One." });
});

test("other names beside a missing root are no news", async () => {
  write("real/one/SKILL.md", "One.");
  expect(found("missing", "real")).toEqual({ one: "One." });
  const watched = cache.watched;
  writeFileSync(join(dir.path, "something-else"), "");
  // An event that comes later than this one has been heard of.
  write("real/one/SKILL.md", "Uno.");
  await heard();
  expect(watched).toBe(3);
  found("missing", "real");
  mkdirSync(join(dir.path, "missing"));
  await heard();
});

test("linked folders and files are watched where they are", async () => {
  write("elsewhere/linked/SKILL.md", "Linked.");
  write("texts/note/SKILL.md", "A file.");
  mkdirSync(join(dir.path, "a/file"), { recursive: true });
  symlinkSync(join(dir.path, "elsewhere/linked"), join(dir.path, "a/linked"));
  symlinkSync(join(dir.path, "texts/note/SKILL.md"), join(dir.path, "a/file/SKILL.md"));
  expect(found("a")).toEqual({ linked: "Linked.", file: "A file." });
  write("elsewhere/linked/SKILL.md", "Changed.");
  await heard();
  expect(found("a")).toEqual({ linked: "Changed.", file: "A file." });
  write("texts/note/SKILL.md", "Changed, too.");
  await heard();
  expect(found("a")).toEqual({ linked: "Changed.", file: "Changed, too." });
});

test("a root that is taken away and comes back", async () => {
  write("a/one/SKILL.md", "One.");
  found("a");
  renameSync(join(dir.path, "a"), join(dir.path, "b"));
  await heard();
  expect(found("a")).toEqual({});
  renameSync(join(dir.path, "b"), join(dir.path, "a"));
  await heard();
  expect(found("a")).toEqual({ one: "One." });
});

test("without watching what was read stays, until one looks again", () => {
  const still = createSkillCache({ bundle: () => null, watch: false });
  write("a/one/SKILL.md", "One.");
  const first = still.get([root("a")]);
  write("a/one/SKILL.md", "Uno.");
  expect(still.get([root("a")])).toBe(first);
  expect(still.refresh([root("a")]).skills.map(({ description }) => description)).toEqual(["Uno."]);
  expect(still.watched).toBe(0);
});

test("places that nobody asks for any more are let go", () => {
  for (let index = 0; index < 12; index++) {
    write(`r${index}/one/SKILL.md`, "One.");
    found(`r${index}`);
  }
  expect(cache.watched).toBe(8 * 2);
});
