import { expect, test } from "bun:test";
import { type Answer, type Choice, choiceKey, choiceLines, openChoice, parseAnswer } from "@/frontends/repl/choice.ts";
import { createTheme } from "@/frontends/repl/theme.ts";
import { KeyDecoder } from "@/lib/terminal-keys.ts";

const DOWN = "\x1b[B";
const UP = "\x1b[A";

const APPROVAL: Choice<string> = {
  title: [],
  items: [
    { value: "yes", label: "Yes", keys: ["y"] },
    { value: "always", label: "Yes, always" },
    { value: "no", label: "No", keys: ["n"], input: true },
  ],
};
const MANY: Choice<string> = {
  title: ["Several"],
  multi: true,
  items: [
    { value: "a", label: "A" },
    { value: "b", label: "B" },
    { value: "other", label: "Other", input: true },
  ],
};
const PICKER: Choice<string> = {
  title: ["Pick"],
  filter: true,
  items: Array.from({ length: 30 }, (_, index) => ({
    value: `v${index}`,
    label: `item ${index}`,
    hint: `hint${index}`,
  })),
};

/** The answer, null when cancelled, undefined while open. */
function press<T>(choice: Choice<T>, keys: string): Answer<T> | null | undefined {
  const decoder = new KeyDecoder();
  let state = openChoice(choice);
  for (const key of [...decoder.push(new TextEncoder().encode(keys)), ...decoder.flush()]) {
    const step = choiceKey(state, key);
    if ("done" in step) return step.done;
    state = step.state;
  }
  return undefined;
}

test.each([
  ["1", { values: ["yes"] }],
  ["y", { values: ["yes"] }],
  ["Y", { values: ["yes"] }],
  ["\r", { values: ["yes"] }],
  ["2", { values: ["always"] }],
  [`${DOWN}\r`, { values: ["always"] }],
  [`${UP}`, undefined],
  ["n", undefined],
  ["n\r", { values: ["no"], text: "" }],
  ["3wrong file\r", { values: ["no"], text: "wrong file" }],
  ["use a test first\r", { values: ["no"], text: "use a test first" }],
  ["use x\x17tests\r", { values: ["no"], text: "use tests" }],
  ["xy\x7f\x7fz\r", { values: ["no"], text: "z" }],
  ["\x1b", null],
  ["\x03", null],
  ["reason\x1b", null],
  ["9", undefined],
  ["\x1b[200~y\x1b[201~", undefined],
  ["\x1b[200~1\x1b[201~\r", { values: ["no"], text: "1" }],
] as const)("approval: %j → %j", (keys, answer) =>
  expect(press(APPROVAL, keys)).toEqual(answer as Answer<string> | null),
);

test.each([
  [" \r", { values: ["a"] }],
  ["12\r", { values: ["a", "b"] }],
  ["11\r", { values: ["a"] }],
  [`${DOWN}\r`, { values: ["b"] }],
  ["1own words\r", { values: ["a", "other"], text: "own words" }],
] as const)("several: %j → %j", (keys, answer) => expect(press(MANY, keys)).toEqual(answer as never));

test.each([
  ["\r", { values: ["v0"] }],
  ["item 17\r", { values: ["v17"] }],
  ["HINT29\r", { values: ["v29"] }],
  [`${UP}\r`, { values: ["v29"] }],
  ["nothing like it\r", undefined],
] as const)("picker: %j → %j", (keys, answer) => expect(press(PICKER, keys)).toEqual(answer as never));

test.each([
  [APPROVAL, "1", { values: ["yes"] }],
  [APPROVAL, " yes ", { values: ["yes"] }],
  [APPROVAL, "n", { values: ["no"], text: "" }],
  [APPROVAL, "not that file", { values: ["no"], text: "not that file" }],
  [APPROVAL, "", undefined],
  [APPROVAL, "1 2", { values: ["no"], text: "1 2" }],
  [MANY, "1, 2", { values: ["a", "b"] }],
  [PICKER, "7", { values: ["v6"] }],
  [PICKER, "99", undefined],
] as const)("line: %#", (choice, line, answer) =>
  expect(parseAnswer(choice as Choice<string>, line)).toEqual(answer as never),
);

test("an answer is shown whole, hostile labels are plain", () => {
  const choice: Choice<number> = {
    title: ["Which?"],
    items: [
      { value: 1, label: "Yes, and never ask again for Bash(rm -rf ./build/output:*)" },
      { value: 2, label: "\x1b[2Jno" },
    ],
  };
  expect(choiceLines(openChoice(choice), createTheme(false), 30).lines).toEqual([
    "Which?",
    "❯ 1. Yes, and never ask again",
    "     for Bash(rm -rf",
    "     ./build/output:*)",
    "  2. no",
  ]);
});

test("a long list shows a window around the selection", () => {
  let state = openChoice({ ...PICKER, initial: 20 });
  const { lines, cursor } = choiceLines(state, createTheme(false), 40);
  expect(lines).toHaveLength(13);
  expect(lines.find((line) => line.startsWith("❯"))).toBe("❯ item 20  hint20");
  expect(cursor).toEqual({ row: 1, column: 2 });
  state = { ...state, query: "zzz" };
  expect(choiceLines(state, createTheme(false), 40).lines.at(-1)).toBe("  nothing matches");
});
