import { expect, test } from "bun:test";
import { escapeDeceptive, graphemes, toPlainLine, toPlainText, truncate, wrap } from "@/lib/terminal-text.ts";

test.each([
  ["plain", "plain"],
  ["two\nlines", "two\nlines"],
  ["\x1b[31mred\x1b[0m", "red"],
  ["clip\x1b]52;c;aGk=\x07board", "clipboard"],
  ["clip\x1b]52;c;aGk=\x1b\\board", "clipboard"],
  ["title\x1b]0;evil\x07", "title"],
  ["unfinished \x1b]0;evil", "unfinished "],
  ["link \x1b]8;;http://x\x07text\x1b]8;;\x07", "link text"],
  ["clear\x1b[2J\x1b[H", "clear"],
  ["up\x1b[3A", "up"],
  ["dcs \x1bPq#0\x1b\\x", "dcs x"],
  ["c1 \u009b31mred \u009d0;t\u0007x", "c1 red x"],
  ["reset \x1bc", "reset "],
  ["charset \x1b(0x", "charset x"],
  ["bell\x07 null\x00 back\x08", "bell null back"],
  ["tab\tstop", "tab    stop"],
  ["crlf\r\nline", "crlf\nline"],
  ["10%\r50%\r100%\ndone", "100%\ndone"],
  ["rtl \u202eabc\u202c iso \u2066x\u2069", "rtl abc iso x"],
  ["über 日本 👩‍👩‍👧 ok", "über 日本 👩‍👩‍👧 ok"],
] as const)("%j is shown as %j", (text, plain) => expect(toPlainText(text)).toBe(plain));

test("no escape survives, wherever it is cut", () => {
  const hostile = "a\x1b]52;c;aaaa\x07b\x1b[2Jc\x9b1;1Hd\x1bP1$r\x1b\\e";
  for (let cut = 0; cut <= hostile.length; cut++)
    expect(toPlainText(hostile.slice(0, cut))).not.toMatch(/[\x00-\x08\x0b-\x1f\x7f-\x9f]/);
});

test("one line", () => expect(toPlainLine(" a\n  b\r\nc ")).toBe("a b c"));

test.each([
  ["ls\x1b[2K", "ls\\x1b[2K"],
  ["a\u202eb", "a\\u202eb"],
  ["zero\u200bwidth", "zero\\u200bwidth"],
  ["tag\u{e0041}", "tag\\u{e0041}"],
  ["keep é日", "keep é日"],
] as const)("%j is reviewed as %j", (text, shown) => expect(escapeDeceptive(text)).toBe(shown));

test("cut by cells, not by characters", () => {
  expect(truncate("日本語テキスト", 7)).toBe("日本語…");
  expect(truncate("abc", 3)).toBe("abc");
});

test("wrapped rows do not begin with the blank they were broken at", () => {
  expect(wrap("No, and tell the agent why", 16)).toEqual(["No, and tell the", "agent why"]);
  expect(wrap("x".repeat(7), 3)).toEqual(["xxx", "xxx", "x"]);
});

test("graphemes are what a person calls a character", () => {
  expect(graphemes("e\u0301👩‍👩‍👧🇩🇪x")).toEqual(["e\u0301", "👩‍👩‍👧", "🇩🇪", "x"]);
});
