// The local backend on real memories: what is committed reaches the prompt, in every conversation, compaction or not.

import { afterAll, beforeEach, describe, expect, test } from "bun:test";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ConversationRef } from "@/backend/backend.ts";
import { createLocalBackend } from "@/backend/local/local-backend.ts";
import type { AgentState } from "@/backend/wire.ts";
import { createBackendMemory } from "@/memory/backend-memory.ts";
import { createMemories } from "@/memory/memories.ts";
import { treeLimits } from "@/memory/render.ts";
import { openDatabase } from "@/store/db.ts";
import { user } from "../backend/contract.ts";
import { FakeModel, say } from "../support/fake-model.ts";

const root = mkdtempSync(join(tmpdir(), "letta-backend-memory-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));
let home: string;
let count = 0;
beforeEach(() => {
  home = join(root, String(count++));
});

const small = { usage: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, totalTokens: 0 } };
const LIMITS = treeLimits();

/** As a process would have it. */
function open(model = new FakeModel(), warnings: string[] = []) {
  const memories = createMemories({
    paths: { agents: join(home, "agents") },
    git: () => import("@/store/git/repository.ts"),
  });
  const memory = createBackendMemory({ memories, limits: LIMITS, onWarning: (text) => warnings.push(text) });
  const backend = createLocalBackend({ db: openDatabase(join(home, "letta.db")), models: model, memory });
  const send = async (ref: ConversationRef, text: string): Promise<string[]> => {
    const kinds: string[] = [];
    for await (const chunk of backend.sendMessages(ref, { messages: [user(text)] })) kinds.push(chunk.message_type);
    return kinds;
  };
  return { memories, memory, backend, send };
}

async function newAgent({ backend }: ReturnType<typeof open>): Promise<{ agent: AgentState; ref: ConversationRef }> {
  const agent = await backend.createAgent({ name: "Ada", system: "You are Ada.", model: "fake/model" });
  const { id } = await backend.createConversation({ agent_id: agent.id });
  return { agent, ref: { agentId: agent.id, conversationId: id } };
}

test("a fact of turn 2 is in the prompt of turn 30, after two compactions, and after a restart", async () => {
  const model = new FakeModel([], { max_context_window: 10_000 });
  const process = open(model);
  const { agent, ref } = await newAgent(process);
  let compactions = 0;
  for (let turn = 1; turn <= 30; turn++) {
    if (turn === 2) {
      const edit = {
        file: "system/human",
        oldString: "I do not know this person yet.",
        newString: "Ann dives.",
        replaceAll: false,
      };
      await process.memories.find(agent)!.strReplace(edit, { reason: "she said so" });
    }
    // A compaction takes one of them for its summary.
    model.add(say("fine", small), say("fine", small));
    const kinds = await process.send(ref, `turn ${turn} ${"word ".repeat(500)}`);
    compactions += kinds.filter((kind) => kind === "summary_message").length;
  }
  expect(compactions).toBeGreaterThanOrEqual(2);
  expect(model.requests.at(-1)!.system).toContain("Ann dives.");

  const later = new FakeModel([say("hello", small)]);
  const restarted = open(later);
  const { id } = await restarted.backend.createConversation({ agent_id: agent.id });
  await restarted.send({ agentId: agent.id, conversationId: id }, "hi");
  expect(later.requests[0]!.system).toContain("Ann dives.");
});

describe("what is told of a change", () => {
  test("blocks as they are now, what is gone, and names of the rest", async () => {
    const process = open();
    const { agent } = await newAgent(process);
    const memory = process.memories.find(agent)!;
    const since = await memory.head();
    await memory.create({ file: "system/pets", description: "pets", text: "A cat." }, { reason: "x" });
    await memory.create({ file: "reference/x", description: "x", text: "far away" }, { reason: "x" });
    await memory.create({ file: "skills/s/SKILL", description: "s", text: "procedure" }, { reason: "x" });
    await memory.delete("system/human", { reason: "x" });
    expect(await process.memory.changes(agent, since)).toEqual({
      revision: await memory.head(),
      text: `<memory_update>
Your memory has changed since the system prompt of this conversation was made. What is here is newer and counts; what is not here is as it was.
Gone: $MEMORY_DIR/system/human.md
<pets>
  <projection>$MEMORY_DIR/system/pets.md</projection>
  <description>pets</description>
  A cat.
</pets>
Outside system/: reference/x.md (new)
</memory_update>`,
    });
  });

  test("nothing when it does not concern the prompt, and null when the old commit is gone", async () => {
    const process = open();
    const { agent } = await newAgent(process);
    const memory = process.memories.find(agent)!;
    const since = await memory.head();
    await memory.create({ file: "skills/s/SKILL", description: "s", text: "procedure" }, { reason: "x" });
    expect(await process.memory.changes(agent, since)).toEqual({ revision: await memory.head(), text: "" });
    expect(await process.memory.changes(agent, "0".repeat(40))).toBeNull();
  });
});

test("only what is committed counts", async () => {
  const process = open();
  const { agent, ref } = await newAgent(process);
  const { places } = process.memories.find(agent)!;
  writeFileSync(join(places.memory, "system/persona.md"), "---\ndescription: x\n---\nI am somebody else.\n");
  expect(await process.backend.recompileConversation(ref)).not.toContain("somebody else");
});

test("an agent for one task has no memory", async () => {
  const process = open();
  const agent = await process.backend.createAgent({ name: "Child", system: "You help.", tags: ["role:subagent"] });
  const ref = { agentId: agent.id, conversationId: "default" };
  expect(await process.backend.recompileConversation(ref)).toBe("You help.");
  expect(existsSync(join(home, "agents"))).toBe(false);
});

test("a memory that takes too much of every request is said once", async () => {
  const warnings: string[] = [];
  const process = open(new FakeModel(), warnings);
  const { agent, ref } = await newAgent(process);
  const memory = process.memories.find(agent)!;
  await memory.create({ file: "system/all", description: "all", text: "x".repeat(120_000) }, { reason: "x" });
  await process.backend.recompileConversation(ref);
  await process.backend.recompileConversation(ref);
  expect(warnings).toHaveLength(1);
  expect(warnings[0]).toStartWith("The memory of Ada has about 30,");
});
