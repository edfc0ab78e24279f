import { expect, test } from "bun:test";
import { createLocalBackend } from "@/backend/local/local-backend.ts";
import type { Message } from "@/backend/wire.ts";
import { createCursors } from "@/memory/reflection/cursors.ts";
import { readFacts } from "@/memory/reflection/facts.ts";
import { rowCost } from "@/memory/reflection/payload.ts";
import { openSlices } from "@/memory/reflection/slices.ts";
import {
  cutSlice,
  parseTranscript,
  readReplay,
  readUnreflected,
  selectRange,
  type TranscriptRow,
  toRows,
} from "@/memory/reflection/transcript.ts";
import { createScriptedAdapter } from "@/providers/scripted.ts";
import { openDatabase } from "@/store/db.ts";

const said = (
  messageId: string | undefined,
  kind: "user" | "assistant" = "assistant",
  text = "text",
): TranscriptRow => ({
  kind,
  text,
  at: "t",
  ...(messageId !== undefined && { messageId }),
});
const tool = (messageId?: string): TranscriptRow => ({
  kind: "tool_call",
  id: "c",
  name: "Bash",
  argsText: "{}",
  resultText: "",
  resultOk: true,
  at: "t",
  ...(messageId !== undefined && { messageId }),
});

test.each([
  ["nothing was read", [said("a", "user"), said("b")], null, { start: 0, end: 2 }],
  ["the rest", [said("a", "user"), said("b"), said("c", "user"), said("d")], "b", { start: 2, end: 4 }],
  ["an anchor that is gone: everything", [said("a"), said("b")], "lost", { start: 0, end: 2 }],
  ["an anchor with several rows", [said("a"), tool("a"), said("b")], "a", { start: 2, end: 3 }],
  [
    "trailing tool rows wait for what is said about them",
    [said("a"), tool("b"), tool("c")],
    null,
    { start: 0, end: 1 },
  ],
  ["only tool rows are new", [said("a"), tool("b")], "a", null],
  ["nothing is new", [said("a"), said("b")], "b", null],
  ["no canonical ids", [said(undefined), said(undefined)], null, null],
  ["nothing at all", [], null, null],
] as const)("range: %s", (_, rows, through, expected) => expect(selectRange([...rows], through)).toEqual(expected));

test("a slice takes what fits and ends with something said, but never nothing", () => {
  const rows = [said("a", "user", "x".repeat(60)), said("b"), tool("c"), said("d", "user"), said("e")];
  const cut = (budget: number) =>
    cutSlice({ agentId: "a", conversationId: "c" }, rows, { from: null, more: false, cost: rowCost, budget });
  expect(cut(10)).toMatchObject({ startMessageId: "a", endMessageId: "a", more: true, turns: 1 });
  expect(cut(160)).toMatchObject({ endMessageId: "b", more: true });
  expect(cut(10_000)).toMatchObject({ endMessageId: "e", more: false, turns: 2 });
});

const date = "2026-05-04T10:00:00.000Z";
test("messages become rows; what the harness said does not", () => {
  const messages: Message[] = [
    { id: "s", date, message_type: "system_message", content: "You are" },
    {
      id: "u",
      date,
      message_type: "user_message",
      content: [
        { type: "text", text: "<system-reminder>\nIt is Monday\n</system-reminder>" },
        { type: "text", text: "look at it" },
        { type: "image", source: { type: "base64", media_type: "image/png", data: "AAAA" } },
      ],
    },
    { id: "n", date, message_type: "user_message", content: "<task-notification>done</task-notification>" },
    { id: "r", date, message_type: "reasoning_message", reasoning: "hm" },
    {
      id: "c1",
      date,
      message_type: "approval_request_message",
      tool_call: { tool_call_id: "1", name: "Read", arguments: "{}" },
    },
    {
      id: "c2",
      date,
      message_type: "tool_call_message",
      tool_call: { tool_call_id: "2", name: "Bash", arguments: "{}" },
    },
    {
      id: "c3",
      date,
      message_type: "tool_call_message",
      tool_call: { tool_call_id: "3", name: "Bash", arguments: "{}" },
    },
    { id: "t", date, message_type: "tool_return_message", tool_call_id: "1", tool_return: "text", status: "success" },
    {
      id: "p",
      date,
      message_type: "approval_response_message",
      approvals: [{ type: "approval", tool_call_id: "2", approve: false, reason: "no" }],
    },
    { id: "m", date, message_type: "summary_message", summary: "so far" },
    { id: "a", date, message_type: "assistant_message", content: "half", interrupted: true },
  ];
  const call = (messageId: string, id: string, name: string, resultText: string | null, resultOk: boolean) =>
    ({ at: date, messageId, kind: "tool_call", id, name, argsText: "{}", resultText, resultOk }) as TranscriptRow;
  expect(toRows(messages)).toEqual([
    { at: date, messageId: "u", kind: "user", text: "look at it\n[image image/png]" },
    { at: date, messageId: "r", kind: "reasoning", text: "hm" },
    call("c1", "1", "Read", "text", true),
    call("c2", "2", "Bash", "no", false),
    call("c3", "3", "Bash", null, false),
    { at: date, messageId: "a", kind: "assistant", text: "half", interrupted: true },
  ]);
});

