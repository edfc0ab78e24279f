// A process of its own for the kill and two-process tests: `bun child.ts <db> <agent> <conversation> <mode>`. Prints one JSON
// line per chunk the moment it has it; what was printed was acknowledged.
//
// `turns`: turns of one text, one call and a closing text, for ever, at a model's pace. `hold`: one reply that stops in
// the middle until the run is cancelled or standard input ends. `contend`: five turns, each under a lease of its own that
// is tried for until it is free.

import { writeSync } from "node:fs";
import type { Fence } from "@/backend/backend.ts";
import { createLocalBackend } from "@/backend/local/local-backend.ts";
import type { ModelAdapter, ModelEvent, ModelRequest } from "@/backend/model.ts";
import type { ApprovalItem, InputMessage } from "@/backend/wire.ts";
import { openDatabase } from "@/store/db.ts";
import { createLeases, type Lease } from "@/store/leases.ts";
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
const leases = createLeases(db);
let fence: Fence;

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

/** Null while another process has the conversation. */
function acquire(): Lease | null {
  const attempt = leases.tryAcquire(conversationId, "child");
  print({ lease: attempt.status });
  if (attempt.status === "busy") return null;
  fence = attempt.lease.fence;
  return attempt.lease;
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

async function runTurn(name: string): Promise<void> {
  const text = `turn ${name} begins with some words that arrive one after the other `;
  const closing = `turn ${name} ends with other words that also take their time `;
  model.add([...longText(text), ...reply([{ type: "text", text }, call(`c${name}`)]).slice(2)]);
  model.add([...longText(closing), ...reply([{ type: "text", text: closing }]).slice(2)]);
  const calls = await send([{ type: "message", role: "user", content: `ask ${name}`, otid: `turn-${name}` }]);
  const approvals = calls.map(
    (id): ApprovalItem => ({ type: "tool", tool_call_id: id, tool_return: `out ${name}`, status: "success" }),
  );
  await send([{ type: "approval", approvals }]);
}

async function runTurns(): Promise<void> {
  acquire();
  for (let turn = 0; ; turn++) await runTurn(String(turn));
}

async function hold(): Promise<void> {
  const lease = acquire();
  const gate = new Gate();
  void new Response(Bun.stdin.stream()).text().then(() => gate.open());
  model.add([{ type: "text", index: 0, delta: "held here" }, gate, ...reply([{ type: "text", text: "" }])]);
  await send([{ type: "message", role: "user", content: "hold", otid: "hold" }]);
  lease?.release();
}

async function contend(): Promise<void> {
  for (let turn = 0; turn < 5; ) {
    const lease = acquire();
    if (lease) {
      await runTurn(`${process.pid}.${turn}`);
      lease.release();
      turn++;
    }
    await new Promise((resolve) => setImmediate(resolve));
  }
}

const modes: Record<string, () => Promise<void>> = { turns: runTurns, hold, contend };
await modes[mode]?.();
