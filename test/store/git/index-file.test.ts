import { expect, test } from "bun:test";
import { formatIndex, type IndexEntry, parseIndex } from "@/store/git/index-file.ts";
import { compareNames, decodeName, encodeName } from "@/store/git/names.ts";

function entry(path: string, more: Partial<IndexEntry> = {}): IndexEntry {
  const stat = {
    ctimeSeconds: 1,
    ctimeNanos: 2,
    mtimeSeconds: 3,
    mtimeNanos: 4,
    dev: 5,
    ino: 6,
    uid: 7,
    gid: 8,
    size: 9,
  };
  const flags = { stage: 0, assumeValid: false, skipWorktree: false, intentToAdd: false };
  return { ...stat, ...flags, path, mode: "100644", oid: "ab".repeat(20), ...more };
}

const ENTRIES = [
  entry("a"),
  entry("a/b", { mode: "100755", stage: 1 }),
  entry("a/b", { mode: "120000", stage: 2 }),
  entry("ü", { skipWorktree: true, assumeValid: true }),
  entry("x".repeat(5_000), { intentToAdd: true, size: 0xffffffff }),
].sort((a, b) => compareNames(a.path, b.path) || a.stage - b.stage);

const plain = (entries: IndexEntry[]) => entries.map(({ raw: _, ...rest }) => rest);

test("what is written is read back, and written again the same", () => {
  const bytes = formatIndex(ENTRIES);
  const read = parseIndex(bytes, "index");
  expect(plain(read)).toEqual(plain(ENTRIES));
  expect(Buffer.from(formatIndex(read)).equals(bytes)).toBe(true);
  expect(Buffer.from(formatIndex(plain(read))).equals(bytes)).toBe(true);
  expect(Buffer.from(bytes).readUInt32BE(4)).toBe(3);
  expect(Buffer.from(formatIndex([entry("a")])).readUInt32BE(4)).toBe(2);
});

test("whatever is cut or flipped is an error, never a crash", () => {
  const bytes = formatIndex(ENTRIES.slice(0, 3));
  for (let at = 0; at < bytes.length; at++) {
    expect(() => parseIndex(bytes.subarray(0, at), "index")).toThrow("index");
    const flipped = bytes.slice();
    flipped[at]! ^= 0xff;
    expect(() => parseIndex(flipped, "index")).toThrow("index");
  }
});

test("names are ordered by their bytes, and bytes that are not UTF-8 come back", () => {
  const names = ["a", "a-b", "a.b", "a/b", "a0", "\u00fc", "\uffee", "\u{1f600}", "\u{10ffff}"];
  const byBytes = names.toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
  expect(names.toReversed().sort(compareNames)).toEqual(byBytes);
  for (const bytes of [
    [0xff, 0x61],
    [0xc3, 0x28],
    [0xe2, 0x82],
    [0xed, 0xa0, 0x80],
    [0x61, 0xf0, 0x9f, 0x98, 0x80, 0x80],
  ])
    expect([...encodeName(decodeName(Uint8Array.from(bytes)))]).toEqual(bytes);
});