/** A conversation of that many turns in a real store. */
async function conversation(turns: number) {
  const models = createScriptedAdapter(
    Array.from({ length: turns + 20 }, (_, index) => ({ text: `answer ${index + 1}` })),
  );
  const backend = createLocalBackend({ db: openDatabase(":memory:"), models });
  const agent = await backend.createAgent({ name: "A", model: "scripted/stand-in" });
  const { id } = await backend.createConversation({ agent_id: agent.id });
  const ref = { agentId: agent.id, conversationId: id };
  const say = async (content: string) => {
    for await (const _ of backend.sendMessages(ref, { messages: [{ type: "message", role: "user", content }] })) {
    }
  };
  for (let turn = 1; turn <= turns; turn++) await say(`question ${turn}`);
  return { backend, ref, say };
}

const texts = (rows: TranscriptRow[] | undefined) => rows?.map((row) => ("text" in row ? row.text : row.name));

test("what no dream has seen is read in pieces, over page boundaries, without gap or overlap", async () => {
  const { backend, ref } = await conversation(150);
  const read: string[] = [];
  let through: string | null = null;
  for (let more = true; more; ) {
    const slice = await readUnreflected(backend, ref, through, { cost: () => 1, budget: 77 });
    expect(slice!.rows.length).toBeLessThanOrEqual(77);
    read.push(...texts(slice?.rows)!);
    ({ endMessageId: through, more } = slice!);
  }
  expect(read).toEqual(Array.from({ length: 150 }, (_, i) => [`question ${i + 1}`, `answer ${i + 1}`]).flat());
  expect(await readUnreflected(backend, ref, through, { cost: () => 1, budget: 77 })).toBeNull();
  // A message that is not there any more: from the top.
  const again = await readUnreflected(backend, ref, "message-gone", { cost: () => 1, budget: 2 });
  expect(texts(again?.rows)).toEqual(["question 1", "answer 1"]);
});

test("a replay is the newest turns", async () => {
  const { backend, ref } = await conversation(6);
  const slice = await readReplay(backend, ref, { turns: 2, cost: () => 1, budget: 100 });
  expect(slice).toMatchObject({ mode: "replay", turns: 2, from: null });
  expect(texts(slice?.rows)).toEqual(["question 5", "answer 5", "question 6", "answer 6"]);
  const smaller = await readReplay(backend, ref, { turns: 2, cost: () => 1, budget: 3 });
  expect(texts(smaller?.rows)).toEqual(["answer 5", "question 6", "answer 6"]);
});

test("another program's transcript: broken lines are counted, a message given twice is once", () => {
  const lines = [
    { kind: "user", text: "hi", captured_at: "t1", source_message_id: "m1" },
    { kind: "user", text: "hi", captured_at: "t1", source_message_id: "m1" },
    { kind: "tool_call", name: "Bash", argsText: "{}", resultText: "ok", resultOk: true, captured_at: "t2" },
    { kind: "dream", text: "?" },
    { kind: "assistant", text: "hello", captured_at: "t3", source_message_id: "m2" },
  ].map((row) => JSON.stringify(row));
  expect(parseTranscript([...lines, '{"kind":"user","te'].join("\r\n"))).toEqual({
    rows: [
      { kind: "user", text: "hi", at: "t1", messageId: "m1" },
      { kind: "tool_call", id: "call-3", name: "Bash", argsText: "{}", resultText: "ok", resultOk: true, at: "t2" },
      { kind: "assistant", text: "hello", at: "t3", messageId: "m2" },
    ],
    skipped: 2,
  });
});

test("after a failure turns are counted from the end of the conversation, not of what was read", async () => {
  const { backend, ref, say } = await conversation(0);
  for (let turn = 0; turn < 9; turn++) await say("x".repeat(30_000));
  const cursors = createCursors(openDatabase(":memory:"));
  const from = { conversations: [ref.conversationId] };
  const [slice] = await openSlices(from, { backend, cursors, agentId: ref.agentId, now: 0 });
  const [last] = (await backend.listMessages(ref, { limit: 1 })).items;
  expect(slice).toMatchObject({ more: true, turns: 7, newestMessageId: last!.id });
  cursors.failed(slice!, slice!.newestMessageId);
  const facts = () => readFacts(backend, ref, cursors.find(ref), 100);
  expect(await facts()).toMatchObject({ steps: 9, failures: 1, turnsSinceFailure: 0 });
  await say("again");
  expect(await facts()).toMatchObject({ steps: 10, turnsSinceFailure: 1 });
});
