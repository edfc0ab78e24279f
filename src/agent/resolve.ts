// Which agent, conversation and model a process works with. `planSession` only looks; `openSession` creates what the
// plan says is missing. So `--dry-run` and every refusal leave nothing behind, and both front ends share one order.

import { join } from "node:path";
import { DEFAULT_CONVERSATION } from "@/backend/backend.ts";
import { noProviderError } from "@/backend/model.ts";
import type { AgentCreate, AgentState, Conversation, ConversationCreate } from "@/backend/wire.ts";
import { errorMessage, LettaError } from "@/lib/errors.ts";
import { withFileLock } from "@/store/atomic-file.ts";
import { defaultAgent, defaultSystemPrompt } from "./default-agent.ts";
import { type AgentLookup, findDefaultAgent, findPinnedByName } from "./find-agent.ts";
import { HEADLESS_TAG } from "./headless-tag.ts";
import type { AgentHost } from "./host.ts";
import { findHeadlessSession, findInteractiveSession, rememberHeadlessSession } from "./last-session.ts";
import { setPinned } from "./pins.ts";

/** What the user asked for; values are valid and free of contradictions (commands/parse-flags.ts). */
export interface Selection {
  mode: "headless" | "interactive";
  agent?: string;
  /** Of a pinned agent. */
  name?: string;
  conversation?: string;
  continueLast: boolean;
  newConversation: boolean;
  newAgent: boolean;
  /** `--resume`. */
  chooseConversation: boolean;
  ephemeral: boolean;
  /** Handle. */
  model?: string;
  system?: { preset: "default" } | { text: string };
  /** Keep model and system for the agent. */
  save: boolean;
  /** Of a created agent. */
  tags?: string[];
  personality?: string;
}

export type ModelSource = "flag" | "conversation" | "agent" | "settings" | "default";

export interface SessionPlan {
  agent: { use: AgentState } | { create: AgentCreate; pin: boolean };
  /** Ids are not known before something is created. */
  conversation: { use: Conversation } | { create: Omit<ConversationCreate, "agent_id"> } | { useDefault: true };
  /** Null when nothing is connected that could serve one. */
  model: { handle: string; source: ModelSource } | null;
  /** Overrides of this process, as text. */
  system?: string;
  warnings: string[];
  selection: Selection;
}

/** Interactive only: a person has to choose first. Calling `planSession` again with the choice goes on. */
export type SessionChoice =
  | { choose: "agent"; agents: AgentState[] }
  | { choose: "conversation"; agent: AgentState; warnings: string[] };

export interface Session {
  agent: AgentState;
  conversation: Conversation;
  created: { agent: boolean; conversation: boolean };
  /** Handle for every turn; "" when nothing is connected (interactive only). */
  model: string;
  modelSource: ModelSource | null;
  /** The model differs from the saved one: pass it with each turn. */
  modelOverride?: string;
  systemOverride?: string;
  /** The agent lives in a temporary database and is nobody to the outside. */
  ephemeral: boolean;
  warnings: string[];
}

/** Throws `usage` or `not_found`; creates nothing. */
export async function planSession(app: AgentHost, selection: Selection): Promise<SessionPlan | SessionChoice> {
  const warnings: string[] = [];
  if (selection.conversation && !isDefaultConversation(selection.conversation)) {
    const conversation = await app.backend.retrieveConversation(selection.conversation);
    const agent = await app.backend.retrieveAgent(conversation.agent_id ?? "");
    return finishPlan(app, selection, { agent: { use: agent }, conversation: { use: conversation }, warnings });
  }
  if (selection.continueLast) return planContinue(app, selection, warnings);
  const lookup = await lookUpAgent(app, selection, warnings);
  if ("choose" in lookup) return lookup;
  if (!lookup.agent) {
    const create = createBody(selection);
    const pin = selection.mode === "interactive" && !selection.newAgent;
    const conversation = selection.mode === "headless" ? newHeadless(app, selection) : { useDefault: true as const };
    return finishPlan(app, selection, { agent: { create, pin }, conversation, warnings });
  }
  if (selection.chooseConversation) return { choose: "conversation", agent: lookup.agent, warnings };
  const conversation = await planConversation(app, selection, lookup.agent, warnings);
  return finishPlan(app, selection, { agent: { use: lookup.agent }, conversation, warnings });
}

