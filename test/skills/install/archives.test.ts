import { describe, expect, test } from "bun:test";
import { gzipSync } from "node:zlib";
import { readArchive, readTarball } from "@/skills/install/archive.ts";
import { MAX_SKILL_BYTES, MAX_SKILL_FILES } from "@/skills/install/limits.ts";
import { type Collected, collectFiles } from "@/skills/install/skill-files.ts";
import {
  DEVICE_MODE,
  LINK_MODE,
  makeTar,
  makeTarball,
  makeZip,
  type TarEntry,
  type ZipEntry,
} from "../../support/archives.ts";

const SKILL = { name: "SKILL.md", data: "---\nname: x\ndescription: y\n---\nz\n" };

async function collect(bytes: Uint8Array): Promise<Collected> {
  return collectFiles(readArchive(bytes));
}

/** What forbids installing it; an archive that cannot be read at all says so by itself. */
async function problemOf(bytes: Uint8Array): Promise<string> {
  try {
    const { problem, files } = await collect(bytes);
    expect(files).toEqual([]);
    return problem?.message ?? "none";
  } catch (error) {
    return (error as Error).message;
  }
}

const shown = ({ files, skills }: Collected) => ({
  files: files.map(({ path, content, executable }) => [path, Buffer.from(content).toString(), executable]),
  skills,
});

describe.each([
  ["zip", (entries: (ZipEntry & TarEntry)[]) => makeZip(entries)],
  ["tar.gz", (entries: (ZipEntry & TarEntry)[]) => makeTarball(entries)],
] as const)("%s", (_, make) => {
  test("files with their bytes and permissions; folders and leftovers of file managers are none", async () => {
    const archive = make([
      { name: "kit/", mode: 0o040755 },
      { ...SKILL, name: "kit/SKILL.md" },
      { name: "kit/scripts/run.sh", data: "#!/bin/sh\n", mode: 0o100755 },
      { name: "kit/empty.txt" },
      { name: "kit/inner.zip", data: "PK\x03\x04 is left alone" },
      { name: "__MACOSX/kit/._SKILL.md", data: "junk" },
      { name: "kit/.DS_Store", data: "junk" },
      { name: "kit/ünï.md", data: "ß" },
    ]);
    expect(shown(await collect(archive))).toEqual({
      files: [
        ["kit/SKILL.md", SKILL.data, false],
        ["kit/scripts/run.sh", "#!/bin/sh\n", true],
        ["kit/empty.txt", "", false],
        ["kit/inner.zip", "PK\x03\x04 is left alone", false],
        ["kit/ünï.md", "ß", false],
      ],
      skills: ["kit"],
    });
  });

  test.each([
    ["../x", "leads out"],
    ["a/../../x", "leads out"],
    ["/etc/x", "leads out"],
    ["~/x", "leads out"],
    ["a//x", "leads out"],
    ["C:/x", "drive letter"],
    ["c:x", "drive letter"],
    ["a\\..\\x", "backslash"],
    ["a\u202etxt.exe", "invisible"],
    ["a\u200bb", "invisible"],
    ["a\x1b[2Jb", "invisible"],
    ["sub/.git/config", "git's own"],
    [".GIT/hooks/x", "git's own"],
    ["git~1/config", "git's own"],
    [".g\u200cit/config", "invisible"],
    ["．ｇｉｔ/config", "git's own"],
    ["a／..／x", "not possible"],
    ["aux.md", "device"],
    ["sub/COM1", "device"],
    ["x.", "not possible"],
    ["notes.md:stream", "not possible"],
    [`${"d/".repeat(13)}x`, "folders deep"],
    [`${"n".repeat(99)}/${"n".repeat(99)}/${"n".repeat(99)}`, "longer than"],
  ])("no file is called %j", async (name, why) => {
    const entry = Buffer.byteLength(name) > 100 ? { name: "long", pax: { path: name } } : { name };
    const isZip = make([]).subarray(0, 2).toString() === "PK";
    expect(await problemOf(make([SKILL, isZip ? { name, data: "x" } : { ...entry, data: "x" }]))).toContain(why);
  });

  test.each([
    [["a.md", "A.md"], "the same name on some disks"],
    [["caf\u00e9.md", "cafe\u0301.md"], "the same name on some disks"],
    [["dir/a.md", "DIR/b.md"], "the same name on some disks"],
    [["a.md", "a.md"], "is in it twice"],
    [["a", "a/b.md"], "is in it twice"],
    [["a/b.md", "a"], "is in it twice"],
    [["SKILL.md", "skill.md"], "the same name on some disks"],
  ])("%j are not both kept", async (names, why) => {
    expect(await problemOf(make(names.map((name) => ({ name, data: name }))))).toContain(why);
  });

  test("links and devices are refused, wherever they lead", async () => {
    expect(await problemOf(make([SKILL, { name: "l", data: "/etc/passwd", mode: LINK_MODE }]))).toContain(
      "l is a link",
    );
    expect(await problemOf(make([SKILL, { name: "d", mode: DEVICE_MODE }]))).toContain(
      "d is neither a file nor a folder",
    );
  });

  test("too many files, and too many bytes", async () => {
    const many = Array.from({ length: 10_000 }, (_, index) => ({ name: `f${index}` }));
    expect(await problemOf(make([SKILL, ...many]))).toContain("more than 2,000 files");
    const most = Array.from({ length: MAX_SKILL_FILES }, (_, index) => ({ name: `f${index}` }));
    expect((await collect(make(most))).files).toHaveLength(MAX_SKILL_FILES);
    // Random bytes: what packs too well is refused for that.
    const noise = crypto.getRandomValues(new Uint8Array(65_536));
    const half = Buffer.concat(Array.from({ length: MAX_SKILL_BYTES / 2 / noise.length }, () => noise));
    expect(
      await problemOf(
        make([
          { name: "a", data: half },
          { name: "b", data: half },
          { name: "c", data: "x" },
        ]),
      ),
    ).toContain("larger than 20 MiB");
    expect(await problemOf(make([{ name: "SKILL.md", data: noise.toHex() + half.subarray(0, 2 ** 21) }]))).toContain(
      "SKILL.md is larger than 1 MiB",
    );
  });

  test("a gigabyte that is only claimed is never asked for", async () => {
    expect(await problemOf(make([{ name: "big", data: "tiny", claimed: 1024 ** 3 }]))).toMatch(
      /larger than 20 MiB|burst/,
    );
  });

  test("every place it can be cut at is noticed, and nothing is believed of what is damaged", async () => {
    const whole = make([SKILL, { name: "a.txt", data: "text ".repeat(50) }]);
    for (let length = 0; length < whole.length - 10; length += 7) {
      expect(await problemOf(whole.subarray(0, length))).toContain("cannot be installed");
    }
  });

  test("what makes a kilobyte into gigabytes is stopped on the way", async () => {
    expect(await problemOf(make([{ name: "zeros", data: new Uint8Array(16 * 1024 * 1024) }]))).toContain(
      "packed to burst",
    );
  });
});

