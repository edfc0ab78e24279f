import { afterEach, beforeEach, expect, test } from "bun:test";
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
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
  folder = mkdtempSync(join(tmpdir(), "letta-replace-"));
});
afterEach(() => {
  chmodSync(folder, 0o700);
  rmSync(folder, { recursive: true, force: true });
});

test("creates directories, replaces, deletes; leaves no temporary files", async () => {
  const path = join(folder, "a/b/file");
  await replaceFile(path, Buffer.from("one"));
  await replaceFile(path, Buffer.from("two"));
  expect(readFileSync(path, "utf8")).toBe("two");
  expect(readdirSync(join(folder, "a/b"))).toEqual(["file"]);
  await replaceFile(path, null);
  await replaceFile(path, null);
  expect(existsSync(path)).toBe(false);
});

test("follows relative links, also to what does not exist yet", async () => {
  mkdirSync(join(folder, "real"));
  symlinkSync("real/target", join(folder, "link"));
  await replaceFile(join(folder, "link"), Buffer.from("x"));
  expect(readFileSync(join(folder, "real/target"), "utf8")).toBe("x");
  await replaceFile(join(folder, "link"), Buffer.from("y"));
  expect([lstatSync(join(folder, "link")).isSymbolicLink(), readFileSync(join(folder, "real/target"), "utf8")]).toEqual(
    [true, "y"],
  );
});

test("keeps the mode, gives new files what the umask allows", async () => {
  const path = join(folder, "script");
  writeFileSync(path, "a", { mode: 0o640 });
  chmodSync(path, 0o4755);
  await replaceFile(path, Buffer.from("b"));
  expect(statSync(path).mode & 0o7777).toBe(0o4755);
  await replaceFile(join(folder, "new"), Buffer.from("b"));
  expect(statSync(join(folder, "new")).mode & 0o777).toBe(0o666 & ~process.umask());
});

test("a directory in the way is an error, and nothing is left behind", async () => {
  mkdirSync(join(folder, "dir"));
  await expect(replaceFile(join(folder, "dir"), Buffer.from("x"))).rejects.toMatchObject({ code: "EISDIR" });
  expect(readdirSync(folder)).toEqual(["dir"]);
});
