import { describe, expect, test } from "bun:test";
import { mergeMemoryFile } from "@/memory/merge-markdown.ts";

async function merge(
  base: string | null,
  ours: string,
  theirs: string,
  path = "system/human.md",
): Promise<string | null> {
  const bytes = (text: string): Uint8Array => Buffer.from(text);
  const merged = await mergeMemoryFile({
    path,
    base: base === null ? null : bytes(base),
    ours: bytes(ours),
    theirs: bytes(theirs),
  });
  return merged && Buffer.from(merged).toString();
}

const front = (keys: string, body = "Text.\n"): string => `---\n${keys}\n---\n${body}`;

const profile = front(
  "description: What I know about the person",
  `# Ada

Works on compilers.

## Likes
- tea
- early mornings

## Projects

### Parser
Written in Rust.

### Linker
Not begun.
`,
);
const edit = (...pairs: [string, string][]): string =>
  pairs.reduce((text, [from, to]) => {
    if (!text.includes(from)) throw new Error(`nothing to replace: ${from}`);
    return text.replace(from, to);
  }, profile);

describe("sections", () => {
  test("two rewrites of different sections are joined, frontmatter kept", async () => {
    const ours = edit(["- tea\n- early mornings", "Strong tea, before six in the morning.\n\nNever coffee."]);
    const theirs = edit(
      ["Written in Rust.", "Rewritten in Zig.\nFaster by half."],
      ["# Ada\n", "# Ada\n\nLives in London.\n"],
    );
    expect(await merge(profile, ours, theirs)).toBe(
      front(
        "description: What I know about the person",
        `# Ada

Lives in London.

Works on compilers.

## Likes
Strong tea, before six in the morning.

Never coffee.

## Projects

### Parser
Rewritten in Zig.
Faster by half.

### Linker
Not begun.
`,
      ),
    );
  });

  test.each<[string, string | null, string, string, string | null]>([
    [
      "neighbouring sections whose touching lines both changed",
      "## A\na\n## B\nb\n",
      "## A\nA\n## B\nb\n",
      "## A\na\n## B\nB\n",
      "## A\nA\n## B\nB\n",
    ],
    [
      "a section moved here and changed there",
      "# T\n\n## A\na\n\n## B\nb\n\n## C\nc\n",
      "# T\n\n## C\nc\n\n## A\na\n\n## B\nb\n",
      "# T\n\n## A\na\n\n## B\nb\n\n## C\nc2\n",
      "# T\n\n## C\nc2\n\n## A\na\n\n## B\nb\n",
    ],
    [
      "each side appends a section of its own",
      "# T\nt\n",
      "# T\nt\n\n## A\na\n",
      "# T\nt\n\n## B\nb\n",
      "# T\nt\n\n## A\na\n\n## B\nb\n",
    ],
    [
      "a section appended behind a paragraph the other side rewrote",
      "# T\nold\n",
      "# T\nnew\n",
      "# T\nold\n\n## B\nb\n",
      "# T\nnew\n\n## B\nb\n",
    ],
    [
      "a subsection stays with its parent while a new section comes behind it",
      "## A\n\n### A1\nx\n",
      "## A\n\n### A1\nx\n\n## B\nb\n",
      "## A\n\n### A1\nx\n\n### A2\ny\n",
      "## A\n\n### A1\nx\n\n### A2\ny\n\n## B\nb\n",
    ],
    [
      "both add the same section with different items",
      "# T\n",
      "# T\n\n## Tools\n- rg\n- jq\n",
      "# T\n\n## Tools\n- rg\n- fd\n",
      "# T\n\n## Tools\n- rg\n- jq\n- fd\n",
    ],
    [
      "a section deleted here, untouched there",
      "## A\na\n\n## B\nb\n",
      "## B\nb\n",
      "## A\na\n\n## B\nb2\n",
      "## B\nb2\n",
    ],
    ["a section deleted here, changed there", "## A\na\n\n## B\nb\n", "## B\nb\n", "## A\na2\n\n## B\nb\n", null],
    [
      "a heading renamed here, its section changed there",
      "## Prefs\none\ntwo\nthree\n",
      "## Preferences\none\ntwo\nthree\n",
      "## Prefs\none\ntwo\nTHREE\n",
      "## Preferences\none\ntwo\nTHREE\n",
    ],
    [
      "headings that are there twice are merged by line",
      "## Log\none\n\nx\n\n## Log\ntwo\n",
      "## Log\nONE\n\nx\n\n## Log\ntwo\n",
      "## Log\none\n\nx\n\n## Log\nTWO\n",
      "## Log\nONE\n\nx\n\n## Log\nTWO\n",
    ],
    [
      "a comment in a code block is no heading",
      "## A\n```sh\n# first\nls\n```\nend\n",
      "## A\n```sh\n# first\nls -l\n```\nend\n",
      "## A\n```sh\n# first\nls\n```\nEND\n",
      "## A\n```sh\n# first\nls -l\n```\nEND\n",
    ],
    ["the same words rewritten twice", "## A\nold\n", "## A\nthis\n", "## A\nthat\n", null],
    [
      "two new files with different sections",
      null,
      "## A\na\n",
      "## B\nb\n",
      "## A\na\n\n## B\nb\n".replace("\n\n", "\n"),
    ],
    ["two new files that tell the same differently", null, "## A\nthis\n", "## A\nthat\n", null],
    ["a new file and the same with more", null, "## A\na\n", "## A\na\n\nMore.\n", "## A\na\n\nMore.\n"],
  ])("%s", async (_, base, ours, theirs, merged) => {
    expect(await merge(base, ours, theirs)).toBe(merged);
  });
});

