import { expect, test } from "bun:test";
import { createEventParser, type ServerEvent } from "@/providers/sse.ts";

function parse(pieces: string[]): ServerEvent[] {
  const parser = createEventParser();
  return [...pieces.flatMap((piece) => parser.push(piece)), ...parser.end("")];
}

const STREAM = 'event: a\ndata: {"n":1}\n\n: ping\n\n\ndata: two\ndata: lines\n\nid: 7\ndata:none\n\ndata: last';
const EVENTS = [
  { event: "a", data: '{"n":1}' },
  { event: undefined, data: "two\nlines" },
  { event: undefined, data: "none" },
  { event: undefined, data: "last" },
];

test.each([
  ["\\n", STREAM],
  ["\\r\\n", STREAM.replaceAll("\n", "\r\n")],
  ["\\r", STREAM.replaceAll("\n", "\r")],
])("lines ending in %s, cut anywhere", (_, text) => {
  for (let at = 0; at <= text.length; at += 1) {
    expect(parse([text.slice(0, at), text.slice(at)])).toEqual(EVENTS);
  }
  expect(parse([...text])).toEqual(EVENTS);
});

test.each([
  ["data:\n\n", []],
  ["event: x\n\n", []],
  ["retry: 5\n\n", []],
  ["data\n\ndata: x\n\n", [{ event: undefined, data: "x" }]],
] as [string, ServerEvent[]][])("%j", (text, events) => expect(parse([text])).toEqual(events));

test("a line of megabytes is not searched again with every piece", () => {
  const parser = createEventParser();
  const piece = "x".repeat(16_384);
  parser.push("data: ");
  for (let count = 0; count < 4096; count += 1) parser.push(piece);
  expect(parser.push("\n\n")[0]?.data.length).toBe(4096 * 16_384);
});

test("tells how much of an event has arrived", () => {
  const parser = createEventParser();
  parser.push("data: 12345");
  expect(parser.waiting).toBe(11);
  parser.push("67890\ndata: a");
  expect(parser.waiting).toBe(17);
  parser.push("\n\n");
  expect(parser.waiting).toBe(0);
});
