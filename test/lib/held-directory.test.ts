import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import {
  chmodSync,
  constants,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  holdByName,
  holdChild,
  holdDirectory,
  holdOrMakeDirectory,
  openIn,
  openRegular,
  removeDirectories,
  statIn,
} from "@/lib/held-directory.ts";

let root = "";
beforeEach(() => {
  root = mkdtempSync(join(realpathSync(tmpdir()), "letta-held-"));
  mkdirSync(join(root, "a/b"), { recursive: true });
  writeFileSync(join(root, "a/b/file"), "mine");
  mkdirSync(join(root, "other/b"), { recursive: true });
  writeFileSync(join(root, "other/b/file"), "other");
  symlinkSync("a", join(root, "link"));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

test.each(["link", "link/b"])("no link is followed: %s", (name) => {
  expect(() => holdDirectory(join(root, name))).toThrow(expect.objectContaining({ code: "EPATHCHANGED" }));
});

test.each([
  ["gone", "ENOENT"],
  ["gone/b", "ENOENT"],
  ["a/b/file", "ENOTDIR"],
  ["a/b/file/x", "ENOTDIR"],
])("%s is %s", (name, code) => {
  expect(() => holdDirectory(join(root, name))).toThrow(expect.objectContaining({ code }));
});

test("the root of the file system can be held", () => {
  using folder = holdDirectory("/");
  expect(readdirSync(folder.at())).toContain("tmp");
});

test.if(process.platform === "linux")("it stays the directory that was opened, whatever has its name by now", () => {
  using folder = holdDirectory(join(root, "a/b"));
  renameSync(join(root, "a"), join(root, "moved"));
  symlinkSync("other", join(root, "a"));
  expect(readFileSync(join(root, "a/b/file"), "utf8")).toBe("other");
  expect(readFileSync(folder.at("file"), "utf8")).toBe("mine");
  writeFileSync(folder.at("new"), "x");
  expect([existsSync(join(root, "other/b/new")), existsSync(join(root, "moved/b/new"))]).toEqual([false, true]);
});

test("a directory without permission to list can be held and used", () => {
  chmodSync(join(root, "a/b"), 0o300);
  using folder = holdDirectory(join(root, "a/b"));
  expect(readFileSync(folder.at("file"), "utf8")).toBe("mine");
});

test("children are held without following links", () => {
  symlinkSync("b", join(root, "a/to-b"));
  using folder = holdDirectory(join(root, "a"));
  using child = holdChild(folder, "b");
  expect([child.path, readFileSync(child.at("file"), "utf8")]).toEqual([join(root, "a/b"), "mine"]);
  expect(() => holdChild(folder, "to-b")).toThrow(expect.objectContaining({ code: "EPATHCHANGED" }));
  expect(() => holdChild(child, "file")).toThrow(expect.objectContaining({ code: "ENOTDIR" }));
});

describe("making directories", () => {
  test("says which, and takes away just those that are empty", () => {
    const { folder, made } = holdOrMakeDirectory(join(root, "a/new/deep/er"));
    writeFileSync(folder.at("file"), "x");
    folder[Symbol.dispose]();
    expect(made).toEqual(["a/new", "a/new/deep", "a/new/deep/er"].map((name) => join(root, name)));
    removeDirectories(made);
    expect(existsSync(join(root, "a/new/deep/er/file"))).toBe(true);
    rmSync(join(root, "a/new/deep/er/file"));
    removeDirectories(made);
    expect(readdirSync(join(root, "a"))).toEqual(["b"]);
  });

  test.each([
    ["through a link", "link/new", "EPATHCHANGED"],
    ["through a link that leads nowhere", "nowhere/new", "EPATHCHANGED"],
    ["below a file", "a/b/file/new", "ENOTDIR"],
  ])("not %s, and nothing is left", (_, name, code) => {
    symlinkSync("none", join(root, "nowhere"));
    expect(() => holdOrMakeDirectory(join(root, name))).toThrow(expect.objectContaining({ code }));
    expect(readdirSync(join(root, "a"))).toEqual(["b"]);
    expect(existsSync(join(root, "none"))).toBe(false);
  });
});

describe("entries", () => {
  test("a link is neither opened nor looked at", async () => {
    symlinkSync("file", join(root, "a/b/alias"));
    using folder = holdDirectory(join(root, "a/b"));
    const changed = { code: "EPATHCHANGED" };
    await expect(openIn(folder, "alias", { flags: constants.O_RDONLY })).rejects.toMatchObject(changed);
    await expect(openRegular(folder, "alias")).rejects.toMatchObject(changed);
    expect(() => statIn(folder, "alias")).toThrow(expect.objectContaining(changed));
    expect([statIn(folder, "file")?.size, statIn(folder, "gone")]).toEqual([4, null]);
  });

  test("pipes and devices are refused without waiting for them", async () => {
    Bun.spawnSync(["mkfifo", join(root, "a/pipe")]);
    using folder = holdDirectory(join(root, "a"));
    await expect(openRegular(folder, "pipe")).rejects.toMatchObject({ code: "ENOTREG" });
    await expect(openRegular(folder, "b")).rejects.toMatchObject({ code: "EISDIR" });
    using devices = holdDirectory("/dev");
    await expect(openRegular(devices, "zero")).rejects.toMatchObject({ code: "ENOTREG" });
  });
});

test("where a directory cannot be held, every use looks for links first", () => {
  expect(() => holdByName(join(root, "link/b"))).toThrow(expect.objectContaining({ code: "EPATHCHANGED" }));
  expect(() => holdByName(join(root, "a/b/file"))).toThrow(expect.objectContaining({ code: "ENOTDIR" }));
  expect(() => holdByName(join(root, "gone"))).toThrow(expect.objectContaining({ code: "ENOENT" }));
  using folder = holdByName(join(root, "a/b"));
  using child = holdChild(holdByName(join(root, "a")), "b");
  expect([folder.at("file"), folder.at(), child.path]).toEqual([join(root, "a/b/file"), folder.path, folder.path]);
  renameSync(join(root, "a"), join(root, "moved"));
  symlinkSync("other", join(root, "a"));
  expect(() => folder.at("file")).toThrow(expect.objectContaining({ code: "EPATHCHANGED" }));
});

test.if(process.platform === "linux")("no descriptor is left open", async () => {
  const count = () => readdirSync("/proc/self/fd").length;
  const before = count();
  for (const name of ["a/b", "link", "gone", "a/b/file", "link/b"]) {
    try {
      holdDirectory(join(root, name))[Symbol.dispose]();
    } catch {}
    try {
      holdOrMakeDirectory(join(root, name, "x")).folder[Symbol.dispose]();
    } catch {}
  }
  using folder = holdDirectory(join(root, "a"));
  await openRegular(folder, "b").catch(() => {});
  expect(count()).toBe(before + 1);
});
