import { expect, test } from "bun:test";
import { type Key, KeyDecoder } from "@/lib/terminal-keys.ts";

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

/** `ctrl+alt+shift+name`, and the text where it is not the name. */
function show({ name, text, ctrl, alt, shift }: Key): string {
  const mods = `${ctrl ? "ctrl+" : ""}${alt ? "alt+" : ""}${shift ? "shift+" : ""}`;
  return name === "paste" ? `paste:${text}` : `${mods}${name}${text && text !== name ? `=${text}` : ""}`;
}

function decode(...chunks: string[]): string[] {
  const decoder = new KeyDecoder();
  return [...chunks.flatMap((chunk) => decoder.push(bytes(chunk))), ...decoder.flush()].map(show);
}

test.each([
  ["a", ["a"]],
  ["é日👍", ["é", "日", "👍"]],
  ["\r", ["enter"]],
  ["\n", ["ctrl+j"]],
  ["\t", ["tab"]],
  ["\x7f", ["backspace"]],
  ["\x01", ["ctrl+a"]],
  ["\x1f", ["ctrl+_"]],
  ["\x00", ["ctrl+ "]],
  ["\x1b", ["escape"]],
  ["\x1b\x1b", ["escape", "escape"]],
  ["\x1bb", ["alt+b"]],
  ["\x1b\r", ["alt+enter"]],
  ["\x1b\x7f", ["alt+backspace"]],
  ["\x1b[A", ["up"]],
  ["\x1bOA", ["up"]],
  ["\x1b[1;5C", ["ctrl+right"]],
  ["\x1b[1;3D", ["alt+left"]],
  ["\x1b[H", ["home"]],
  ["\x1b[4~", ["end"]],
  ["\x1b[3~", ["delete"]],
  ["\x1b[Z", ["shift+tab"]],
  // Kitty and modifyOtherKeys.
  ["\x1b[13;2u", ["shift+enter"]],
  ["\x1b[13;5u", ["ctrl+enter"]],
  ["\x1b[27;5;13~", ["ctrl+enter"]],
  ["\x1b[27u", ["escape"]],
  ["\x1b[99;5u", ["ctrl+c"]],
  ["\x1b[97;2u", ["shift+A"]],
  ["\x1b[57358u", []],
  // Reports of the terminal and garbage are no keys.
  ["\x1b[I\x1b[O", []],
  ["\x1b[<0;3;4M\x1b[?1u", []],
  ["\x1b]11;rgb:00/00/00\x07x", ["x"]],
  ["\x1b[999999999999u", []],
  ["\u009bA", ["unknown", "A"]],
] as const)("%j", (input, keys) => expect(decode(input)).toEqual([...keys]));

test("every split of a sequence gives the same key", () => {
  for (const sequence of ["\x1b[1;5C", "\x1b[200~a\x1b[Ab\x1b[201~", "日本", "\x1bOB", "\x1b[27;5;13~"]) {
    const whole = decode(sequence);
    const raw = bytes(sequence);
    for (let cut = 1; cut < raw.length; cut++) {
      const decoder = new KeyDecoder();
      const keys = [...decoder.push(raw.subarray(0, cut)), ...decoder.push(raw.subarray(cut)), ...decoder.flush()];
      expect(keys.map(show)).toEqual(whole);
    }
  }
});

test("pasted control characters are text, line ends are newlines", () => {
  expect(decode("\x1b[200~a\r\nb\rc\x03\x1b[A\x1b[201~!")).toEqual(["paste:a\nb\nc\x03\x1b[A", "!"]);
});

test("a lone ESC waits, and so does a paste without its end", () => {
  const decoder = new KeyDecoder();
  expect(decoder.push(bytes("\x1b"))).toEqual([]);
  expect(decoder.waiting).toBe(true);
  expect(decoder.flush().map(show)).toEqual(["escape"]);
  expect(decoder.push(bytes("\x1b[200~half"))).toEqual([]);
  expect(decoder.pasting).toBe(true);
  expect(decoder.flush().map(show)).toEqual(["paste:half"]);
  expect(decoder.waiting).toBe(false);
});

test("an endless sequence does not hold back later keys", () => {
  expect(decode(`\x1b[${"1".repeat(200)}`, "x").at(-1)).toBe("x");
});