/** Creates what is missing and remembers the conversation (headless; the REPL remembers its own). Throws `no_provider`
 *  before that when a script has no model; a person gets to the prompt and can connect one. */
export async function openSession(app: AgentHost, plan: SessionPlan): Promise<Session> {
  const { selection } = plan;
  if (!plan.model && selection.mode === "headless") throw noProviderError();
  const warnings = [...plan.warnings];
  const { agent, isNew } = await openAgent(app, plan, warnings);
  const created = "use" in plan.conversation ? null : plan.conversation;
  const conversation =
    "use" in plan.conversation
      ? plan.conversation.use
      : "create" in plan.conversation
        ? await app.backend.createConversation({ ...plan.conversation.create, agent_id: agent.id })
        : await app.backend.retrieveConversation(DEFAULT_CONVERSATION, agent.id);
  if (selection.mode === "headless" && !selection.ephemeral && isRemembered(app)) {
    const warning = await rememberHeadlessSession(app, { agentId: agent.id, conversationId: conversation.id });
    if (warning) warnings.push(warning);
  }
  const handle = plan.model?.handle ?? "";
  const saved = conversation.model ?? agent.model;
  return {
    agent,
    conversation,
    created: { agent: isNew, conversation: created !== null && "create" in created },
    model: handle,
    modelSource: plan.model?.source ?? null,
    ...(handle && handle !== saved && { modelOverride: handle }),
    ...(plan.system !== undefined && plan.system !== agent.system && { systemOverride: plan.system }),
    ephemeral: selection.ephemeral,
    warnings,
  };
}

async function openAgent(
  app: AgentHost,
  plan: SessionPlan,
  warnings: string[],
): Promise<{ agent: AgentState; isNew: boolean }> {
  const { selection, model } = plan;
  if ("use" in plan.agent) {
    if (!selection.save) return { agent: plan.agent.use, isNew: false };
    const agent = await app.backend.updateAgent(plan.agent.use.id, {
      ...(selection.model !== undefined && { model: selection.model }),
      ...(plan.system !== undefined && { system: plan.system }),
    });
    return { agent, isNew: false };
  }
  const { create, pin } = plan.agent;
  const make = async () => ({
    agent: await app.backend.createAgent({ ...create, model: model?.handle ?? "" }),
    isNew: true,
  });
  const opened = selection.newAgent || selection.ephemeral ? await make() : await findOrMake(app, selection, make);
  if (pin && opened.isNew) {
    try {
      await setPinned(app, opened.agent.id, true);
    } catch (error) {
      warnings.push(`the new agent could not be pinned: ${errorMessage(error)}`);
    }
  }
  return opened;
}

/** Several processes may start on an empty store at once: the first makes the agent, the others find it. */
function findOrMake(
  app: AgentHost,
  selection: Selection,
  make: () => Promise<{ agent: AgentState; isNew: boolean }>,
): Promise<{ agent: AgentState; isNew: boolean }> {
  return withFileLock(join(app.paths.local, "default-agent"), async () => {
    const lookup = await findDefaultAgent(app, selection.mode, []);
    const agent = "choose" in lookup ? lookup.agents[0] : lookup.agent;
    return agent ? { agent, isNew: false } : make();
  });
}

async function planContinue(app: AgentHost, selection: Selection, warnings: string[]): Promise<SessionPlan> {
  const last = findHeadlessSession(app);
  if (!last) {
    throw new LettaError("not_found", "there is no headless conversation in this directory to continue", {
      hint: "Start one with letta -p, or name one with --conv ID.",
    });
  }
  const agent = await app.backend.retrieveAgent(last.agentId);
  const conversation = await app.backend.retrieveConversation(last.conversationId, last.agentId);
  return finishPlan(app, selection, { agent: { use: agent }, conversation: { use: conversation }, warnings });
}

