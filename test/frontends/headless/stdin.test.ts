import { expect, test } from "bun:test";
import { readInput } from "@/frontends/headless/stdin.ts";

/** A stream of these chunks; closed at the end unless it stays open. */
function stream(chunks: (string | Uint8Array)[], end: "close" | "open" = "close"): ReadableStream<Uint8Array> {
  return new ReadableStream({
    start(controller) {
      for (const chunk of chunks) {
        controller.enqueue(typeof chunk === "string" ? new TextEncoder().encode(chunk) : chunk);
      }
      if (end === "close") controller.close();
    },
  });
}

test.each([
  ["nothing", stream([]), { text: "", truncated: false, abandoned: false }],
  ["text in pieces", stream(["one ", "two"]), { text: "one two", truncated: false, abandoned: false }],
  [
    "a character cut between pieces",
    stream([new Uint8Array([0xc3]), new Uint8Array([0xbc])]),
    { text: "ü", truncated: false, abandoned: false },
  ],
  ["a silent pipe", stream([], "open"), { text: "", truncated: false, abandoned: true }],
  ["a pipe that stays open", stream(["some"], "open"), { text: "some", truncated: false, abandoned: true }],
] as const)("%s", async (_, input, expected) => {
  expect(await readInput(input, { mode: "auto", silenceMs: 20 })).toEqual(expected);
});

test("more than the limit is cut, not in the middle of a character", async () => {
  const piped = await readInput(stream(["aaaü"]), { mode: "auto", maxBytes: 4 });
  expect(piped).toEqual({ text: "aaa", truncated: true, abandoned: false });
});

test.each([
  ["zero bytes", new Uint8Array([104, 0, 105])],
  ["Latin-1", new Uint8Array([104, 0xe9, 105])],
])("%s are refused", async (_, bytes) => {
  expect(readInput(stream([bytes]), { mode: "auto" })).rejects.toThrow("stdin is not UTF-8 text");
});

test("waiting takes as long as the writer needs", async () => {
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
  const reading = readInput(readable, { mode: "wait", silenceMs: 0 });
  const writer = writable.getWriter();
  await writer.write(new TextEncoder().encode("late"));
  await writer.close();
  expect(await reading).toEqual({ text: "late", truncated: false, abandoned: false });
});
