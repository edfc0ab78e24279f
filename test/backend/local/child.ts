// A process of its own for the kill and two-process tests: `bun child.ts <db> <agent> <conversation> <mode>`. Prints one JSON
// line per chunk the moment it has it; what was printed was acknowledged.
//
// `turns`: turns of one text, one call and a closing text, for ever, at a model's pace. `hold`: one reply that stops in
// the middle until the run is cancelled or standard input ends.

import { writeSync } from "node:fs";
import { createLocalBackend } from "@/backend/local/local-backend.ts";
import type { ModelAdapter, ModelEvent, ModelRequest } from "@/backend/model.ts";
import type { InputMessage } from "@/backend/wire.ts";
import { openDatabase } from "@/store/db.ts";
import { createLeases } from "@/store/leases.ts";
import { call, FakeModel, type FakeStep, Gate, reply } from "../../support/fake-model.ts";

const [path = "", agentId = "", conversationId = "", mode = "turns"] = process.argv.slice(2);
const db = openDatabase(path);
const model = new FakeModel();
const paced: ModelAdapter = {
  stream: (request, signal) => pace(request, signal),
  listModels: () => model.listModels(),
  resolveModel: (handle) => model.resolveModel(handle),
  defaultModel: () => model.defaultModel(),
};
const backend = createLocalBackend({ db, models: paced });
const ref = { agentId, conversationId };
const attempt = createLeases(db).tryAcquire(conversationId, "child");
print({ lease: attempt.status });
if (attempt.status === "busy") process.exit(0);
const { fence } = attempt.lease;

/** One event per turn of the event loop, so that a kill falls between them. */
async function* pace(request: ModelRequest, signal: AbortSignal): AsyncGenerator<ModelEvent> {
  for await (const event of model.stream(request, signal)) {
    await new Promise((resolve) => setImmediate(resolve));
    yield event;
  }
}

function print(value: unknown): void {
  writeSync(1, `${JSON.stringify(value)}\n`);
}

async function send(messages: InputMessage[]): Promise<string[]> {
  const calls: string[] = [];
  for await (const chunk of backend.sendMessages(ref, { messages }, { fence })) {
    print(chunk);
    if (chunk.message_type === "approval_request_message") calls.push(chunk.tool_call.tool_call_id);
  }
  return calls;
}

function longText(words: string): FakeStep[] {
  return words.split(/(?<= )/).map((delta): FakeStep => ({ type: "text", index: 0, delta }));
}

async function runTurns(): Promise<void> {
  for (let turn = 0; ; turn++) {
    const text = `turn ${turn} begins with some words that arrive one after the other `;
    const closing = `turn ${turn} ends with other words that also take their time `;
    model.add([...longText(text), ...reply([{ type: "text", text }, call(`c${turn}`)]).slice(2)]);
    model.add([...longText(closing), ...reply([{ type: "text", text: closing }]).slice(2)]);
    const calls = await send([{ type: "message", role: "user", content: `ask ${turn}`, otid: `turn-${turn}` }]);
    await send([
      {
        type: "approval",
        approvals: calls.map((id) => ({
          type: "tool",
          tool_call_id: id,
          tool_return: `out ${turn}`,
          status: "success",
        })),
      },
    ]);
  }
}

async function hold(): Promise<void> {
  const gate = new Gate();
  void new Response(Bun.stdin.stream()).text().then(() => gate.open());
  model.add([{ type: "text", index: 0, delta: "held here" }, gate, ...reply([{ type: "text", text: "" }])]);
  await send([{ type: "message", role: "user", content: "hold", otid: "hold" }]);
  attempt.status === "acquired" && attempt.lease.release();
}

await (mode === "hold" ? hold() : runTurns());
