import { expect, test } from "bun:test";
import { renderFields, renderTable } from "@/lib/table.ts";

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

test("cells cannot move the cursor or break the line", () => {
  expect(renderTable([{ title: "A" }, { title: "B" }], [["\x1b[2Jx\ny", "z"]])).toBe("A    B\nx y  z\n");
});

test("fields leave out what is empty", () => {
  expect(
    renderFields([
      ["id", "agent-1"],
      ["description", null],
      ["model", "a/b"],
    ]),
  ).toBe("id     agent-1\nmodel  a/b\n");
});