describe("list items and table rows", () => {
  test.each<[string, string, string, string, string | null]>([
    ["both append", "- a\n", "- a\n- b\n", "- a\n- c\n", "- a\n- b\n- c\n"],
    ["both append, and one of them is the same", "- a\n", "- a\n- b\n- c\n", "- a\n- c\n", "- a\n- b\n- c\n"],
    ["neighbouring items changed", "- a\n- b\n- c\n", "- A\n- b\n- c\n", "- a\n- B\n- C\n", "- A\n- B\n- C\n"],
    ["an item changed here, others appended there", "- a\n", "- A\n", "- a\n- b\n", "- A\n- b\n"],
    ["an item deleted here, its neighbour changed there", "- a\n- b\n", "- b\n", "- a\n- B\n", "- B\n"],
    ["both delete, not the same", "- a\n- b\n- c\n", "- c\n", "- a\n", ""],
    ["one item changed in two ways", "- a\n- b\n", "- A\n- b\n", "- Z\n- b\n", null],
    ["an item changed here and deleted there", "- a\n- b\n", "- A\n- b\n", "- b\n", null],
    [
      "items of several lines",
      "- a\n  more\n- b\n",
      "- a\n  more\n  and more\n- b\n",
      "- a\n  more\n- B\n  below\n",
      "- a\n  more\n  and more\n- B\n  below\n",
    ],
    ["loose lists", "- a\n\n- b\n", "- a\n\n- b\n\n- c\n", "- a\n\n- b\n\n- d\n", "- a\n\n- b\n\n- c\n\n- d\n"],
    [
      "nested items belong to theirs",
      "- a\n",
      "- a\n- b\n  - yes\n",
      "- a\n- c\n  - yes\n",
      "- a\n- b\n  - yes\n- c\n  - yes\n",
    ],
    ["numbered lists", "1. a\n", "1. a\n2. b\n", "1. a\n2. c\n", "1. a\n2. b\n2. c\n"],
    [
      "a row changed here, rows appended by both",
      "| k | v |\n|---|---|\n| a | 1 |\n",
      "| k | v |\n|---|---|\n| a | 1 |\n| b | 2 |\n",
      "| k | v |\n|---|---|\n| a | 2 |\n| c | 3 |\n",
      "| k | v |\n|---|---|\n| a | 2 |\n| b | 2 |\n| c | 3 |\n",
    ],
    [
      "appended rows",
      "| k | v |\n|---|---|\n| a | 1 |\n",
      "| k | v |\n|---|---|\n| a | 1 |\n| b | 2 |\n",
      "| k | v |\n|---|---|\n| a | 1 |\n| c | 3 |\n",
      "| k | v |\n|---|---|\n| a | 1 |\n| b | 2 |\n| c | 3 |\n",
    ],
    [
      "the same item put at two places of one list is there once",
      "- a\n- b\n- c\n",
      "- new\n- a\n- b\n- c\n",
      "- a\n- b\n- c\n- new\n",
      "- new\n- a\n- b\n- c\n",
    ],
    [
      "the same item put into two lists is there twice",
      "Likes:\n\n- tea\n\nDislikes:\n\n- rain\n",
      "Likes:\n\n- tea\n- noise\n\nDislikes:\n\n- rain\n",
      "Likes:\n\n- tea\n\nDislikes:\n\n- rain\n- noise\n",
      "Likes:\n\n- tea\n- noise\n\nDislikes:\n\n- rain\n- noise\n",
    ],
    [
      "an item that one side has twice in a list stays there twice",
      "- a\n- b\n\nx\n\n- c\n",
      "- a\n- b\n\nx\n\n- c\n- a\n- a\n",
      "- a\n- b\n- d\n\nx\n\n- c\n",
      "- a\n- b\n- d\n\nx\n\n- c\n- a\n- a\n",
    ],
    [
      "what was nested and no longer is, is no double of anything",
      "- a\n  - sub\n- b\n\nx\n",
      "- a\n  - sub\n  - sub\n- b\n\nx\n",
      "  - sub\n- b\n\nx\n",
      "  - sub\n  - sub\n- b\n\nx\n",
    ],
    ["an item moved by both", "- a\n- b\n- c\n", "- c\n- a\n- b\n", "- a\n- c\n- b\n", "- c\n- a\n- b\n"],
    ["paragraphs both appended", "p\n", "p\n\nThis.\n", "p\n\nThat.\n", null],
    [
      "a paragraph both wrote, at two places",
      "a\n\nb\n\nc\n",
      "Same words.\n\na\n\nb\n\nc\n",
      "a\n\nb\n\nc\n\nSame words.\n",
      null,
    ],
  ])("%s", async (_, base, ours, theirs, merged) => {
    expect(await merge(base, ours, theirs)).toBe(merged);
  });
});

