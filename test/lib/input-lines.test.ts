import { expect, test } from "bun:test";
import { readInputLines } from "@/lib/input-lines.ts";

async function read(chunks: string[], maxBytes?: number): Promise<string[]> {
  const stream = new ReadableStream<Uint8Array>({
    start(controller) {
      for (const chunk of chunks) controller.enqueue(new TextEncoder().encode(chunk));
      controller.close();
    },
  });
  const lines: string[] = [];
  for await (const line of readInputLines(stream, new AbortController().signal, maxBytes)) {
    lines.push(line.status === "line" ? line.text : "(too long)");
  }
  return lines;
}

test.each([
  [["a\nb\n"], ["a", "b"]],
  [
    ["a", "b\nc"],
    ["ab", "c"],
  ],
  [
    ["", "\n\n", "x"],
    ["", "", "x"],
  ],
  [["one\r\n"], ["one\r"]],
  [[], []],
])("%j", async (chunks, expected) => expect(await read(chunks)).toEqual(expected));

test("a line that is too long is skipped, what follows is read", async () => {
  expect(await read(["aaaa", "aaaa", "\nok\n"], 5)).toEqual(["(too long)", "ok"]);
  expect(await read(["aaaaaa\nok"], 5)).toEqual(["(too long)", "ok"]);
});

test("aborting ends the reading of an open stream", async () => {
  const controller = new AbortController();
  const stream = new ReadableStream<Uint8Array>({});
  const reading = Array.fromAsync(readInputLines(stream, controller.signal));
  controller.abort();
  expect(await reading).toEqual([]);
});
