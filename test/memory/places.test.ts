import { describe, expect, test } from "bun:test";
import { agentIdentity, memoryPaths, parseLabel } from "@/memory/places.ts";
import { readEnv } from "@/store/env.ts";
import { resolvePaths } from "@/store/paths.ts";

test("memory lies where other installations keep theirs", () => {
  expect(memoryPaths(resolvePaths(readEnv({ HOME: "/home/ann" })), "agent-1")).toEqual({
    home: "/home/ann/.letta/agents/agent-1",
    memory: "/home/ann/.letta/agents/agent-1/memory",
    worktrees: "/home/ann/.letta/agents/agent-1/memory-worktrees",
    lock: "/home/ann/.letta/agents/agent-1/memory.lock",
  });
  const moved = resolvePaths(readEnv({ HOME: "/home/ann", LETTA_LOCAL_BACKEND_DIR: "/srv/store" }));
  expect(memoryPaths(moved, "agent-1").memory).toBe("/srv/store/memfs/agent-1/memory");
});

test.each(["", "..", ".", "a/b", "../x", "a\\b", "a b", "a\0"])("%j is no agent id", (id) => {
  expect(() => memoryPaths({ agents: "/agents" }, id)).toThrow("is no agent id");
});

describe("a name in memory", () => {
  test.each([
    ["system/human.md", "system/human"],
    [" system/human ", "system/human"],
    ["memory/system/human", "system/human"],
    ["system\\human.md", "system/human"],
    ["/m/memory/system/human.md", "system/human"],
    ["$MEMORY_DIR/reference/x.md", "reference/x"],
    ["$" + "{LETTA_MEMORY_DIR}/x", "x"],
    ["memory.md", "memory"],
    ["notes/ü ñ.md", "notes/ü ñ"],
    ["reference/", "reference"],
  ])("%s is %s", (name, label) => expect(parseLabel(name, "/m/memory")).toBe(label));

  test.each([
    "",
    ".",
    "..",
    "../x",
    "a/../b",
    "a//b",
    "~/x",
    "$HOME/x",
    "/etc/passwd",
    "/m/memory2/x",
    "/m/memory",
    "a\0b",
    ".git/config",
    "x/.GIT/hooks",
    "memory/../../x",
  ])("%j is refused", (name) => expect(() => parseLabel(name, "/m/memory")).toThrow("is no path in memory"));
});

test("an identity cannot break a commit's header", () => {
  expect(agentIdentity({ id: "agent-1", name: "Ann <x>\nevil" })).toEqual({
    name: "Ann  x  evil",
    email: "agent-1@letta.com",
  });
  expect(agentIdentity({ id: "agent-1", name: " " }).name).toBe("agent-1");
});
