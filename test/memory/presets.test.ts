import { describe, expect, test } from "bun:test";
import { blockFiles, fileBlocks } from "@/memory/blocks.ts";
import { DEFAULT_FILES } from "@/memory/default-files.ts";
import { PERSONALITIES } from "@/memory/personalities.ts";
import { detectPersonality, findPersonality } from "@/memory/presets.ts";
import { validateChanges } from "@/memory/validate.ts";

test.each([...PERSONALITIES.map(({ id }) => id), "default"])(
  "%s begins with files that may be committed",
  async (id) => {
    const files = id === "default" ? DEFAULT_FILES : findPersonality(id)!.files;
    expect(Object.keys(files).slice(0, 2)).toEqual(["system/persona.md", "system/human.md"]);
    const changes = Object.entries(files).map(([path, text]) => ({ path, content: Buffer.from(text) }));
    expect(await validateChanges({ changes, paths: [], read: () => null })).toEqual([]);
  },
);

test.each([
  [" Memo ", "memo"],
  ["letta-code", "memo"],
  ["LettaCode", "memo"],
  ["linus", "linus"],
  ["claude", undefined],
])("%j is %p", (name, id) => expect(findPersonality(name)?.id).toBe(id as never));

test("a personality is recognised by its persona's text, however it is saved", () => {
  const persona = findPersonality("linus")!.files["system/persona.md"]!;
  expect(detectPersonality(persona)?.id).toBe("linus");
  expect(detectPersonality(persona.replaceAll("\n", "\r\n").replace(/description: .*/, "description: other"))?.id).toBe(
    "linus",
  );
  expect(detectPersonality(`${persona}and more`)).toBeUndefined();
});

describe("blocks are files", () => {
  test.each([
    [
      { label: "persona", value: "I am", description: "who:\nme" },
      "system/persona.md",
      '---\ndescription: "who: me"\n---\nI am\n',
    ],
    [{ label: "system/human", value: "" }, "system/human.md", "---\ndescription: Memory block human\n---\n"],
    [{ label: "a/../b\\c", value: "x\n" }, "system/a/b/c.md", "---\ndescription: Memory block a/b/c\n---\nx\n"],
    [
      { label: "x", value: "v", read_only: true },
      "system/x.md",
      "---\ndescription: Memory block x\nread_only: true\n---\nv\n",
    ],
  ])("%j", (block, path, text) => expect(blockFiles([block])).toEqual({ [path]: text }));

  test("a label that names nothing makes no file", () =>
    expect(blockFiles([{ label: "../.git", value: "x" }])).toEqual({}));
  test("nothing said is the default", () => expect(blockFiles(undefined)).toEqual(DEFAULT_FILES));
  test("there and back", () => {
    const files = findPersonality("tutorial")!.files;
    const blocks = fileBlocks(files);
    expect(blocks.map(({ label }) => label)).toEqual(["persona", "human", "onboarding"]);
    expect(fileBlocks(blockFiles(blocks))).toEqual(blocks);
  });
});