describe("frontmatter", () => {
  test.each<[string, string | null, string, string, string | null]>([
    [
      "different keys",
      front("description: d\nlimit: 1"),
      front("description: D\nlimit: 1"),
      front("description: d\nlimit: 2\nsource: s"),
      front("description: D\nlimit: 2\nsource: s"),
    ],
    ["one key in two ways", front("description: d"), front("description: this"), front("description: that"), null],
    [
      "the same change",
      front("description: d"),
      front("description: D"),
      front("description: D"),
      front("description: D"),
    ],
    ["a key changed and removed", front("a: 1\nb: 1"), front("a: 2\nb: 1"), front("b: 1"), null],
    ["a key removed here", front("a: 1\nb: 1"), front("b: 1"), front("a: 1\nb: 2"), front("b: 2")],
    [
      "the newer time wins",
      front("d: x\nupdated: 2026-01-01"),
      front('d: x\nupdated: "2026-03-01T10:00:00Z"'),
      front("d: x\nupdated: 2026-02-01"),
      front('d: x\nupdated: "2026-03-01T10:00:00Z"'),
    ],
    [
      "a time that is none",
      front("updated: 2026-01-01"),
      front("updated: yesterday"),
      front("updated: 2026-02-01"),
      null,
    ],
    [
      "tags in one line",
      front("tags: [a, b, c]"),
      front("tags: [a, b, c, d]"),
      front("tags: [b, c, e]"),
      front("tags: [b, c, d, e]"),
    ],
    [
      "tags one per line",
      front("tags:\n  - a\n  - b"),
      front("tags:\n  - a\n  - b\n  - c"),
      front("tags:\n- a\n- b\n- d"),
      front("tags:\n  - a\n  - b\n  - c\n  - d"),
    ],
    ["new on both sides", "T\n", front("a: 1", "T\n"), front("b: 2", "T\n"), front("a: 1\nb: 2", "T\n")],
    [
      "values of several lines, comments and quotes stay as written",
      front("a: >-\n  one\n  two\n# about b\nb: 'x: y'"),
      front("a: >-\n  one\n  three\n# about b\nb: 'x: y'"),
      front('a: >-\n  one\n  two\n# about b\nb: "z"\nc: 1'),
      front('a: >-\n  one\n  three\n# about b\nb: "z"\nc: 1'),
    ],
    ["without an end it is text", "---\na: 1\n\nT\n", "---\na: 2\n\nT\n", "---\na: 1\n\nU\n", "---\na: 2\n\nU\n"],
    ["removed here, body changed there", front("a: 1", "T\n"), "T\n", front("a: 1", "U\n"), "U\n"],
  ])("%s", async (_, base, ours, theirs, merged) => {
    expect(await merge(base, ours, theirs)).toBe(merged);
  });
});

