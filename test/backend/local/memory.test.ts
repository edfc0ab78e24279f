// How an agent's memory gets into its prompt, with a memory that is one text and a number.

import { expect, test } from "bun:test";
import type { BackendMemory } from "@/backend/memory.ts";
import type { AgentState, MemoryBlock } from "@/backend/wire.ts";
import { LettaError } from "@/lib/errors.ts";
import { call, FakeModel, reply, say } from "../../support/fake-model.ts";
import { answers, user } from "../contract.ts";
import { setup } from "./setup.ts";

const small = { usage: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, totalTokens: 0 } };

class Notebook implements BackendMemory {
  number = 1;
  text = "tea";
  broken = false;
  readonly created: [string, MemoryBlock[] | undefined][] = [];

  write(text: string): void {
    this.text = text;
    this.number++;
  }
  async create(agent: AgentState, blocks: MemoryBlock[] | undefined): Promise<void> {
    if (this.broken) throw new LettaError("storage", "disk full");
    this.created.push([agent.name, blocks]);
  }
  async revision(): Promise<string> {
    if (this.broken) throw new LettaError("storage", "unreadable");
    return String(this.number);
  }
  async compile(_agent: AgentState, conversationId: string): Promise<{ revision: string; text: string }> {
    return { revision: await this.revision(), text: `MEMORY ${this.text} of ${conversationId.slice(0, 5)}` };
  }
  async changes(_agent: AgentState, since: string): Promise<{ revision: string; text: string }> {
    return { revision: await this.revision(), text: `since ${since}: ${this.text}` };
  }
}

async function withNotebook(model = new FakeModel()) {
  const notebook = new Notebook();
  const s = await setup({}, model, { memory: notebook });
  const systems = (): string[] => model.requests.map(({ system }) => system);
  return { ...s, notebook, systems };
}

test("an agent is created with its memory, or not at all", async () => {
  const { backend, notebook } = await withNotebook();
  const blocks = [{ label: "persona", value: "I am Bob" }];
  await backend.createAgent({ name: "Bob", memory_blocks: blocks });
  expect(notebook.created).toEqual([
    ["Ada", undefined],
    ["Bob", blocks],
  ]);
  notebook.broken = true;
  await expect(backend.createAgent({ name: "Carl" })).rejects.toThrow("disk full");
  expect((await backend.listAgents({ name: "Carl" })).items).toEqual([]);
});

test("what changes during a turn is in the next one", async () => {
  const { model, notebook, send, systems } = await withNotebook();
  model.add(reply([call("a")], small), reply([call("b")], small), say("done", small), say("yes", small));
  await send(user("hello"));
  notebook.write("coffee");
  await send(answers(["a"]));
  await send(answers(["b"]));
  expect(systems()).toEqual(Array(3).fill("You are Ada.\n\nMEMORY tea of local"));
  await send(user("and now?"));
  expect(systems().at(-1)).toBe("You are Ada.\n\nMEMORY coffee of local");
});

test("the same memory gives the same bytes, also after a restart", async () => {
  const { model, another, notebook, ref, send, systems } = await withNotebook();
  model.add(say("a", small), say("b", small));
  await send(user("one"));
  const later = new FakeModel([say("c", small)]);
  const backend = another({ models: later, memory: notebook });
  for await (const _ of backend.sendMessages(ref, { messages: [user("two")] }));
  await backend.close();
  expect(later.requests[0]?.system).toBe(systems()[0]!);
});

test("a long conversation is told what changed, and keeps its prompt", async () => {
  const { model, notebook, send, systems, history } = await withNotebook();
  model.add(say("a", small), say("b", small), say("c", small));
  await send(user("word ".repeat(2_000)));
  notebook.write("coffee");
  await send(user("and now?"));
  expect(systems()[1]).toBe(systems()[0]!);
  expect(model.requests[1]?.messages.slice(2).map(({ content }) => content)).toEqual([
    "<system-reminder>\nsince 1: coffee\n</system-reminder>",
    "and now?",
  ]);
  await send(user("still?"));
  expect(systems()[2]).toBe(systems()[0]!);
  expect(model.requests[2]?.messages.filter(({ content }) => JSON.stringify(content).includes("since"))).toHaveLength(
    1,
  );
  expect((await history()).filter((line) => line.startsWith("user")).length).toBe(3);
});

test("a large change makes a new prompt", async () => {
  const { model, notebook, send, systems } = await withNotebook();
  model.add(say("a", small), say("b", small));
  await send(user("word ".repeat(2_000)));
  notebook.write("coffee ".repeat(2_000));
  await send(user("and now?"));
  expect(systems()[1]).toContain("MEMORY coffee coffee");
  expect(model.requests[1]?.messages).toHaveLength(3);
});

test("a compaction brings the memory up to date within the turn", async () => {
  const { model, notebook, send, systems } = await withNotebook(new FakeModel([], { max_context_window: 10_000 }));
  model.add(say("a", small), reply([call("x")], small), say("SUMMARY", small), say("done", small));
  await send(user("word ".repeat(3_000)));
  await send(user("word ".repeat(2_000)));
  notebook.write("coffee");
  await send({
    type: "approval",
    approvals: [{ type: "tool", tool_call_id: "x", tool_return: "word ".repeat(2_500), status: "success" }],
  });
  expect(systems().at(-1)).toBe("You are Ada.\n\nMEMORY coffee of local");
});

test("recompiling on request", async () => {
  const { backend, model, notebook, ref, send, systems } = await withNotebook();
  model.add(say("a", small), say("b", small));
  await send(user("word ".repeat(2_000)));
  notebook.write("coffee");
  expect(await backend.recompileConversation(ref, { dryRun: true })).toContain("coffee");
  expect(await backend.recompileConversation(ref)).toContain("coffee");
  await send(user("next"));
  expect(systems()[1]).toContain("coffee");
  expect(model.requests[1]?.messages).toHaveLength(3);
});

test("a memory that cannot be read is said, and the last known one is used", async () => {
  const { model, notebook, send, systems, warnings } = await withNotebook();
  model.add(say("a", small), say("b", small));
  await send(user("one"));
  notebook.broken = true;
  await send(user("two"));
  expect(systems()[1]).toBe(systems()[0]!);
  expect(warnings).toEqual(["The memory of Ada could not be read: unreadable"]);
});