describe("zip alone", () => {
  test.each([
    ["encrypted", { flags: 0x801 }, "is encrypted"],
    ["packed in another way", { method: 12 }, "not supported"],
    ["another size than claimed", { claimed: 3 }, "is not what the archive says"],
    ["smaller than claimed", { claimed: 300 }, "is damaged"],
    ["another sum", { crc: 1 }, "is damaged"],
    ["another name in front of the data", { localName: "other" }, "made to deceive"],
  ] as [string, Partial<ZipEntry>, string][])("%s", async (_, odd, why) => {
    expect(await problemOf(makeZip([SKILL, { name: "a.txt", data: "some text", ...odd }]))).toContain(why);
  });

  test("entries that share their bytes", async () => {
    const zip = makeZip([
      { name: "a", data: "x".repeat(50) },
      { name: "a", overlaps: true, data: "x".repeat(50) },
    ]);
    expect(await problemOf(zip)).toContain("made to deceive");
  });

  test("a comment, and the end's mark within it", async () => {
    const zip = makeZip([SKILL], `made by PK\x05\x06${"\0".repeat(30)}`);
    expect((await collect(zip)).files).toHaveLength(1);
    expect(await problemOf(Buffer.concat([zip, Buffer.from("x")]))).toContain("no ZIP file");
  });
});

describe("tar alone", () => {
  test("long names of either kind, and dots in front", async () => {
    const name = `${"long/".repeat(10)}${"n".repeat(120)}.md`;
    const archive = makeTarball([
      { ...SKILL, name: "./SKILL.md" },
      { name: "short", data: "pax", pax: { path: `a-${name}` } },
      { name: "././@LongLink", type: "L", data: `b-${name}\0` },
      { name: "short", data: "gnu" },
      { name: "global", type: "g", data: "20 comment=whatever\n" },
    ]);
    expect(shown(await collect(archive)).files).toEqual([
      ["SKILL.md", SKILL.data, false],
      [`a-${name}`, "pax", false],
      [`b-${name}`, "gnu", false],
    ]);
  });

  test.each(["1", "3", "4", "6", "S", "V"])("type %s", async (type) => {
    expect(await problemOf(makeTarball([SKILL, { name: "odd", type, linkName: "SKILL.md" }]))).toMatch(
      /odd is (a link|neither)/,
    );
  });

  test("only what lies in the wanted folder has to be harmless", async () => {
    const noise = crypto.getRandomValues(new Uint8Array(65_536));
    const archive = makeTarball([
      { name: "repo-1/../../evil", data: "x" },
      { name: "repo-1/link", mode: LINK_MODE, linkName: "/etc" },
      ...Array.from({ length: 400 }, (_, index) => ({ name: `repo-1/big${index}`, data: noise })),
      { ...SKILL, name: "repo-1/skills/kit/SKILL.md" },
    ]);
    const inKit = (path: string) => (path.startsWith("repo-1/skills/kit/") ? path.slice(18) : null);
    const collected = await collectFiles(readTarball([archive]), inKit);
    expect(collected.problem).toBeNull();
    expect(collected.skills).toEqual(["."]);
  });

  test("a wrong sum, and something that is not gzip", async () => {
    const tar = makeTar([SKILL]);
    tar[3]! ^= 1;
    expect(await problemOf(gzipSync(tar))).toContain("no tar archive");
    expect(await problemOf(Buffer.from("<!doctype html>"))).toContain("neither a ZIP file nor a .tar.gz");
    expect(await problemOf(gzipSync("hello"))).toContain("cut off");
  });

  test("chunks of any size give the same", async () => {
    const archive = makeTarball([SKILL, { name: "a.txt", data: "abc".repeat(1_000) }]);
    const bytes = Array.from(archive, (byte) => Uint8Array.of(byte));
    expect(shown(await collectFiles(readTarball(bytes)))).toEqual(shown(await collect(archive)));
  });
});