/** The agent, null when one has to be created, or a choice for a person. */
async function lookUpAgent(
  app: AgentHost,
  selection: Selection,
  warnings: string[],
): Promise<AgentLookup | SessionChoice> {
  const shorthand = selection.conversation?.startsWith("agent-") ? selection.conversation : undefined;
  // A nested `letta -p` is somebody else's script unless it says which backend it means (spec 01 §8.3).
  const id = selection.agent ?? shorthand;
  if (id) return { agent: await app.backend.retrieveAgent(id) };
  if (selection.name) return { agent: await findPinnedByName(app, selection.name) };
  if (selection.newAgent || selection.ephemeral) return { agent: null };
  const lookup = await findDefaultAgent(app, selection.mode, warnings);
  if (!("choose" in lookup) && lookup.agent === null && app.settings.user.createDefaultAgents === false) {
    throw new LettaError("not_found", "there is no agent, and settings forbid creating one (createDefaultAgents)", {
      hint: "Create one with letta agents create, or pass --new-agent.",
    });
  }
  return lookup;
}

async function planConversation(
  app: AgentHost,
  selection: Selection,
  agent: AgentState,
  warnings: string[],
): Promise<SessionPlan["conversation"]> {
  if (selection.conversation) return { useDefault: true };
  if (selection.mode === "headless") return newHeadless(app, selection);
  if (selection.newConversation) return { create: {} };
  const last = findInteractiveSession(app, "project");
  if (last?.agentId !== agent.id || last.conversationId === DEFAULT_CONVERSATION) return { useDefault: true };
  try {
    return { use: await app.backend.retrieveConversation(last.conversationId, agent.id) };
  } catch (error) {
    warnings.push(`the last conversation is gone (${errorMessage(error)}); continuing in the main one`);
    return { useDefault: true };
  }
}

/** Scripts get a conversation of their own; a child agent works in its agent's main one. */
function newHeadless(app: AgentHost, selection: Selection): SessionPlan["conversation"] {
  if (selection.conversation || selection.ephemeral || app.env.parentAgentId) return { useDefault: true };
  return { create: { tags: [HEADLESS_TAG] } };
}

async function finishPlan(
  app: AgentHost,
  selection: Selection,
  found: Pick<SessionPlan, "agent" | "conversation" | "warnings">,
): Promise<SessionPlan> {
  const conversation = "use" in found.conversation ? found.conversation.use : null;
  const agent = "use" in found.agent ? found.agent.use : null;
  const model = await resolveModel(app, selection, conversation?.model ?? null, agent?.model ?? "");
  // A mistyped handle must not stay behind in an agent.
  if (selection.model !== undefined && (selection.save || !agent)) await app.models.resolveModel(selection.model);
  const { system } = selection;
  return {
    ...found,
    model,
    ...(system && { system: "text" in system ? system.text : defaultSystemPrompt({ memory: !selection.ephemeral }) }),
    selection,
  };
}

async function resolveModel(
  app: AgentHost,
  selection: Selection,
  ofConversation: string | null,
  ofAgent: string,
): Promise<SessionPlan["model"]> {
  if (selection.model) return { handle: selection.model, source: "flag" };
  if (ofConversation) return { handle: ofConversation, source: "conversation" };
  if (ofAgent) return { handle: ofAgent, source: "agent" };
  const saved = app.settings.user.defaultModel;
  if (saved) return { handle: saved, source: "settings" };
  const handle = await app.models.defaultModel();
  return handle === null ? null : { handle, source: "default" };
}

/** The model is filled in when the agent is created. */
function createBody(selection: Selection): AgentCreate {
  const own = selection.system && "text" in selection.system ? selection.system.text : undefined;
  const system = own ?? (selection.ephemeral ? defaultSystemPrompt({ memory: false }) : undefined);
  // Who starts for the first time, and did not ask for an agent, meets one that shows the way.
  const isFirst = selection.mode === "interactive" && !selection.newAgent;
  return defaultAgent({
    model: "",
    personality: selection.personality ?? (isFirst ? "tutorial" : "memo"),
    ...(system !== undefined && { system }),
    ...(selection.tags && { tags: selection.tags }),
  });
}

/** `default` and `agent-…` name an agent's main conversation. */
function isDefaultConversation(id: string): boolean {
  return id === DEFAULT_CONVERSATION || id.startsWith("agent-");
}

function isRemembered(app: AgentHost): boolean {
  return !app.env.disableSessionPersist && !app.env.parentAgentId;
}
