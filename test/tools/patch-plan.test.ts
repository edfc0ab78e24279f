import { describe, expect, test } from "bun:test";
import { parsePatch } from "@/tools/patch-parse.ts";
import { planUpdate } from "@/tools/patch-plan.ts";

/** Hunks as text, applied to a file as text. */
function plan(before: string, ...hunks: string[]): string {
  const [operation] = parsePatch(`*** Begin Patch\n*** Update File: f\n${hunks.join("\n")}\n*** End Patch`);
  if (operation?.kind !== "update") throw new Error("not an update");
  return Buffer.from(planUpdate("f", Buffer.from(before), operation.hunks)).toString();
}

describe("planUpdate", () => {
  test.each([
    ["replaces", "a\nb\nc\n", "@@\n a\n-b\n+B\n c", "a\nB\nc\n"],
    ["removes", "a\nb\nc\n", "-b", "a\nc\n"],
    ["removes everything", "a\nb\n", "-a\n-b", ""],
    ["inserts between", "a\nc\n", " a\n+b\n c", "a\nb\nc\n"],
    ["appends what has no old lines", "a\n", "@@\n+b\n+c", "a\nb\nc\n"],
    ["fills an empty file", "", "+a", "a\n"],
    ["takes the first of several exact places", "x\na\nx\na\n", " x\n-a\n+b", "x\nb\nx\na\n"],
    ["goes below a header", "f\nx\ng\nx\n", "@@ g\n-x\n+y", "f\nx\ng\ny\n"],
    [
      "stacked headers narrow",
      "A\n m\n  x\nB\n m\n  x\nC\n m\n  x\n",
      "@@ B\n@@ m\n-  x\n+  y",
      "A\n m\n  x\nB\n m\n  y\nC\n m\n  x\n",
    ],
    ["the end of the file", "x\ny\nx\n", "-x\n+z\n*** End of File", "x\ny\nz\n"],
    ["several hunks, top to bottom", "a\nb\nc\nd\n", "@@\n-a\n+A\n@@\n-d\n+D", "A\nb\nc\nD\n"],
    ["white space at line ends", "a  \nb\n", " a\n-b\n+c", "a  \nc\n"],
    ["indentation, kept as in the file", "    a\n    b\n", "  a\n-  b\n+    c", "    a\n    c\n"],
    ["typographic characters, kept as in the file", "it’s — x\nb\n", " it's - x\n-b\n+c", "it’s — x\nc\n"],
    ["an empty line the file does not have", "a\nb\n", "-b\n+c\n ", "a\nc\n"],
    ["CRLF", "a\r\nb\r\nc\r\n", " a\n-b\n+B\n+BB", "a\r\nB\r\nBB\r\nc\r\n"],
    ["mixed line ends stay per line", "a\r\nb\nc\r\nd\r\n", " b\n-c\n+C", "a\r\nb\nC\r\nd\r\n"],
    ["a byte order mark", "\ufeffa\nb\n", "-a\n+A", "\ufeffA\nb\n"],
    ["no final newline, elsewhere", "a\nb", "-a\n+A", "A\nb"],
    ["no final newline, the last line changed", "a\nb", "-b\n+B", "a\nB\n"],
    ["no final newline, appended", "a", "+b", "a\nb\n"],
    ["no final newline, kept as context", "a\nb", "+x\n b", "a\nx\nb"],
    ["a hunk that changes nothing", "a\r\nb", " a", "a\r\nb"],
    ["dollar signs", "x\n", "-x\n+$& $1 $$", "$& $1 $$\n"],
  ])("%s", (_, before, hunks, after) => expect(plan(before, hunks)).toBe(after));

  test.each([
    ["lines that are not there", "a\n", "-b", "Nothing was changed: f does not have these lines.\nb"],
    ["one of several hunks", "a\n", "-a\n@@\n-b", "Nothing was changed: f (hunk 2 of 2) does not have these lines.\nb"],
    [
      "hunks out of order",
      "a\nb\n",
      "-b\n@@\n-a",
      "Nothing was changed: f (hunk 2 of 2) does not have these lines. They are further up: hunks go from top to bottom.\na",
    ],
    ["a header that is not there", "a\n", "@@ g\n-a", "Nothing was changed: f has no line like this:\ng"],
    [
      "a header further up",
      "g\na\n",
      "-a\n@@ g\n+x",
      "Nothing was changed: f (hunk 2 of 2) has no line like this after the change before it (hunks go from top to bottom):\ng",
    ],
    [
      "lines that are not at the end",
      "a\nb\n",
      "-a\n*** End of File",
      "Nothing was changed: f does not have these lines at its end.\na",
    ],
    [
      "an inexact quote of two places",
      "  a\nb\n\ta\n",
      "- a",
      "Nothing was changed: these lines occur 2 times in f when spaces are ignored, at lines 1, 3. Add context, or quote them exactly:\n a",
    ],
    ["binary data", "\0", "-a", "This is a binary file: f. Look at it with Bash (file, strings, xxd)."],
  ])("refuses %s", (_, before, hunks, message) => expect(() => plan(before, hunks)).toThrow(message));

  test("bytes outside the hunks stay what they were", () => {
    let seed = 11;
    const random = (below: number): number => {
      seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648;
      return (seed >> 8) % below;
    };
    for (let round = 0; round < 400; round++) {
      const count = 3 + random(30);
      // Unique lines, so that a place has one meaning.
      const lines = Array.from({ length: count }, (_, index) => ({
        text: `${" ".repeat(random(3))}line ${index}${" ".repeat(random(2))}`,
        end: random(2) ? "\n" : "\r\n",
      }));
      if (random(2)) lines.at(-1)!.end = "";
      const bom = random(2) ? "\ufeff" : "";
      const at = random(count - 1);
      const context = at > 0 ? ` ${lines[at - 1]!.text}\n` : "";
      const raw = lines.map(({ text, end }) => text + end);
      const after = plan(bom + raw.join(""), `${context}-${lines[at]!.text}\n+changed`);
      const head = bom + raw.slice(0, at).join("");
      const tail = raw.slice(at + 1).join("");
      expect(after.startsWith(head)).toBe(true);
      expect(after.endsWith(tail)).toBe(true);
      expect(after.slice(head.length, after.length - tail.length)).toMatch(/^changed\r?\n$/);
    }
  });

  test("a file of equal lines takes no longer than its length", () => {
    const lines = 60_000;
    const old = `-${"x\n-".repeat(lines / 2)}y`;
    expect(() => plan("x\n".repeat(lines), old)).toThrow(/does not have these lines/);
  });
});