describe("bytes", () => {
  test.each<[what: string, base: string | null, ours: string, theirs: string, merged: string | null, path?: string]>([
    ["CRLF stays", "a\r\nb\r\nc\r\n", "A\r\nb\r\nc\r\n", "a\r\nb\r\nC\r\n", "A\r\nb\r\nC\r\n"],
    ["one side changed the line ends, the other a line", "a\nb\n", "a\r\nb\r\n", "a\nB\n", "a\r\nB\r\n"],
    ["a mark at the beginning that one side removed", "\ufeffa\nb\nc\n", "a\nb\nc\n", "\ufeffa\nb\nC\n", "a\nb\nC\n"],
    ["an item appended behind a line without an end", "- a", "- a\n- b", "- a\n- c\n", "- a\n- b\n- c\n"],
    ["other text by its lines", "a\nb\nc\n", "A\nb\nc\n", "a\nb\nC\n", "A\nb\nC\n", "mods/x.ts"],
    ["other text that touches", "a\nb\n", "A\nb\n", "a\nB\n", null, "mods/x.ts"],
    ["other text that is new twice", null, "a\n", "a\nb\n", null, "mods/x.ts"],
    ["binaries", "\0a", "\0b", "\0c", null, "profile.png"],
    ["an empty file filled by both", "", "- a\n", "- b\n", "- a\n- b\n"],
    ["emptied here, untouched lines there", "a\nb\n", "", "a\nb\n", ""],
  ])("%s", async (...[_, base, ours, theirs, merged, path]) => {
    expect(await merge(base, ours, theirs, path)).toBe(merged);
  });

  test("bytes that are not UTF-8 are not merged", async () => {
    const file = (byte: number): Uint8Array => Uint8Array.of(0xe4, 10, byte, 10);
    expect(await mergeMemoryFile({ path: "a.md", base: file(97), ours: file(98), theirs: file(99) })).toBeNull();
  });
});

test("a text of thousands of equal lines is a conflict, not a long wait", async () => {
  const text = (end: string): string => `${"x\n".repeat(20_000)}${end}`;
  expect(await merge(text("a"), text("b"), text("c"))).toBeNull();
});

