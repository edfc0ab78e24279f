import { expect, test } from "bun:test";
import { clipArgs, renderManifest, renderPayload, rowCost, toRecords } from "@/memory/reflection/payload.ts";
import type { TranscriptRow } from "@/memory/reflection/transcript.ts";
import { cutSlice } from "@/memory/reflection/transcript.ts";

const ref = { agentId: "agent-1", conversationId: "conv-1" };
const plain = (text: string) => text;
const call = (fields: Partial<Extract<TranscriptRow, { kind: "tool_call" }>>): TranscriptRow => ({
  kind: "tool_call",
  id: "c1",
  name: "Bash",
  argsText: "{}",
  resultText: null,
  resultOk: true,
  at: "t",
  ...fields,
});

test("a payload is a JSON array, one record a line, without errors", () => {
  const rows: TranscriptRow[] = [
    { kind: "user", text: "fix it", at: "2026-05-04T10:00:00.000Z", messageId: "m1" },
    { kind: "reasoning", text: "hm", at: "t" },
    call({ argsText: '{"command":"ls"}', resultText: "a\nb" }),
    call({ id: "c2", resultText: "no such file", resultOk: false }),
    { kind: "error", text: "503", at: "t" },
    { kind: "assistant", text: "half an ans", at: "t", messageId: "m2", interrupted: true },
  ];
  const text = renderPayload(rows, ref, plain);
  expect(text.trimEnd().split("\n")).toHaveLength(10);
  expect(JSON.parse(text)).toEqual([
    { role: "meta", source: "letta-code", agent_id: "agent-1", conversation_id: "conv-1" },
    { role: "user", content: "fix it", timestamp: "2026-05-04T10:00:00.000Z" },
    { role: "reasoning", content: "hm" },
    { role: "assistant", tool_calls: [{ id: "c1", name: "Bash", args: '{"command":"ls"}' }] },
    { role: "tool", tool_call_id: "c1", content: "a\nb" },
    { role: "assistant", tool_calls: [{ id: "c2", name: "Bash", args: "{}" }] },
    { role: "tool", tool_call_id: "c2", content: "[error] no such file" },
    { role: "assistant", content: "half an ans", interrupted: true },
  ]);
});

test.each([
  ["short", '{"a":1}', '{"a":1}'],
  [
    "a long string loses its end",
    JSON.stringify({ command: "x".repeat(400) }),
    JSON.stringify({ command: `${"x".repeat(160)}…` }),
  ],
  ["no JSON", "{broken".repeat(3), JSON.stringify({ _raw: "{broken{broken{broken" })],
] as const)("arguments, %s", (_, args, expected) => expect(clipArgs(args)).toBe(expected));

test.each([
  [
    "many members",
    JSON.stringify(Object.fromEntries(Array.from({ length: 200 }, (_, i) => [`key${i}`, "v".repeat(50)]))),
  ],
  ["nested", JSON.stringify({ a: Array.from({ length: 50 }, () => ({ b: { c: ["d".repeat(99), "e"] } })) })],
  ["one long key", JSON.stringify({ ["k".repeat(500)]: 1 })],
  ["quotes that grow when escaped", `${'"\\'.repeat(500)}`],
  ["control characters that grow sixfold", JSON.stringify(["\u0001".repeat(900)])],
  ["surrogates at the cut", JSON.stringify({ a: "😀".repeat(300) })],
  ["half a JSON text", JSON.stringify({ a: "b".repeat(900) }).slice(0, 700)],
])("arguments stay JSON of at most 300 characters: %s", (_, args) => {
  const clipped = clipArgs(args);
  expect(clipped.length).toBeLessThanOrEqual(300);
  expect(JSON.parse(clipped)).toBeObject();
  expect(clipped.isWellFormed()).toBe(true);
});

test("a long result keeps its beginning and its end", () => {
  const [, result] = toRecords(call({ resultText: `START${"-".repeat(50_000)}END` }), plain);
  const content = (result as { content: string }).content;
  expect(content.length).toBeLessThanOrEqual(2_500);
  expect(content).toMatch(/^START-+\n\[… \d+ characters left out …\]\n-+END$/);
});

test("secrets are gone before anything is cut", () => {
  const redact = (text: string) => text.replaceAll("hunter2-hunter2", "PASSWORD=<REDACTED>");
  const secret = `${"x".repeat(2_490)}hunter2-hunter2`;
  const rows: TranscriptRow[] = [
    { kind: "user", text: secret, at: "t", messageId: "m" },
    call({ argsText: JSON.stringify({ a: `${"x".repeat(150)}hunter2-hunter2` }), resultText: secret }),
  ];
  expect(renderPayload(rows, ref, redact)).not.toMatch(/hunter/);
});

test("the manifest says which part of which conversation lies where", () => {
  const rows: TranscriptRow[] = [
    { kind: "user", text: "hi", at: "t1", messageId: "m1" },
    { kind: "assistant", text: "hello", at: "t2", messageId: "m2" },
  ];
  const slice = cutSlice(ref, rows, { from: null, more: false, cost: rowCost, budget: 1000 })!;
  const manifest = renderManifest({
    agentId: "agent-1",
    createdAt: "now",
    instruction: "names",
    selectionPolicy: "recent",
    entries: [{ slice, payloadPath: "/p/1.json", reason: "recent", priority: 1 }],
  });
  expect(JSON.parse(manifest)).toEqual({
    schema_version: 1,
    type: "multi_transcript_reflection_payload",
    agent_id: "agent-1",
    created_at: "now",
    user_instruction: "names",
    selection_policy: "recent",
    transcripts: [
      {
        conversation_id: "conv-1",
        mode: "unreflected",
        payload_path: "/p/1.json",
        selection_reason: "recent",
        selection_priority: 1,
        start_message_id: "m1",
        end_message_id: "m2",
        start_line: 1,
        end_line: 2,
        end_snapshot_line: 2,
        completed_turns: 1,
        approx_chars: 87,
        last_updated_at: "t2",
      },
    ],
  });
});
