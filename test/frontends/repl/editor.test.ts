import { expect, test } from "bun:test";
import { type EditorEffect, type EditorState, editorKey, emptyEditor, expandPastes } from "@/frontends/repl/editor.ts";
import { KeyDecoder } from "@/lib/terminal-keys.ts";

const COLUMNS = 20;
const CTRL = (letter: string): string => String.fromCharCode(letter.charCodeAt(0) & 0x1f);
const UP = "\x1b[A";
const DOWN = "\x1b[B";
const LEFT = "\x1b[D";
const RIGHT = "\x1b[C";
const HOME = "\x1b[H";
const END = "\x1b[F";
const BACK = "\x7f";
const paste = (text: string): string => `\x1b[200~${text}\x1b[201~`;

function press(keys: string, start: EditorState = emptyEditor()): { state: EditorState; effects: EditorEffect[] } {
  const decoder = new KeyDecoder();
  let state = start;
  const effects: EditorEffect[] = [];
  for (const key of [...decoder.push(new TextEncoder().encode(keys)), ...decoder.flush()]) {
    const step = editorKey(state, key, COLUMNS);
    state = step.state;
    if (step.effect) effects.push(step.effect);
  }
  return { state, effects };
}

/** The text with `|` at the cursor. */
function shown({ text, cursor }: EditorState): string {
  return `${text.slice(0, cursor)}|${text.slice(cursor)}`;
}

test.each([
  ["abc", "abc|"],
  [`abc${LEFT}${LEFT}X`, "aX|bc"],
  [`abc${HOME}X${END}Y`, "XabcY|"],
  [`abc${CTRL("a")}X${CTRL("e")}Y`, "XabcY|"],
  [`one two${CTRL("w")}`, "one |"],
  [`one two${CTRL("u")}`, "|"],
  [`one two${HOME}${CTRL("k")}`, "|"],
  [`one two${CTRL("w")}${CTRL("y")}${CTRL("y")}`, "one twotwo|"],
  [`one two${CTRL("w")}${CTRL("w")}${CTRL("y")}`, "one two|"],
  [`one two.three\x1bb\x1bbX`, "one X|two.three"],
  [`one two${HOME}\x1bfX`, "oneX| two"],
  [`one two${HOME}\x1bd`, "| two"],
  [`one-two\x1b\x7f`, "one-|"],
  [`one two\x1b[1;5DX`, "one X|two"],
  [`ab${CTRL("t")}`, "ba|"],
  [`abc${BACK}${BACK}`, "a|"],
  [`abc${HOME}\x1b[3~`, "|bc"],
  [`abc${HOME}${CTRL("d")}`, "|bc"],
  [`abc${CTRL("_")}`, "|"],
  [`abc def${CTRL("_")}`, "abc |"],
  [`abc${CTRL("w")}${CTRL("_")}`, "abc|"],
  [`日本${LEFT}X`, "日X|本"],
  [`e\u0301x${LEFT}${BACK}`, "|x"],
  [`👩‍👩‍👧${BACK}`, "|"],
  [`a${CTRL("j")}b`, "a\nb|"],
  ["a\\\rb", "a\nb|"],
  ["a\x1b\rb", "a\nb|"],
  ["a\x1b[13;2ub", "a\nb|"],
  [`a${CTRL("j")}b${CTRL("j")}${UP}${UP}X`, "aX|\nb\n".replace("aX|", "X|a")],
  [`ab${CTRL("j")}cd${HOME}X${CTRL("k")}`, "ab\nX|"],
  [`ab${CTRL("j")}cd${UP}${END}${CTRL("k")}`, "ab|cd"],
  [`longlonglonglonglonglonglong${UP}X`, `longlong${"X|"}longlonglonglonglong`],
  [paste("a\x1b[Ab"), "a\x1b[Ab|"],
  ["x\x1b[Zy", "xy|"],
] as const)("%j → %j", (keys, expected) => expect(shown(press(keys).state)).toBe(expected));

test.each([
  ["hi\r", { type: "submit", text: "hi", shell: false }],
  ["  \r", { type: "empty_enter" }],
  ["\r", { type: "empty_enter" }],
  ["!ls -l\r", { type: "submit", text: "ls -l", shell: true }],
  ["now\x1b[13;5u", { type: "steer", text: "now" }],
  [CTRL("d"), { type: "eof" }],
  [CTRL("c"), { type: "interrupt" }],
  [CTRL("l"), { type: "clear_screen" }],
  [CTRL("z"), { type: "suspend" }],
  [CTRL("o"), { type: "expand" }],
  ["\t", { type: "complete", backwards: false }],
  ["\x1b[Z", { type: "complete", backwards: true }],
  ["\x1b", { type: "escape" }],
] as const)("%j causes %j", (keys, effect) => expect(press(keys).effects).toEqual([effect]));

