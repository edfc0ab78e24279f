// What a tool gives the model beside its result: a message of its own behind the results, whatever happens to the turn.

import { expect, test } from "bun:test";
import * as v from "valibot";
import type { ModelMessage } from "@/backend/model.ts";
import { LAST_TURN } from "@/engine/turn.ts";
import { createClientState } from "@/store/client-state.ts";
import { type AnyTool, defineTool } from "@/tools/define-tool.ts";
import { call, FakeModel, fail, reply, say } from "../support/fake-model.ts";
import { harness, play, tools } from "./harness.ts";

/** More than any result may hold. */
const LONG = `${"word ".repeat(50_000)}END`;

const give = defineTool({
  name: "Free",
  description: "Gives a text.",
  args: v.strictObject({ n: v.number() }),
  run: async ({ n }) => ({
    status: "success",
    output: `given ${n}`,
    followUp: { label: `text ${n}`, text: `<text-${n}>${n === 1 ? LONG : "short"}</text-${n}>`, allow: [`Rule(${n})`] },
  }),
}) as AnyTool;
const available = [give, ...tools().filter(({ name }) => name !== "Free")];

const brief = (message: ModelMessage): string => {
  if (message.role === "assistant") return "assistant";
  const parts =
    typeof message.content === "string"
      ? [message.content]
      : message.content.map((part) => (part.type === "text" ? part.text : part.type));
  return `${message.role}: ${parts.map((text) => (text.length > 1_000 ? `${text.slice(0, 8)}…${text.length}` : text)).join(" | ")}`;
};
const lastRequest = (model: FakeModel): string[] => model.requests.at(-1)!.messages.map(brief);

test("the texts of a batch make one message behind all results, in call order and whole", async () => {
  const model = new FakeModel([
    reply([call("a", "Free", { n: 1 }), call("b", "Never", {}), call("c", "Free", { n: 2 })]),
    say("ok"),
  ]);
  const h = await harness(model, available);
  const { events } = await play(h.engine, h.input());
  expect(lastRequest(model)).toEqual([
    "user: hello",
    "assistant",
    "toolResult: given 1",
    "toolResult: Permission denied by rule: Never",
    "toolResult: given 2",
    `user: <text-1>…${LONG.length + 17} | <text-2>short</text-2>`,
  ]);
  const added = events.filter(({ type }) => type === "context_added");
  expect(added).toMatchObject([
    {
      labels: ["text 1", "text 2"],
      content: [{ text: `<text-1>${LONG}</text-1>` }, { text: "<text-2>short</text-2>" }],
    },
  ]);
  expect(h.journal.openCalls(h.conversationId)).toEqual([]);
});

test("a request that has to be repeated does not repeat them", async () => {
  const model = new FakeModel([reply([call("a", "Free", { n: 2 })]), fail("network"), say("ok")]);
  const h = await harness(model, available);
  await play(h.engine, h.input());
  expect(lastRequest(model).filter((line) => line.includes("<text-2>"))).toHaveLength(1);
});

test("rules that come with a text are in force from then on, and only in that turn", async () => {
  const granted: (readonly string[])[] = [];
  const model = new FakeModel([reply([call("a", "Free", { n: 2 })]), reply([call("b", "Ask", {})]), say("ok")]);
  const h = await harness(model, available);
  const { check } = h.permissions;
  h.permissions.check = (tool, targets, agentId, rules = []) => {
    granted.push([...rules]);
    return check(tool, targets, agentId, rules);
  };
  await play(h.engine, h.input({ allow: ["Rule(0)"] }));
  model.add(reply([call("c", "Ask", {})]), say("ok"));
  await play(h.engine, h.input());
  expect(granted).toEqual([["Rule(0)"], ["Rule(0)", "Rule(2)"], []]);
});

test("a turn that is stopped before the next request leaves them for the turn after it", async () => {
  const model = new FakeModel([reply([call("a", "Free", { n: 2 }), call("b", "Ask", {})]), say("ok")]);
  const h = await harness(model, available);
  const { result } = await play(h.engine, h.input(), () => ({ behavior: "deny", interrupt: true }));
  expect(result.status).toBe("interrupted");
  await play(h.engine, h.input({ content: "go on" }));
  const seen = lastRequest(model);
  expect(seen.slice(2, 5)).toEqual([
    "toolResult: given 2",
    "toolResult: Error: request to call tool denied.",
    "user: <text-2>short</text-2>",
  ]);
  expect(seen.at(-1)).toEndWith("go on");
  expect(seen).toHaveLength(6);
});

test("after a kill the journal still has them", async () => {
  const model = new FakeModel([reply([call("a", "Free", { n: 2 })])]);
  const h = await harness(model, available);
  const { backend, conversationId, agentId } = h;
  for await (const _ of backend.sendMessages(
    { agentId, conversationId },
    { messages: [{ type: "message", role: "user", content: "hello" }], agent_id: agentId },
  )) {
    // Only what is stored counts.
  }
  h.journal.record([
    { conversationKey: conversationId, turnId: "old", toolCallId: "a", tool: "Free", argumentsText: "{}" },
  ]);
  h.journal.setState(conversationId, "a", "done", {
    result: { type: "tool", tool_call_id: "a", status: "success", tool_return: "given 2" },
    followUp: { label: "text 2", text: "<text-2>short</text-2>", allow: [] },
  });
  createClientState(h.db).set(conversationId, LAST_TURN, "running");
  model.add(say("ok"));
  const { events } = await play(h.engine, h.input({ content: "go on" }));
  expect(lastRequest(model).slice(2, 4)).toEqual(["toolResult: given 2", "user: <text-2>short</text-2>"]);
  expect(events.filter(({ type }) => type === "context_added")).toHaveLength(1);
  model.add(say("again"));
  await play(h.engine, h.input({ content: "and on" }));
  expect(lastRequest(model).filter((line) => line.includes("<text-2>"))).toHaveLength(1);
});
