import { expect, test } from "bun:test";
import { printable, printableLines, renderFields, renderTable, truncate } from "@/lib/table.ts";

test("columns align by display width, not by code units", () => {
  expect(
    renderTable(
      [{ title: "NAME" }, { title: "N", align: "right" }],
      [
        ["助手", "7"],
        ["a", "10"],
      ],
    ),
  ).toBe("NAME   N\n助手   7\na     10\n");
});

test("a narrow terminal cuts the column that may shrink", () => {
  const columns = [{ title: "ID" }, { title: "TITLE", shrink: true }, { title: "AGE" }];
  expect(renderTable(columns, [["conv-1", "a very long title of a conversation", "3 d"]], { width: 30 })).toBe(
    "ID      TITLE              AGE\nconv-1  a very long titl…  3 d\n",
  );
});

test("a pipe is never cut", () => {
  const long = "x".repeat(500);
  expect(renderTable([{ title: "A" }], [[long]])).toBe(`A\n${long}\n`);
});

test.each([
  ["plain", "plain"],
  ["two\nlines\tand tab", "two lines and tab"],
  ["\x1b[2J\x1b]0;owned\x07name", "name"],
  ["\x1b]52;c;ZXZpbA==\x1b\\x", "x"],
  ["\x9b31mred\x7f", "red"],
  ["\x1bPq payload\x1b\\after", "after"],
])("%j prints as %j", (input, output) => expect(printable(input)).toBe(output));

test("several lines keep their line breaks only", () => {
  expect(printableLines("a\r\nb\x1b[1A\tc\x07")).toBe("a\nb\tc");
});

test.each([
  ["short", 10, "short"],
  ["abcdefghij", 5, "abcd…"],
  ["助手助手", 5, "助手…"],
  ["👩‍👩‍👧 family", 4, "👩‍👩‍👧 …"],
] as const)("%s in %p cells", (text, width, cut) => expect(truncate(text, width)).toBe(cut));

test("fields leave out what is empty", () => {
  expect(
    renderFields([
      ["id", "agent-1"],
      ["description", null],
      ["model", "a/b"],
    ]),
  ).toBe("id     agent-1\nmodel  a/b\n");
});
