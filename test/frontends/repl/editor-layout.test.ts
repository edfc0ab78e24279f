import { expect, test } from "bun:test";
import { layout } from "@/frontends/repl/editor-layout.ts";

test.each([
  ["", 0, [""], [0, 0]],
  ["abc", 3, ["abc"], [0, 3]],
  ["abcdefghij", 10, ["abcdefghij", ""], [1, 0]],
  ["abcdefghijk", 11, ["abcdefghij", "k"], [1, 1]],
  ["abcdefghijk", 10, ["abcdefghij", "k"], [1, 0]],
  ["a\nb", 1, ["a", "b"], [0, 1]],
  ["a\n", 2, ["a", ""], [1, 0]],
  ["日本語日本語", 6, ["日本語日本", "語"], [1, 2]],
  ["123456789日", 10, ["123456789", "日"], [1, 2]],
  ["a\x1b[b", 4, ["a^[[b"], [0, 5]],
  ["a\tb", 3, ["a    b"], [0, 6]],
  ["👩‍👩‍👧x", 8, ["👩‍👩‍👧x"], [0, 2]],
] as const)("%j at %d", (text, cursor, rows, place) => {
  const result = layout(text, cursor, 10);
  expect({ rows: result.rows.map((row) => row.shown), place: [result.cursorRow, result.cursorColumn] }).toEqual({
    rows: [...rows],
    place: [...place],
  });
});
