import { describe, expect, test } from "bun:test";
import { parseAgentFile } from "@/agent/agent-file.ts";

const parse = (value: unknown) => parseAgentFile(typeof value === "string" ? value : JSON.stringify(value), "x.af");

describe("an AgentFile", () => {
  test("with shared blocks", () => {
    const file = {
      agents: [
        {
          id: "agent-0",
          name: "Ada",
          description: null,
          system: "You are Ada.",
          tags: ["a"],
          block_ids: ["block-1", "block-0", "block-9"],
          memory_blocks: [],
          messages: [{ role: "user" }, { role: "assistant" }],
          llm_config: { model: "m" },
        },
        { name: " ", system: null },
      ],
      blocks: [
        { id: "block-0", label: "human", value: "Ann", limit: 5000 },
        { id: "block-1", label: "persona", value: "I am Ada", description: "who", read_only: true },
      ],
      tools: [],
    };
    expect(parse(file)).toEqual([
      {
        body: {
          name: "Ada",
          description: null,
          system: "You are Ada.",
          model: "",
          tags: ["a"],
          memory_blocks: [
            { label: "persona", value: "I am Ada", description: "who", read_only: true },
            { label: "human", value: "Ann", description: null, read_only: false },
          ],
        },
        messages: 2,
      },
      {
        body: { name: "Imported agent", description: null, system: "", model: "", tags: [], memory_blocks: [] },
        messages: 0,
      },
    ]);
  });

  test("in the older form", () => {
    const file = {
      agent_type: "memgpt_agent",
      name: "Old",
      core_memory: [
        { label: "human", value: "Bob" },
        { label: null, value: "lost" },
      ],
      system: "s",
      messages: [],
    };
    expect(parse(file)).toMatchObject([
      { body: { name: "Old", memory_blocks: [{ label: "human", value: "Bob" }] }, messages: 0 },
    ]);
  });
});

test.each([
  ["no JSON", "it is no JSON"],
  ["[]", "x.af is no AgentFile"],
  ['{"name":"a package"}', "x.af is no AgentFile"],
  ['{"agents":[]}', "x.af holds no agent"],
  ['{"agents":[{"name":5}]}', "x.af is no AgentFile"],
])("%s is refused", (text, message) => expect(() => parse(text)).toThrow(message));
