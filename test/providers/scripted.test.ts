import { expect, test } from "bun:test";
import type { ModelEvent, ModelRequest } from "@/backend/model.ts";
import { createScriptedAdapter, SCRIPTED_HANDLE, type ScriptedStep } from "@/providers/scripted.ts";

const REQUEST: ModelRequest = {
  handle: SCRIPTED_HANDLE,
  system: "",
  messages: [
    { role: "user", content: "hello", timestamp: 0 },
    {
      role: "toolResult",
      toolCallId: "c",
      toolName: "Read",
      content: [{ type: "text", text: "42" }],
      isError: false,
      timestamp: 0,
    },
  ],
  tools: [],
  sessionId: "s",
};

test("streams text in words and tool calls whole", async () => {
  const step: ScriptedStep = {
    thinking: "Hm.",
    text: "Two words",
    tools: [{ name: "Read", args: { file_path: "a" } }],
  };
  const events = await play([step], new AbortController().signal);
  expect(events.map((event) => ("index" in event ? [event.type, event.index] : event.type))).toEqual([
    ["thinking", 0],
    ["text", 1],
    ["text", 1],
    ["tool_start", 2],
    ["tool_args", 2],
    ["tool_end", 2],
    "done",
  ]);
  expect(events.at(-1)).toMatchObject({
    message: {
      content: [
        { type: "thinking", thinking: "Hm." },
        { type: "text", text: "Two words" },
        { type: "toolCall", id: "call_0_0", name: "Read", arguments: { file_path: "a" } },
      ],
      stopReason: "toolUse",
    },
  });
});

test("a step sees the request, and the script ends", async () => {
  const steps = [(request: ModelRequest) => ({ text: JSON.stringify(request.messages.at(-1)) })];
  const adapter = createScriptedAdapter(steps);
  const first = await Array.fromAsync(adapter.stream(REQUEST, new AbortController().signal));
  expect(textOf(first)).toContain('"text":"42"');
  const second = await Array.fromAsync(adapter.stream(REQUEST, new AbortController().signal));
  expect(textOf(second)).toBe("(The script has ended.)");
});

test("an abort ends with what had been said", async () => {
  const controller = new AbortController();
  const events: ModelEvent[] = [];
  const adapter = createScriptedAdapter([{ text: "one two three" }], { wordDelayMs: 1 });
  for await (const event of adapter.stream(REQUEST, controller.signal)) {
    events.push(event);
    if (events.length === 2) controller.abort();
  }
  expect(events).toHaveLength(3);
  expect(events.at(-1)).toMatchObject({
    type: "error",
    error: { code: "cancelled" },
    partial: { stopReason: "aborted", content: [{ type: "text", text: "one two " }] },
  });
});

test("offers exactly its one model", async () => {
  const adapter = createScriptedAdapter([]);
  expect(await adapter.defaultModel()).toBe(SCRIPTED_HANDLE);
  expect(await adapter.listModels()).toEqual([await adapter.resolveModel(SCRIPTED_HANDLE)]);
  await expect(adapter.resolveModel("other/m")).rejects.toMatchObject({ code: "not_found" });
});

function play(steps: ScriptedStep[], signal: AbortSignal): Promise<ModelEvent[]> {
  return Array.fromAsync(createScriptedAdapter(steps).stream(REQUEST, signal));
}

function textOf(events: ModelEvent[]): string {
  return events.map((event) => (event.type === "text" ? event.delta : "")).join("");
}
