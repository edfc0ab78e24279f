import { describe, expect, test } from "bun:test";
import { ToolError } from "@/lib/errors.ts";
import { parsePatch } from "@/tools/patch-parse.ts";

const patch = (...lines: string[]): string => ["*** Begin Patch", ...lines, "*** End Patch"].join("\n");
const keep = (text: string) => ({ kind: "keep", text });
const remove = (text: string) => ({ kind: "remove", text });
const add = (text: string) => ({ kind: "add", text });
const update = (lines: object[], more: { headers?: string[]; atEnd?: boolean } = {}) => [
  { kind: "update", path: "f", moveTo: null, hunks: [{ headers: [], atEnd: false, ...more, lines }] },
];

describe("parsePatch reads", () => {
  test.each([
    [
      "a new file",
      patch("*** Add File: a b/c.txt", "+one", "+", "++two"),
      [{ kind: "add", path: "a b/c.txt", lines: ["one", "", "+two"] }],
    ],
    ["an empty new file", patch("*** Add File: a"), [{ kind: "add", path: "a", lines: [] }]],
    ["a deletion", patch("*** Delete File: a "), [{ kind: "delete", path: "a" }]],
    [
      "several operations and the blank lines between them",
      patch("*** Delete File: a", "", "*** Add File: b", "+x", ""),
      [
        { kind: "delete", path: "a" },
        { kind: "add", path: "b", lines: ["x"] },
      ],
    ],
    [
      "a hunk without header",
      patch("*** Update File: f", " a", "-b", "+c"),
      update([keep("a"), remove("b"), add("c")]),
    ],
    ["a bare header", patch("*** Update File: f", "@@", "-b"), update([remove("b")])],
    [
      "stacked headers",
      patch("*** Update File: f", "@@ class A", "@@   def b():", "-x"),
      update([remove("x")], { headers: ["class A", "  def b():"] }),
    ],
    [
      "the end of the file",
      patch("*** Update File: f", "@@", "-x", "*** End of File"),
      update([remove("x")], { atEnd: true }),
    ],
    [
      "bare empty lines inside a hunk",
      patch("*** Update File: f", "", " a", "", "-b"),
      update([keep(""), keep("a"), keep(""), remove("b")]),
    ],
    ["blank lines around hunks", patch("*** Update File: f", "", "@@", "-b", "", ""), update([remove("b")])],
    [
      "an empty line before the end of the file",
      patch("*** Update File: f", "-b", "", "*** End of File"),
      update([remove("b"), keep("")], { atEnd: true }),
    ],
    [
      "lines that look like operations",
      patch("*** Update File: f", " *** Delete File: x", "+*** End Patch"),
      update([keep("*** Delete File: x"), add("*** End Patch")]),
    ],
    ["CRLF", patch("*** Update File: f", " a", "-b").replaceAll("\n", "\r\n"), update([keep("a"), remove("b")])],
    ["white space around it", `\n  ${patch("*** Delete File: a")}\n\n`, [{ kind: "delete", path: "a" }]],
    ["a here-document", `<<'EOF'\n${patch("*** Delete File: a")}\nEOF`, [{ kind: "delete", path: "a" }]],
    [
      "a here-document of the command",
      `apply_patch <<EOF\n${patch("*** Delete File: a")}\nEOF\n`,
      [{ kind: "delete", path: "a" }],
    ],
    [
      "a move",
      patch("*** Update File: f", "*** Move to: d/g", "@@", " a"),
      [{ kind: "update", path: "f", moveTo: "d/g", hunks: [{ headers: [], atEnd: false, lines: [keep("a")] }] }],
    ],
    [
      "two hunks",
      patch("*** Update File: f", "@@ x", "-a", "@@ y", "+b"),
      [
        {
          kind: "update",
          path: "f",
          moveTo: null,
          hunks: [
            { headers: ["x"], atEnd: false, lines: [remove("a")] },
            { headers: ["y"], atEnd: false, lines: [add("b")] },
          ],
        },
      ],
    ],
  ] as const)("%s", (_, text, operations) => expect(parsePatch(text)).toEqual(operations as never));
});