test("`!` on an empty line is shell mode; Backspace and Esc leave it, and it stays after a command", () => {
  expect(press("!").state.shell).toBe(true);
  expect(press("a!").state).toMatchObject({ shell: false, text: "a!" });
  expect(press(`!${BACK}`).state.shell).toBe(false);
  expect(press("!\x1b").state.shell).toBe(false);
  expect(press("!ls\r").state).toMatchObject({ shell: true, text: "" });
});

test("a large paste is a placeholder, one unit for the cursor, whole when sent", () => {
  const text = "1\n2\n3\n4\n5\n6\n7";
  expect(shown(press(`see ${paste(text)} ok`).state)).toBe("see [Pasted text #1 +7 lines] ok|");
  expect(press(`see ${paste(text)}\r`).effects).toEqual([{ type: "submit", text: `see ${text}`, shell: false }]);
  expect(shown(press(`see ${paste(text)}${BACK}x`).state)).toBe("see x|");
  expect(shown(press(`${paste(text)}${LEFT}x`).state)).toBe("x|[Pasted text #1 +7 lines]");
  expect(shown(press(`${paste(text)}${HOME}${RIGHT}x`).state)).toBe("[Pasted text #1 +7 lines]x|");
  expect(shown(press(paste("x".repeat(501))).state)).toBe("[Pasted text #1 +501 chars]|");
  expect(shown(press(paste("a\nb\nc\nd\ne\n")).state)).toBe("a\nb\nc\nd\ne\n|");
});

test("a placeholder somebody typed is just text", () => {
  expect(expandPastes("[Pasted text #1 +7 lines] $&", [])).toBe("[Pasted text #1 +7 lines] $&");
  expect(expandPastes("[Pasted text #1 +7 lines]", ["$& $1"])).toBe("$& $1");
});

const HISTORY = emptyEditor(["first", "second\nline", "!ls"]);

test.each([
  [UP, "ls|", true],
  [`${UP}${UP}`, "second\nline|", false],
  [`${UP}${UP}${UP}`, "seco|nd\nline", false],
  [`${UP}${UP}${UP}${UP}`, "first|", false],
  [`draft${UP}${DOWN}`, "draft|", false],
  [`draft${UP}${DOWN}${DOWN}`, "draft|", false],
  [CTRL("p"), "ls|", true],
] as const)("history: %j → %j", (keys, expected, shell) => {
  const { state } = press(keys, HISTORY);
  expect({ text: shown(state), shell: state.shell }).toEqual({ text: expected, shell });
});

test.each([
  [`${CTRL("r")}fir\x1b`, "first|"],
  [`${CTRL("r")}s${CTRL("r")}${CTRL("r")}\t`, "first|"],
  [`${CTRL("r")}LINE\x1b`, "second\nline|"],
  [`draft${CTRL("r")}fir${CTRL("g")}`, "draft|"],
  [`draft${CTRL("r")}zzz\x1b`, "draft|"],
  [`${CTRL("r")}firx${BACK}\x1b`, "first|"],
] as const)("search: %j → %j", (keys, expected) => expect(shown(press(keys, HISTORY).state)).toBe(expected));

test("Enter in a search runs what was found", () => {
  expect(press(`${CTRL("r")}fir\r`, HISTORY).effects).toEqual([{ type: "submit", text: "first", shell: false }]);
});

test("a very long entry comes back as a placeholder and is sent whole", () => {
  const long = "long line\n".repeat(2000);
  const start = emptyEditor([long.trimEnd()]);
  expect(shown(press(UP, start).state)).toBe("[Pasted text #1 +2000 lines]|");
  expect(press(`${UP}\r`, start).effects).toEqual([{ type: "submit", text: long.trimEnd(), shell: false }]);
});

test("no key breaks the state, whatever comes", () => {
  const pieces = ["a", "日", "\n", "\r", UP, DOWN, LEFT, RIGHT, HOME, END, BACK, paste("x\ny"), "\x1bb", "\x1bd", "\\"];
  let seed = 7;
  const next = (limit: number): number => {
    seed = (seed * 1103515245 + 12345) % 2147483648;
    return seed % limit;
  };
  for (let round = 0; round < 200; round++) {
    let keys = "";
    for (let count = 0; count < 30; count++)
      keys += next(3) === 0 ? CTRL("abdefhjklnprtuwy"[next(16)] ?? "a") : (pieces[next(pieces.length)] ?? "");
    const { state } = press(keys, HISTORY);
    expect(state.cursor).toBeGreaterThanOrEqual(0);
    expect(state.cursor).toBeLessThanOrEqual(state.text.length);
  }
});
