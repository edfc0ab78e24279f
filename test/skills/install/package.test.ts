import { describe, expect, test } from "bun:test";
import { createPackage } from "@/skills/install/package.ts";
import { digestFiles, type SkillFile } from "@/skills/install/skill-files.ts";

const file = (path: string, content: string | Uint8Array, executable = false): SkillFile => ({
  path,
  content: Buffer.from(content as Uint8Array),
  executable,
});
const skill = (head: string, body = "Do it.\n") => file("SKILL.md", `---\n${head}\n---\n\n${body}`);
const origin = { source: "./kit", resolvedRef: null };
const create = (files: SkillFile[], folder: string | null = "kit") => createPackage({ files, folder }, origin);

test.each([
  ["name: other\ndescription: x", "kit", "other"],
  ["name: My_Skill.2\ndescription: x", "kit", "My_Skill.2"],
  ["description: x", "kit", "kit"],
  ["name: PDF Tools\ndescription: x", "kit", "kit"],
  ["name: 2048\ndescription: x", "kit", "2048"],
  ["name: alone\ndescription: x", null, "alone"],
])("%j in %p is called %s", (head, folder, name) => {
  expect(create([skill(head)], folder).name).toBe(name);
});

test.each([
  ["name: ../../x", "kit"],
  ["name: ..", "kit"],
  ["name: a/b", "kit"],
  ["name: 'a\\b'", "kit"],
  ["name: .hidden", "kit"],
  ["name: con", "kit"],
  ["name: trailing.", "kit"],
  ["name: .git", "kit"],
  [`name: ${"x".repeat(65)}`, "kit"],
  ['name: "a\\0b"', "kit"],
  ['name: "a\\u202eb"', "kit"],
  ["name: PDF Tools", null],
  ["description: x", "../x"],
])("%j in %p has no name that could be used", (head, folder) => {
  expect(() => create([skill(`${head}\ndescription: x`)], folder)).toThrow(
    expect.objectContaining({ code: "invalid_data", message: expect.stringContaining("cannot be a skill's name") }),
  );
});

test.each([
  [file("SKILL.md", "<!doctype html>"), null, "no head"],
  [file("SKILL.md", "---\nname: x\n"), "x", "no closing ---"],
  [file("SKILL.md", Buffer.from("---\nname: x\n---\nä", "latin1")), "x", "no UTF-8"],
  [file("SKILL.md", "---\nname: x\n---\n\0"), "x", "no UTF-8"],
])("a text that is none", (text, folder, why) => {
  expect(() => create([text], folder)).toThrow(expect.objectContaining({ message: expect.stringContaining(why) }));
});

test("a skill as other programs write them loads as it is", () => {
  const text =
    "\ufeff---\r\nname: kit\r\ndescription: >\r\n  Folds over\r\n  two lines.\r\nlicense: MIT\r\nallowed-tools: Bash(git log:*) Read\r\nmetadata:\r\n  version: '1'\r\n---\r\n\r\nDo it.\r\n";
  const { fields, files, problems } = create([file("SKILL.md", text)]);
  expect(fields).toMatchObject({
    description: "Folds over two lines.",
    license: "MIT",
    allowedTools: ["Bash(git log:*)", "Read"],
    metadata: { version: "1" },
  });
  expect(problems).toEqual([]);
  expect(Buffer.from(files[0]!.content).toString()).toBe(text);
});

describe("what only a person should say yes to", () => {
  const text = skill("name: kit\ndescription: x");
  const risksOf = (...files: SkillFile[]) => create([text, ...files]).risks;

  test.each([
    file("run.sh", "echo"),
    file("deep/er/tool.PY", "print()"),
    file("tool", "#!/usr/bin/env node\n"),
    file("tool", "echo", true),
    file("scripts/tool", "echo"),
    file("tool.bin", Uint8Array.of(0x7f, 0x45, 0x4c, 0x46, 2)),
    file("a.txt", Uint8Array.of(0x4d, 0x5a, 0x90)),
  ])("$path can be run", (script) => {
    expect(risksOf(script)).toEqual({ scripts: [script.path], hidden: [] });
  });

  test.each([
    ["tags", "go \u{e0069}\u{e0067}\u{e006e}"],
    ["reordering", "go \u202egnp.exe"],
    ["terminal commands", "go \x1b[2K"],
  ])("%s are seen", (_, body) => {
    expect(risksOf(file("references/a.md", body)).hidden).toEqual(["references/a.md"]);
  });

  test("texts, pictures, flags and families are harmless", () => {
    const scotland = "\u{1f3f4}\u{e0067}\u{e0062}\u{e0073}\u{e0063}\u{e0074}\u{e007f}";
    const files = [
      file("scripts/README.md", "x"),
      file("assets/logo.png", Uint8Array.of(0x89, 0x50, 0, 0x1b, 0x5b)),
      file("a.md", `\ufeff${scotland} 👨‍👩‍👧 שלום`),
    ];
    expect(risksOf(...files)).toEqual({ scripts: [], hidden: [] });
  });
});

test("the digest is of names and contents, in any order, without our own note", () => {
  const [a, b] = [file("a", "1"), file("b", "2")];
  expect(digestFiles([a, b])).toBe(digestFiles([b, a, file(".letta-skill.json", "{}")]));
  expect(digestFiles([a, b])).not.toBe(digestFiles([file("a", "2"), file("b", "1")]));
  expect(digestFiles([a])).not.toBe(digestFiles([a, b]));
});