describe("any two edits of a document", () => {
  test("no line is lost, none comes back, and swapped sides say the same", async () => {
    const random = seeded(11);
    let clean = 0;
    for (let round = 0; round < 3000; round++) {
      const base = randomDocument(random);
      const [{ lines: ours, moved }, { lines: theirs, moved: movedToo }] = [
        randomEdit(base, random),
        randomEdit(base, random),
      ];
      const [was, our, their] = [base, ours, theirs].map((lines) => `${lines.join("\n")}\n`) as [
        string,
        string,
        string,
      ];
      const merged = await merge(was, our, their);
      const mirrored = await merge(was, their, our);
      const context = { round, was, our, their, merged };
      expect({ ...context, conflict: mirrored === null }).toEqual({ ...context, conflict: merged === null });
      if (merged === null) continue;
      clean++;
      const lines = merged.split("\n").filter((line) => line.trim() !== "");
      expect({ ...context, lines: [...lines].sort() }).toEqual({
        ...context,
        lines: mirrored!
          .split("\n")
          .filter((line) => line.trim() !== "")
          .sort(),
      });
      for (const line of new Set([...base, ...ours, ...theirs])) {
        if (line === "") continue;
        const [inBase, inOurs, inTheirs] = [base, ours, theirs].map((side) => side.includes(line));
        // What is right for a line that one side moved and the other deleted is anybody's guess.
        if (inBase && inOurs !== inTheirs && (moved || movedToo)) continue;
        const expected = inBase ? inOurs && inTheirs : inOurs || inTheirs;
        expect({ ...context, line, there: lines.includes(line) }).toEqual({
          ...context,
          line,
          there: expected === true,
        });
      }
      expect({ ...context, distinct: new Set(lines).size }).toEqual({ ...context, distinct: lines.length });
    }
    expect(clean).toBeGreaterThan(1000);
    expect(clean).toBeLessThan(2900);
  });

  test("among equal lines, too, each is there as often as both sides' changes make it", async () => {
    const random = seeded(23);
    const lines = ["- a", "- b", "  - sub", "one two", "three four", "## A", "## B", "", "", "```"];
    const pick = (): string => lines[random(lines.length)]!;
    const count = (text: string | string[], line: string): number =>
      (typeof text === "string" ? text.split("\n") : text).filter((other) => other === line).length;
    let clean = 0;
    for (let round = 0; round < 3000; round++) {
      const base = Array.from({ length: 4 + random(12) }, pick);
      const [ours, theirs] = [base, base].map((from) => {
        const side = [...from];
        for (let edits = 1 + random(3); edits > 0; edits--) {
          side.splice(random(side.length), random(2), ...(random(3) > 0 ? [pick()] : []));
        }
        return side;
      }) as [string[], string[]];
      const text = (side: string[]): string => `${side.join("\n")}\n`;
      const merged = await merge(text(base), text(ours), text(theirs));
      if (merged === null) continue;
      clean++;
      for (const line of lines) {
        if (line === "") continue;
        const [b, o, t] = [count(base, line), count(ours, line), count(theirs, line)];
        // Both changes; or, where both sides did the same, one of them.
        const possible = [o + t - b];
        if (o > b && t > b) for (let n = Math.max(o, t); n < o + t - b; n++) possible.push(n);
        if (o < b && t < b) for (let n = Math.min(o, t); n > o + t - b; n--) possible.push(n);
        const context = { base, ours, theirs, merged, line };
        expect({ ...context, fine: possible.includes(count(merged, line)) }).toEqual({ ...context, fine: true });
      }
    }
    expect(clean).toBeGreaterThan(1000);
  });

  test("a side that changed nothing has no say", async () => {
    const random = seeded(5);
    for (let round = 0; round < 500; round++) {
      const base = randomDocument(random);
      const text = (lines: string[]): string => `${lines.join("\n")}\n`;
      const { lines: edited } = randomEdit(base, random);
      expect(await merge(text(base), text(edited), text(base))).toBe(text(edited));
      expect(await merge(text(base), text(base), text(edited))).toBe(text(edited));
      expect(await merge(text(base), text(edited), text(edited))).toBe(text(edited));
    }
  });
});

function seeded(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

let words = 0;

/** Every line but the blank ones is there once. */
function randomDocument(random: (below: number) => number): string[] {
  const lines = ["# Title"];
  const sections = 1 + random(4);
  for (let section = 0; section < sections; section++) {
    lines.push("", `${"#".repeat(2 + random(2))} Section ${words++}`);
    if (random(2)) lines.push("");
    const listed = random(3) > 0;
    for (let count = 1 + random(4); count > 0; count--) lines.push(`${listed ? "- item" : "words"} ${words++}`);
  }
  return lines;
}

function randomEdit(base: string[], random: (below: number) => number): { lines: string[]; moved: boolean } {
  const lines = [...base];
  let moved = false;
  for (let count = 1 + random(3); count > 0; count--) {
    const at = random(lines.length);
    const line = lines[at] ?? "";
    const fresh = line.startsWith("- ") ? `- item ${words++}` : `words ${words++}`;
    const what = random(10);
    if (what < 4) lines.splice(at + 1, 0, fresh);
    else if (what < 6 && line !== "" && !line.startsWith("#")) lines[at] = fresh;
    else if (what < 8 && !line.startsWith("#")) lines.splice(at, 1);
    else if (what === 8) lines.push("", `## Section ${words++}`, "", `words ${words++}`);
    else if (line.startsWith("- ")) {
      lines.splice(random(lines.length), 0, lines.splice(at, 1)[0]!);
      moved = true;
    }
  }
  while (lines.at(-1) === "") lines.pop();
  return { lines, moved };
}
