import { expect, test } from "bun:test";
import { MarkdownStream } from "@/frontends/repl/markdown.ts";

const SAMPLE = `# Title

Some **bold** text with \`code\`, long enough that it has to be wrapped at sixty cells.
- one
- two
  - nested

- apart

1. first

   more of it
2. second

\`\`\`ts
const x = "a"; // b

function f() {}
\`\`\`
| a | b |
|---|---|
| 1 | 2 |

> quoted

End`;

function render(pieces: string[], colors = false): { committed: string[]; tails: string[][] } {
  const stream = new MarkdownStream({ columns: () => 60, colors });
  const committed: string[] = [];
  const tails: string[][] = [];
  for (const piece of pieces) {
    committed.push(...stream.push(piece));
    tails.push(stream.tail());
  }
  return { committed: [...committed, ...stream.finish()], tails };
}

test("blocks in plain text", () => {
  expect(render([SAMPLE]).committed.join("\n")).toMatchInlineSnapshot(`
"Title
=====

Some bold text with code, long enough that it has to be
wrapped at sixty cells.

  * one
  * two
      * nested

  * apart

   1. first

     more of it
   2. second

  const x = "a"; // b

  function f() {}

+-----+-----+
| a   | b   |
+-----+-----+
| 1   | 2   |
+-----+-----+

| quoted

End"
`);
});

test.each([true, false])("the result does not depend on how the text arrives (colours %p)", (colors) => {
  const whole = render([SAMPLE], colors).committed;
  expect(render([...SAMPLE], colors).committed).toEqual(whole);
  for (const size of [2, 3, 7, 50]) {
    const pieces = SAMPLE.match(new RegExp(`[\\s\\S]{1,${size}}`, "g")) ?? [];
    expect(render(pieces, colors).committed).toEqual(whole);
  }
});

test("the first words are in the tail at once, finished blocks are not", () => {
  const stream = new MarkdownStream({ columns: () => 60, colors: false });
  expect(stream.push("Hel")).toEqual([]);
  expect(stream.tail()).toEqual(["Hel"]);
  expect(stream.push("lo\n\nNext")).toEqual(["Hello"]);
  expect(stream.tail()).toEqual(["", "Next"]);
});

test("code lines are final at their newline", () => {
  const stream = new MarkdownStream({ columns: () => 60, colors: false });
  expect(stream.push("```sh\nls -l\nec")).toEqual(["  ls -l"]);
  expect(stream.tail()).toEqual(["  ec"]);
});

test("code is only what it was", () => {
  const code = 'a = "│ x"  # ``` ok';
  const lines = render(["````py\n", `${code}\n`, "````\n"], true).committed;
  expect(Bun.stripANSI(lines.join("\n"))).toBe(`  ${code}`);
});

test("escape sequences of a model are not obeyed, also when they are cut", () => {
  const hostile = "a\x1b]52;c;aGk=\x07b \x1b[2J**c**\n\n```\n\x1b[31mx\x1b[0m\n```\n| \x1b[5m |\n|--|\n| x |\n";
  for (const pieces of [[hostile], [...hostile]]) {
    const { committed, tails } = render(pieces, false);
    expect([...committed, ...tails.flat()].join("\n")).not.toContain("\x1b");
    expect(committed[0]).toBe("ab c");
  }
});

test("a line without end is printed in pieces", () => {
  const { committed, tails } = render(Array.from({ length: 400 }, () => "word ".repeat(20)));
  expect(Math.max(...tails.map((tail) => tail.join("").length))).toBeLessThan(20_000);
  expect(committed.join(" ").match(/word/g)?.length).toBe(8000);
});

test.each([
  ["see https://example.com/a.", "see https://example.com/a."],
  ["ask ann@example.com or www.example.com", "ask ann@example.com or www.example.com"],
  ["a [link](https://example.com) and `http://x`", "a link (https://example.com) and http://x"],
])("an address is shown once: %s", (source, shown) => {
  expect(render([source]).committed).toEqual([shown]);
});

test("addresses keep the columns of a table aligned", () => {
  const widths = render(["| a | b |\n|---|---|\n| https://a.b | c@d.e |\n| 1 | 2 |\n"]).committed.map(
    (line) => line.length,
  );
  expect(new Set(widths).size).toBe(1);
});