describe("parsePatch refuses", () => {
  test.each([
    ["nothing", "", 'The first line of a patch must be "*** Begin Patch".'],
    ["another first line", "--- a\n+++ b", 'The first line of a patch must be "*** Begin Patch".'],
    ["no last line", "*** Begin Patch\n*** Delete File: a", 'The last line of a patch must be "*** End Patch".'],
    ["one line", "*** Begin Patch", 'The last line of a patch must be "*** End Patch".'],
    ["no operation", patch(""), "The patch is empty: it names no file."],
    [
      "an unknown operation",
      patch("*** Rename File: a"),
      "Line 2 of the patch: expected *** Add File:, *** Delete File:, *** Update File: or *** End Patch.\n*** Rename File: a",
    ],
    ["an empty path", patch("*** Add File:  ", "+x"), "Line 2 of the patch: the path is missing.\n*** Add File:  "],
    [
      "an empty target",
      patch("*** Update File: a", "*** Move to: ", "-x"),
      "Line 3 of the patch: the path is missing.\n*** Move to: ",
    ],
    [
      "a lost move",
      patch("*** Update File: a", "-x", "*** Move to: b"),
      'Line 4 of the patch: "*** Move to:" must follow "*** Update File:" directly.\n*** Move to: b',
    ],
    [
      "a NUL in a path",
      patch("*** Delete File: a\0b"),
      "Line 2 of the patch: a path cannot contain a NUL character.\n*** Delete File: a\0b",
    ],
    ["an update without hunk", patch("*** Update File: a", ""), "The update of a has no hunk, so it changes nothing."],
    [
      "a hunk without lines",
      patch("*** Update File: a", "@@ x", "@@ y"),
      "Line 4 of the patch: this hunk has no lines.\n@@ y",
    ],
    [
      "a line without sign",
      patch("*** Update File: a", "@@", "x = 1"),
      'Line 4 of the patch: a line of a hunk must begin with " " (unchanged), "-" (removed) or "+" (added).\nx = 1',
    ],
    [
      "a line without sign in a new file",
      patch("*** Add File: a", "+x", "y"),
      'Line 4 of the patch: every line of a new file must begin with "+".\ny',
    ],
    [
      "lines of a deletion",
      patch("*** Delete File: a", "-x"),
      'Line 3 of the patch: nothing may follow "*** Delete File:".\n-x',
    ],
    [
      "line numbers",
      patch("*** Update File: a", "@@ -1,2 +1,3 @@ f", "-x"),
      'Line 3 of the patch: line numbers are not used; write "@@" and a line of the file above the change.\n@@ -1,2 +1,3 @@ f',
    ],
  ])("%s", (_, text, message) => expect(() => parsePatch(text)).toThrow(new ToolError(message)));
});

test("any text is read or refused, never an accident", () => {
  const pieces = [
    "*** Begin Patch",
    "*** End Patch",
    "*** Add File: a",
    "*** Update File: b",
    "*** Delete File: c",
    "*** Move to: d",
    "@@",
    "@@ x",
    "+a",
    "-b",
    " c",
    "",
    "*** End of File",
    "EOF",
    "<<EOF",
    "\r",
    "\0",
    "\ud800",
  ];
  let seed = 7;
  const random = (below: number): number => {
    seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648;
    return seed % below;
  };
  for (let round = 0; round < 3_000; round++) {
    const lines = Array.from({ length: random(14) }, () => pieces[random(pieces.length)]!);
    const text = round % 2 ? lines.join("\n") : patch(...lines);
    try {
      expect(parsePatch(text).length).toBeGreaterThan(0);
    } catch (error) {
      expect(error).toBeInstanceOf(ToolError);
    }
  }
});
