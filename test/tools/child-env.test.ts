import { describe, expect, test } from "bun:test";
import { readEnv } from "@/store/env.ts";
import { resolvePaths } from "@/store/paths.ts";
import { buildAgentEnv, buildChildEnv } from "@/tools/child-env.ts";

const OURS = "/home/ann/.letta/agents";

describe("an inherited memory", () => {
  test.each([
    ["somebody else's", { MEMORY_DIR: `${OURS}/agent-2/memory` }, undefined],
    ["outside of ours", { MEMORY_DIR: "/elsewhere/memory" }, undefined],
    [
      "a parent's",
      { MEMORY_DIR: `${OURS}/agent-2/memory`, LETTA_PARENT_AGENT_ID: "agent-2" },
      `${OURS}/agent-2/memory`,
    ],
    [
      "a parent's working tree",
      { MEMORY_DIR: `${OURS}/agent-2/memory-worktrees/x`, LETTA_PARENT_AGENT_ID: "agent-2" },
      `${OURS}/agent-2/memory-worktrees/x`,
    ],
    ["beside a parent's", { MEMORY_DIR: `${OURS}/agent-2/memory/../x`, LETTA_PARENT_AGENT_ID: "agent-2" }, undefined],
    [
      "another one than the parent's",
      { MEMORY_DIR: `${OURS}/agent-3/memory`, LETTA_PARENT_AGENT_ID: "agent-2" },
      undefined,
    ],
    ["named on purpose", { MEMORY_DIR: "/elsewhere/memory", LETTA_MEMORY_DIR_EXPLICIT: "1" }, "/elsewhere/memory"],
    [
      "named on purpose, but an agent's",
      { MEMORY_DIR: `${OURS}/agent-2/memory`, LETTA_MEMORY_DIR_EXPLICIT: "1" },
      undefined,
    ],
  ] as [string, Record<string, string>, string | undefined][])("%s", (_, vars, expected) => {
    const env = readEnv({ HOME: "/home/ann", ...vars, LETTA_MEMORY_DIR: vars.MEMORY_DIR });
    const child = buildChildEnv(env, resolvePaths(env), { agentId: "agent-1", conversationId: "c", cwd: "/w" });
    expect([child.MEMORY_DIR, child.LETTA_MEMORY_DIR]).toEqual([expected, expected] as never);
  });
});

test("an agent's commands know its name and its memory", () => {
  expect(buildAgentEnv({ name: "Ada", memoryDir: "/m" })).toEqual({
    AGENT_NAME: "Ada",
    MEMORY_DIR: "/m",
    LETTA_MEMORY_DIR: "/m",
  });
  expect(buildAgentEnv({ name: "Ada", memoryDir: null })).toEqual({ AGENT_NAME: "Ada" });
  expect(buildAgentEnv(null)).toEqual({});
});
