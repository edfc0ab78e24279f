import { expect, test } from "bun:test";
import { mkdtemp, rmdir } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { LettaError } from "@/lib/errors.ts";
import {
  listUpstreamAgents,
  readUpstreamConversations,
  type UpstreamConversation,
  type UpstreamProblem,
} from "@/store/upstream-store.ts";

const STORE = join(import.meta.dir, "../fixtures/import/store");

async function readAll() {
  const problems: UpstreamProblem[] = [];
  const agents = await listUpstreamAgents(STORE, problems);
  const conversations = new Map<string, UpstreamConversation>();
  for await (const conversation of readUpstreamConversations(STORE, problems)) {
    conversations.set(conversation.id, conversation);
  }
  return { agents, conversations, problems: problems.map((problem) => problem.message) };
}

test("agents: legacy fields are folded in, the legacy window is dropped, broken files are reported", async () => {
  const { agents, problems } = await readAll();
  expect(agents.toSorted((a, b) => (a.id < b.id ? -1 : 1))).toEqual([
    {
      id: "agent-local-7c1f",
      name: "Memo",
      description: null,
      system: "You are Memo.",
      tags: ["work"],
      model: "anthropic/claude-x",
      modelSettings: { max_output_tokens: 4096 },
      contextWindowLimit: null,
      hidden: false,
      compactionSettings: null,
    },
    {
      id: "agent-local-old",
      name: "Old",
      description: null,
      system: "Old.",
      tags: ["role:subagent"],
      model: "openai/gpt-x",
      modelSettings: {},
      contextWindowLimit: 64000,
      hidden: true,
      compactionSettings: null,
    },
  ]);
  expect(problems.filter((text) => text.startsWith("left out"))).toHaveLength(1);
});

test("a transcript: last snapshot wins, signatures stay, orphans and the torn line go", async () => {
  const { conversations, problems } = await readAll();
  const { messages, windowIds } = conversations.get("local-conv-1")!;
  expect(messages.map(({ id, interrupted, otid }) => [id, interrupted, otid])).toEqual([
    ["ui-msg-1", false, "o-1"],
    ["ui-msg-2", false, null],
    ["ui-msg-3", false, null],
    ["ui-msg-5", false, null],
    ["ui-msg-6", false, null],
    ["ui-msg-7", true, null],
  ]);
  expect(windowIds).toBeNull();
  expect(messages[1]!.body).toEqual({
    role: "assistant",
    content: [
      { type: "thinking", thinking: "hm", thinkingSignature: "sig==" },
      { type: "text", text: "Looking." },
      { type: "toolCall", id: "call_1|fc_9", name: "Bash", arguments: { command: "ls" } },
    ],
    api: "anthropic-messages",
    provider: "anthropic",
    model: "claude-x",
    usage: { input: 100, output: 20, cacheRead: 0, cacheWrite: 0, totalTokens: 120, costUsd: 0.003 },
    stopReason: "toolUse",
    timestamp: 1772359202000,
  });
  expect(problems).toContain("line 10 is not JSON and was left out (a write was cut there)");
  expect(problems).toContain("1 tool results without their call were left out");
});

test("a compacted conversation keeps its history before its window", async () => {
  const { conversations, problems } = await readAll();
  const { agentId, messages, windowIds } = conversations.get("default")!;
  expect(agentId).toBe("agent-local-7c1f");
  expect(messages.map(({ id, kind }) => `${id} ${kind}`)).toEqual([
    "ui-msg-10 message",
    "ui-msg-11 message",
    "ui-msg-20 summary",
    "ui-msg-12 message",
    "ui-msg-13 message",
    "ui-msg-21 message",
  ]);
  expect(windowIds).toEqual(["ui-msg-20", "ui-msg-12", "ui-msg-13", "ui-msg-21"]);
  expect(problems).toContain("line 6 is not JSON and was left out");
});

test("version 1 rows are read, a transcript without a manifest is refused", async () => {
  const { conversations, problems } = await readAll();
  const bare = conversations.get("local-conv-2")!;
  expect(bare.messages.map(({ body }) => body.content)).toEqual(["bare", [{ type: "text", text: "row" }]]);
  expect([bare.archivedAt, bare.hidden, bare.model]).toEqual(["2026-03-02T00:00:00.000Z", true, "openai/gpt-x"]);
  expect(conversations.has("local-conv-3")).toBe(false);
  expect(problems.some((text) => text.startsWith("has no manifest"))).toBe(true);
});

test("a folder that is no store says so", async () => {
  const empty = await mkdtemp(join(tmpdir(), "letta-import-"));
  const error = await listUpstreamAgents(empty, []).catch((thrown: unknown) => thrown);
  await rmdir(empty);
  expect(error).toBeInstanceOf(LettaError);
  expect((error as LettaError).code).toBe("not_found");
});
