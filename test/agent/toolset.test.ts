import { expect, test } from "bun:test";
import { copyToolset, findSavedToolset, saveToolset } from "@/agent/toolset.ts";
import type { UserSettings } from "@/store/settings.ts";

function host(user: UserSettings) {
  const settings = { user, updateUser: async (change: (settings: UserSettings) => void) => change(user) };
  return { settings: settings as never, serverKey: "here" };
}

test("a conversation's choice beats its agent's, and auto forgets", async () => {
  const user: UserSettings = { agents: [{ agentId: "a", baseUrl: "here", pinned: true, mine: 1 }] };
  const find = (conversationId: string) => findSavedToolset(user, "here", { agentId: "a", conversationId });
  await saveToolset(host(user), { agentId: "a", conversationId: "c1" }, "gemini");
  expect([find("c1"), find("c2"), find("default")]).toEqual(["gemini", undefined, undefined]);
  await saveToolset(host(user), { agentId: "a", conversationId: "default" }, "codex");
  expect([find("c1"), find("c2"), find("default")]).toEqual(["gemini", "codex", "codex"]);
  await saveToolset(host(user), { agentId: "a", conversationId: "c1" }, "auto");
  expect(user.agents).toEqual([{ agentId: "a", baseUrl: "here", pinned: true, mine: 1, toolset: "codex" }]);
  await saveToolset(host(user), { agentId: "a", conversationId: "default" }, "auto");
  expect(user.agents).toEqual([{ agentId: "a", baseUrl: "here", pinned: true, mine: 1 }]);
});

test("a copy of a conversation keeps its choice", async () => {
  const user: UserSettings = {
    agents: [{ agentId: "a", baseUrl: "here", toolset: "codex", toolsetsByConversation: { c1: "gemini" } }],
  };
  await copyToolset(host(user), { agentId: "a", conversationId: "c1" }, "c2");
  await copyToolset(host(user), { agentId: "a", conversationId: "default" }, "c3");
  expect(user.agents![0]!.toolsetsByConversation).toEqual({ c1: "gemini", c2: "gemini" });
});

test("entries of other servers and names of other versions do not count", () => {
  const user: UserSettings = {
    agents: [
      { agentId: "a", baseUrl: "there", toolset: "codex" },
      { agentId: "b", toolset: "from-tomorrow" },
      { agentId: "c", toolset: "none" },
    ],
  };
  const find = (agentId: string) => findSavedToolset(user, "here", { agentId, conversationId: null });
  expect([find("a"), find("b"), find("c")]).toEqual([undefined, undefined, "none"]);
});
