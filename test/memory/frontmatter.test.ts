import { describe, expect, test } from "bun:test";
import {
  descriptionOf,
  fieldValue,
  formatMarkdown,
  isReadOnly,
  parseMarkdown,
  setBody,
  setField,
} from "@/memory/frontmatter.ts";

const HEAD = "---\n# kept\ndescription: old\n\ntags:\n- a\n- b\nlimit: 5 # why\n---\n";

describe("reading", () => {
  test.each([
    ["---\ndescription: plain words\n---\n", "plain words"],
    ["---\ndescription: Note: with a colon\n---\n", "Note: with a colon"],
    ['---\ndescription: "quoted: \\"x\\""\n---\n', 'quoted: "x"'],
    ["---\ndescription: >\n  over\n  lines\n---\n", "over lines"],
    ["---\ndescription: |\n  over\n\n  lines\nlimit: 1\n---\n", "over lines"],
    ["---\r\ndescription: crlf\r\n---\r\nbody\r\n", "crlf"],
    ["\ufeff---\ndescription: marked\n---\n", "marked"],
    ["---\ndescription: 'unclosed\n---\n", "'unclosed"],
    ["---\ndescription: 2024\n---\n", "2024"],
    ["---\ndescription:\n---\n", null],
    ["---\ndescription: ~\n---\n", null],
    ["---\n---\n", null],
    ["description: not in a head\n", null],
    ["---\ndescription: never closed\n", null],
  ])("%j says %j", (text, description) => expect(descriptionOf(parseMarkdown(text))).toBe(description));

  test("body, lines and stray lines", () => {
    const file = parseMarkdown("---\ndescription: x\nwhat is this\nread_only: true\n---\nbody\n---\nmore");
    expect({ ...file, fields: file.fields.map(({ key, line, value }) => [key, line, value]) }).toEqual({
      head: "closed",
      fields: [
        ["description", 2, "x"],
        ["read_only", 4, true],
      ],
      strayLines: [3],
      body: "body\n---\nmore",
      bodyStart: 52,
      newline: "\n",
    });
  });

  test("a list in the first column belongs to its key", () => {
    expect(fieldValue(parseMarkdown(HEAD), "tags")).toEqual(["a", "b"]);
  });

  test.each([
    ["metadata:\n  version: '1'\n", { version: "1" }],
    ["metadata: # kept\r\n  version: one\r\n", { version: "one" }],
    ["metadata:\n  words below\n", "words below"],
    ["metadata:\n  a: b\n  c: d\n", { a: "b", c: "d" }],
  ])("%j: what stands below its key", (lines, value) => {
    expect(fieldValue(parseMarkdown(`---\n${lines}---\n`), "metadata")).toEqual(value);
  });

  test.each([
    ["read_only: true", true],
    ["read_only: 'true'", true],
    ["read_only: True", true],
    ["read_only: false", false],
    ["read_only: true\nread_only: false", true],
    ["x: true", false],
  ])("%j: read-only is %p", (line, expected) => {
    expect(isReadOnly(parseMarkdown(`---\ndescription: x\n${line}\n---\n`))).toBe(expected);
  });

  test("a head without end costs no more than its length", () => {
    const text = `---\n${"a: b\n".repeat(100_000)}`;
    expect(parseMarkdown(text).head).toBe("unclosed");
  });
});

describe("changing one key leaves the rest", () => {
  test.each([
    [HEAD, "description", "new: text", HEAD.replace("old", '"new: text"')],
    [HEAD, "limit", null, HEAD.replace("limit: 5 # why\n", "")],
    [HEAD, "tags", "c", HEAD.replace("tags:\n- a\n- b\n", "tags: c\n")],
    [HEAD, "updated", "2026-01-01", HEAD.replace("# why\n---", '# why\nupdated: "2026-01-01"\n---')],
    ["---\r\na: 1\r\n---\r\nx\r\n", "description", "d", "---\r\na: 1\r\ndescription: d\r\n---\r\nx\r\n"],
    ["\ufeff---\na: 1\n---\nx", "a", true, "\ufeff---\na: true\n---\nx"],
    [
      "---\ndescription: >\n  long\n\n  text\nz: 1\n---\nbody",
      "description",
      "d",
      "---\ndescription: d\nz: 1\n---\nbody",
    ],
    ["---\n---", "description", "d", "---\ndescription: d\n---"],
    ["a: 1\na: 2", "a", null, "a: 1\na: 2"],
    ["---\na: 1\nb: 2\na: 3\n---\n", "a", "x", "---\nb: 2\na: x\n---\n"],
    ["no head", "description", "d", "---\ndescription: d\n---\n\nno head"],
    ["", "description", "d", "---\ndescription: d\n---\n"],
  ] as const)("%j: %s = %j", (text, key, value, expected) => expect(setField(text, key, value)).toBe(expected));

  test.each([
    "plain",
    "yes",
    "true",
    "null",
    "12",
    "1e3",
    "- x",
    "a: b",
    "a #b",
    "#x",
    " edges ",
    '"q"',
    "'q",
    "@x",
    "`x`",
    "%x",
    "{a}",
    "[a]",
    "back\\slash",
    "日本: 語",
    "x\ty",
    "",
  ])("%j comes back as itself", (value) => {
    const text = setField("---\nother: 1\n---\nbody", "description", value);
    expect(fieldValue(parseMarkdown(text), "description")).toBe(value);
  });

  test("a body", () => {
    expect(setBody(`${HEAD}old`, "new")).toBe(`${HEAD}new`);
    expect(setBody("\ufeffold", "new")).toBe("\ufeffnew");
  });
});

test("a new file", () => {
  expect(formatMarkdown({ description: "What: it is", limit: 3, read_only: true }, "text")).toBe(
    '---\ndescription: "What: it is"\nlimit: 3\nread_only: true\n---\ntext\n',
  );
});
