// Finding the agent nobody named: the order of spec 01 §8, the same for people and scripts but for who is asked.

import type { AgentState } from "@/backend/wire.ts";
import { codeOf, LettaError } from "@/lib/errors.ts";
import type { AgentHost } from "./host.ts";
import { findHeadlessSession, findInteractiveSession } from "./last-session.ts";
import { pinnedAgentIds } from "./pins.ts";

type FindApp = Pick<AgentHost, "backend" | "settings" | "cwd" | "serverKey">;

/** `agent` null: there is none, create one. */
export interface AgentLookup {
  agent: AgentState | null;
}

/** Last conversation here → the only pin → last conversation anywhere → most recently used. Several pins: a person
 *  chooses, a script goes on down the list. */
export async function findDefaultAgent(
  app: FindApp,
  mode: "headless" | "interactive",
  warnings: string[],
): Promise<AgentLookup | { choose: "agent"; agents: AgentState[] }> {
  const here = [
    ...(mode === "headless" ? [findHeadlessSession(app)] : []),
    findInteractiveSession(app, "project"),
  ].flatMap((session) => session?.agentId ?? []);
  for (const id of here) {
    const agent = await findAgentOrNull(app, id);
    if (agent) return { agent };
    warnings.push(`the agent last used here (${id}) no longer exists`);
  }
  const pinned = await listPinned(app);
  if (pinned.length === 1) return { agent: pinned[0]! };
  if (pinned.length > 1 && mode === "interactive") return { choose: "agent", agents: pinned };
  const anywhere = findInteractiveSession(app, "user");
  const last = anywhere && (await findAgentOrNull(app, anywhere.agentId));
  if (last) return { agent: last };
  const recent = await app.backend.listAgents({ limit: 1 });
  return { agent: recent.items[0] ?? null };
}

/** By exact name, case ignored. Several: the one last used here, else anywhere, else the first pinned. */
export async function findPinnedByName(app: FindApp, name: string): Promise<AgentState> {
  const pinned = await listPinned(app);
  const wanted = name.trim().toLowerCase();
  const matches = pinned.filter((agent) => agent.name.toLowerCase() === wanted);
  if (matches.length === 0) {
    const names = pinned.map((agent) => agent.name);
    throw new LettaError("not_found", `no pinned agent is called "${name}"`, {
      hint: names.length > 0 ? `Pinned: ${names.join(", ")}` : "Nothing is pinned. Pin an agent with: letta pin ID",
    });
  }
  const preferred = [
    findHeadlessSession(app),
    findInteractiveSession(app, "project"),
    findInteractiveSession(app, "user"),
  ].flatMap((session) => session?.agentId ?? []);
  const used = preferred.map((id) => matches.find((agent) => agent.id === id)).find((agent) => agent);
  return used ?? matches[0]!;
}

export async function findAgentOrNull({ backend }: Pick<AgentHost, "backend">, id: string): Promise<AgentState | null> {
  try {
    return await backend.retrieveAgent(id);
  } catch (error) {
    if (codeOf(error) === "not_found") return null;
    throw error;
  }
}

/** Pins of agents that no longer exist are skipped. */
async function listPinned(app: FindApp): Promise<AgentState[]> {
  const ids = pinnedAgentIds(app.settings.user, app.serverKey);
  const agents = await Promise.all(ids.map((id) => findAgentOrNull(app, id)));
  return agents.filter((agent) => agent !== null);
}
