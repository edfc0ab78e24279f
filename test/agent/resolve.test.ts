import { expect, test } from "bun:test";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { isHeadlessConversation } from "@/agent/headless-tag.ts";
import { setPinned } from "@/agent/pins.ts";
import { openSession, planSession, type Selection, type SessionPlan } from "@/agent/resolve.ts";
import { openTestApp, SELECTION, type TestApp } from "../frontends/headless/support.ts";

const HEADLESS: Selection = SELECTION;
const INTERACTIVE: Selection = { ...SELECTION, mode: "interactive" };

async function plan(app: TestApp, selection: Selection): Promise<SessionPlan> {
  const result = await planSession(app, selection);
  if ("choose" in result) throw new Error(`has to choose the ${result.choose}`);
  return result;
}

async function open(app: TestApp, selection: Selection) {
  return openSession(app, await plan(app, selection));
}

async function agentCount(app: TestApp): Promise<number> {
  return (await app.backend.listAgents({ includeHidden: true })).items.length;
}

/** What the REPL does when a conversation becomes current. */
async function rememberInteractive(app: TestApp, agentId: string, conversationId: string): Promise<void> {
  await app.settings.updateLocal((local) => {
    local.sessionsByServer = { [app.serverKey]: { agentId, conversationId } };
  });
}

test("a plan creates nothing", async () => {
  await using app = await openTestApp();
  const result = await plan(app, HEADLESS);
  expect(result.model).toEqual({ handle: "scripted/stand-in", source: "default" });
  expect("create" in result.agent && "create" in result.conversation).toBe(true);
  expect(await agentCount(app)).toBe(0);
  expect(existsSync(join(app.cwd, ".letta"))).toBe(false);
});

test("scripts: one agent, a new tagged conversation each time, the last one continued", async () => {
  await using app = await openTestApp();
  const first = await open(app, HEADLESS);
  expect(first.created).toEqual({ agent: true, conversation: true });
  expect(first.agent).toMatchObject({ name: "Letta", model: "scripted/stand-in" });
  const second = await open(app, HEADLESS);
  expect(second.created).toEqual({ agent: false, conversation: true });
  expect(second.agent.id).toBe(first.agent.id);
  expect(second.conversation.id).not.toBe(first.conversation.id);
  expect(isHeadlessConversation(second.conversation)).toBe(true);
  const continued = await open(app, { ...HEADLESS, continueLast: true });
  expect(continued.created).toEqual({ agent: false, conversation: false });
  expect(continued.conversation.id).toBe(second.conversation.id);
});

test("several that start on an empty store at once share one agent", async () => {
  await using app = await openTestApp();
  const plans = await Promise.all([plan(app, HEADLESS), plan(app, HEADLESS), plan(app, INTERACTIVE)]);
  const sessions = await Promise.all(plans.map((one) => openSession(app, one)));
  expect(await agentCount(app)).toBe(1);
  expect(sessions.map(({ created }) => created.agent).toSorted()).toEqual([false, false, true]);
});

test("scripts never move the interactive last conversation", async () => {
  await using app = await openTestApp();
  const person = await open(app, { ...INTERACTIVE, newConversation: true });
  await rememberInteractive(app, person.agent.id, person.conversation.id);
  await open(app, { ...HEADLESS, newAgent: true });
  const again = await open(app, INTERACTIVE);
  expect([again.agent.id, again.conversation.id]).toEqual([person.agent.id, person.conversation.id]);
});

test("--continue without anything to continue", async () => {
  await using app = await openTestApp();
  expect(planSession(app, { ...HEADLESS, continueLast: true })).rejects.toMatchObject({ code: "not_found" });
});

test.each([
  ["LETTA_DISABLE_SESSION_PERSIST", "1"],
  ["LETTA_PARENT_AGENT_ID", "agent-local-parent"],
])("%s: nothing is remembered", async (name, value) => {
  await using app = await openTestApp([], { [name]: value });
  await open(app, HEADLESS);
  expect(planSession(app, { ...HEADLESS, continueLast: true })).rejects.toMatchObject({ code: "not_found" });
});

test("a script leaves no file in a project that has no .letta yet, and uses the one that is there", async () => {
  await using app = await openTestApp();
  const first = await open(app, HEADLESS);
  expect(existsSync(join(app.cwd, ".letta"))).toBe(false);
  expect((await open(app, { ...HEADLESS, continueLast: true })).conversation.id).toBe(first.conversation.id);
  mkdirSync(join(app.cwd, ".letta"));
  const second = await open(app, HEADLESS);
  expect(app.settings.local.headlessByServer?.[app.serverKey]?.conversationId).toBe(second.conversation.id);
  expect((await open(app, { ...HEADLESS, continueLast: true })).conversation.id).toBe(second.conversation.id);
});

test("in a project whose settings cannot be written, the user's remember the directory", async () => {
  await using app = await openTestApp();
  breakFile(join(app.cwd, ".letta", "settings.local.json"));
  const session = await open(app, HEADLESS);
  expect(session.warnings).toEqual([]);
  expect((await open(app, { ...HEADLESS, continueLast: true })).conversation.id).toBe(session.conversation.id);
});

test("a child agent works in its main conversation", async () => {
  await using app = await openTestApp([], { LETTA_PARENT_AGENT_ID: "agent-local-parent" });
  expect((await open(app, HEADLESS)).conversation.id).toBe("default");
});

