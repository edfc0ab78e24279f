import { afterEach, beforeEach, expect, test } from "bun:test";
import {
  chmodSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { replaceFile } from "@/lib/replace-file.ts";

let folder = "";
beforeEach(() => {
  folder = mkdtempSync(join(realpathSync(tmpdir()), "letta-replace-"));
});
afterEach(() => {
  chmodSync(folder, 0o700);
  rmSync(folder, { recursive: true, force: true });
});

test("creates directories, replaces, deletes; leaves no temporary files", async () => {
  const path = join(folder, "a/b/file");
  await replaceFile(path, { bytes: Buffer.from("one") });
  await replaceFile(path, { bytes: Buffer.from("two") });
  expect(readFileSync(path, "utf8")).toBe("two");
  expect(readdirSync(join(folder, "a/b"))).toEqual(["file"]);
  await replaceFile(path, { bytes: null });
  await replaceFile(path, { bytes: null });
  expect(existsSync(path)).toBe(false);
});

test.each([
  ["a link to a file", "link"],
  ["a link to what does not exist", "dangling"],
  ["a directory that is a link", "folder/file"],
  ["a new directory below a link", "folder/new/file"],
])("does not follow %s", async (_, name) => {
  mkdirSync(join(folder, "real"));
  writeFileSync(join(folder, "real/file"), "mine");
  symlinkSync("real/file", join(folder, "link"));
  symlinkSync("real/none", join(folder, "dangling"));
  symlinkSync("real", join(folder, "folder"));
  const write = replaceFile(join(folder, name), { bytes: Buffer.from("x") });
  await expect(write).rejects.toMatchObject({ code: "EPATHCHANGED" });
  await replaceFile(join(folder, name), { bytes: null }).catch(() => {});
  expect(readdirSync(join(folder, "real"))).toEqual(["file"]);
  expect(readFileSync(join(folder, "real/file"), "utf8")).toBe("mine");
});

test("directories it made are gone when it fails", async () => {
  const broken = replaceFile(join(folder, "a/b/file"), { bytes: Buffer.from("x") }, () =>
    Promise.reject(new Error("no")),
  );
  await expect(broken).rejects.toThrow("no");
  expect(readdirSync(folder)).toEqual([]);
});

test("says which directories it made", async () => {
  const first = await replaceFile(join(folder, "a/b/file"), { bytes: Buffer.from("x") });
  expect(first.made).toEqual([join(folder, "a"), join(folder, "a/b")]);
  expect((await replaceFile(join(folder, "a/b/other"), { bytes: Buffer.from("x") })).made).toEqual([]);
});

test("several names of one file stay one file", async () => {
  writeFileSync(join(folder, "one"), "old and long");
  linkSync(join(folder, "one"), join(folder, "two"));
  await replaceFile(join(folder, "one"), { bytes: Buffer.from("new") });
  expect(readFileSync(join(folder, "two"), "utf8")).toBe("new");
});

test("a pipe is refused and left as it is", async () => {
  Bun.spawnSync(["mkfifo", join(folder, "pipe")]);
  for (const bytes of [Buffer.from("x"), null])
    await expect(replaceFile(join(folder, "pipe"), { bytes })).rejects.toMatchObject({ code: "ENOTREG" });
  expect(lstatSync(join(folder, "pipe")).isFIFO()).toBe(true);
});

test("keeps the mode, gives new files what the umask allows", async () => {
  const path = join(folder, "script");
  writeFileSync(path, "a", { mode: 0o640 });
  chmodSync(path, 0o4755);
  await replaceFile(path, { bytes: Buffer.from("b") });
  expect(statSync(path).mode & 0o7777).toBe(0o4755);
  await replaceFile(join(folder, "new"), { bytes: Buffer.from("b") });
  expect(statSync(join(folder, "new")).mode & 0o777).toBe(0o666 & ~process.umask());
});

test("a directory in the way is an error, and nothing is left behind", async () => {
  mkdirSync(join(folder, "dir"));
  await expect(replaceFile(join(folder, "dir"), { bytes: Buffer.from("x") })).rejects.toMatchObject({ code: "EISDIR" });
  expect(readdirSync(folder)).toEqual(["dir"]);
});
