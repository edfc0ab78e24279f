import { expect, test } from "bun:test";
import { createCallSeparator } from "@/providers/chat-calls.ts";

type Piece = [index: number, id: string | undefined, name: string | undefined, args: string];

function separate(pieces: Piece[]): Piece[] {
  const apply = createCallSeparator();
  return pieces.map(([index, id, name, args]) => {
    const piece = { index, ...(id !== undefined && { id }), function: { ...(name && { name }), arguments: args } };
    const event = { choices: [{ delta: { tool_calls: [piece] } }] };
    const changed = apply(event);
    const seen: Piece = [piece.index, piece.id, piece.function.name, piece.function.arguments];
    expect(changed).toBe(!Bun.deepEquals(seen, [index, id, name, args]));
    return seen;
  });
}

test.each<[string, Piece[], Piece[]]>([
  [
    "an ordinary stream stays as it is",
    [
      [0, "a", "Bash", ""],
      [0, undefined, undefined, "{}"],
      [1, "b", "Read", "{}"],
      [0, "", undefined, " "],
    ],
    [
      [0, "a", "Bash", ""],
      [0, undefined, undefined, "{}"],
      [1, "b", "Read", "{}"],
      [0, "", undefined, " "],
    ],
  ],
  [
    "two calls with one id",
    [
      [0, "same", "Bash", ""],
      [0, undefined, undefined, "{1}"],
      [1, "same", "Bash", ""],
      [1, undefined, undefined, "{2}"],
    ],
    [
      [0, "same", "Bash", ""],
      [0, undefined, undefined, "{1}"],
      [1, undefined, "Bash", ""],
      [1, undefined, undefined, "{2}"],
    ],
  ],
  [
    "all calls at index 0",
    [
      [0, "a", "Bash", "{1}"],
      [0, "b", "Bash", ""],
      [0, undefined, undefined, "{2}"],
      [0, "c", "Bash", "{3}"],
    ],
    [
      [0, "a", "Bash", "{1}"],
      [1, "b", "Bash", ""],
      [1, undefined, undefined, "{2}"],
      [2, "c", "Bash", "{3}"],
    ],
  ],
  [
    "a fresh id with every piece is one call",
    [
      [0, "a", "Bash", "{"],
      [0, "b", undefined, "}"],
    ],
    [
      [0, "a", "Bash", "{"],
      [0, "b", undefined, "}"],
    ],
  ],
])("%s", (_, pieces, expected) => expect(separate(pieces)).toEqual(expected));

test("what has another shape passes untouched", () => {
  const apply = createCallSeparator();
  for (const event of [null, [], { choices: [null, { delta: null }, { delta: { tool_calls: [null, 1, {}] } }] }])
    expect(apply(event)).toBe(false);
});