test("by conversation id, by agent id, by shorthand", async () => {
  await using app = await openTestApp();
  const { agent, conversation } = await open(app, HEADLESS);
  const byConversation = await open(app, { ...HEADLESS, conversation: conversation.id });
  expect([byConversation.agent.id, byConversation.conversation.id]).toEqual([agent.id, conversation.id]);
  expect((await open(app, { ...HEADLESS, agent: agent.id })).agent.id).toBe(agent.id);
  expect((await open(app, { ...HEADLESS, conversation: agent.id })).conversation.id).toBe("default");
  expect((await open(app, { ...HEADLESS, agent: agent.id, conversation: "default" })).conversation.id).toBe("default");
});

test.each([
  ["conversation", "conv-nope"],
  ["agent", "agent-local-nope"],
  ["name", "Nobody"],
] as const)("an unknown %s is not found, and nothing is created", async (key, value) => {
  await using app = await openTestApp();
  expect(planSession(app, { ...HEADLESS, [key]: value })).rejects.toMatchObject({ code: "not_found" });
  expect(await agentCount(app)).toBe(0);
});

test("--name finds only pinned agents, whatever the case", async () => {
  await using app = await openTestApp();
  const agent = await app.backend.createAgent({ name: "Ada", model: "scripted/stand-in" });
  expect(planSession(app, { ...HEADLESS, name: "ada" })).rejects.toMatchObject({ code: "not_found" });
  await setPinned(app, agent.id, true);
  expect((await open(app, { ...HEADLESS, name: "ADA" })).agent.id).toBe(agent.id);
});

test("several pins: a person chooses, a script does not ask", async () => {
  await using app = await openTestApp();
  for (const name of ["A", "B"]) {
    const agent = await app.backend.createAgent({ name, model: "scripted/stand-in" });
    await setPinned(app, agent.id, true);
  }
  const choice = await planSession(app, INTERACTIVE);
  expect("choose" in choice && choice.choose === "agent" && choice.agents.map(({ name }) => name)).toEqual(["A", "B"]);
  expect((await open(app, HEADLESS)).created.agent).toBe(false);
});

test("a person's first agent is pinned; a script's is not", async () => {
  await using app = await openTestApp();
  await open(app, HEADLESS);
  expect(app.settings.user.agents).toBeUndefined();
  const { agent } = await open(app, { ...INTERACTIVE, newAgent: true });
  expect(agent.name).toBe("Letta");
  await using other = await openTestApp();
  const first = await open(other, INTERACTIVE);
  expect(other.settings.user.agents).toEqual([{ agentId: first.agent.id, baseUrl: other.serverKey, pinned: true }]);
});

test("a remembered agent or conversation that is gone is a warning", async () => {
  await using app = await openTestApp();
  const kept = await app.backend.createAgent({ name: "Kept", model: "scripted/stand-in" });
  await rememberInteractive(app, "agent-local-gone", "conv-gone");
  const lost = await open(app, INTERACTIVE);
  expect([lost.agent.id, lost.warnings.length]).toEqual([kept.id, 1]);
  await rememberInteractive(app, kept.id, "conv-gone");
  const main = await open(app, INTERACTIVE);
  expect([main.conversation.id, main.warnings.length]).toEqual(["default", 1]);
});

test("createDefaultAgents: false", async () => {
  await using app = await openTestApp();
  await app.settings.updateUser((user) => {
    user.createDefaultAgents = false;
  });
  expect(planSession(app, HEADLESS)).rejects.toMatchObject({ code: "not_found" });
  expect((await open(app, { ...HEADLESS, newAgent: true })).created.agent).toBe(true);
});

test("--model and --system are for this process unless saved", async () => {
  await using app = await openTestApp();
  const agent = await app.backend.createAgent({ name: "A", model: "other/model", system: "old" });
  const given = { ...HEADLESS, agent: agent.id, model: "scripted/stand-in", system: { text: "new" } };
  const session = await open(app, given);
  expect(session).toMatchObject({ modelOverride: "scripted/stand-in", systemOverride: "new", modelSource: "flag" });
  expect(await app.backend.retrieveAgent(agent.id)).toMatchObject({ model: "other/model", system: "old" });
  const saved = await open(app, { ...given, save: true });
  expect(saved.modelOverride).toBeUndefined();
  expect(await app.backend.retrieveAgent(agent.id)).toMatchObject({ model: "scripted/stand-in", system: "new" });
});

test("a mistyped model does not leave an agent behind", async () => {
  await using app = await openTestApp();
  expect(planSession(app, { ...HEADLESS, model: "nope/x" })).rejects.toMatchObject({ code: "not_found" });
  expect(await agentCount(app)).toBe(0);
});

test("no model: a script is told what to do, a person gets to the prompt", async () => {
  await using app = await openTestApp();
  const unconnected = { ...app, models: { ...app.models, defaultModel: async () => null } };
  const script = await plan(app, HEADLESS);
  expect(openSession(unconnected, { ...script, model: null })).rejects.toMatchObject({ code: "no_provider" });
  expect(await agentCount(app)).toBe(0);
  const person = await planSession(unconnected, INTERACTIVE);
  expect("choose" in person ? null : person.model).toBe(null);
});

test("nowhere to remember the conversation is a warning, not a failure", async () => {
  await using app = await openTestApp();
  breakFile(join(app.cwd, ".letta", "settings.local.json"));
  breakFile(app.paths.settings);
  const session = await open(app, HEADLESS);
  expect(session.warnings).toEqual([expect.stringMatching(/^--continue will not find this conversation: /)]);
});

/** Settings that do not parse are never written. */
function breakFile(path: string): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, "{ broken");
}
