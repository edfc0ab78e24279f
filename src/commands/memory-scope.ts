// Which memory a command means, and as whom it acts there. In a command of an agent, MEMORY_DIR names the agent's own: it
// is opened without the store of agents and conversations, which such a command may not be able to read. Elsewhere the
// agent decides, found as for every other command.

import { hostname } from "node:os";
import type { Core } from "@/app.ts";
import { LettaError } from "@/lib/errors.ts";
import { createRedactor } from "@/lib/redactor.ts";
import { type AgentMemory, openMemory } from "@/memory/service.ts";
import { type AgentSecrets, openAgentSecrets } from "@/store/agent-secrets.ts";
import type { Identity } from "@/store/git/types.ts";
import { createSecretGuard } from "@/tools/secret-guard.ts";
import { commandContext, type StoreApp, withCore, withStore } from "./context.ts";
import type { Io } from "./io.ts";
import { resolveAgent, type ScopeArgs } from "./scope.ts";

export interface MemoryScope {
  core: Core;
  memory: AgentMemory;
  /** Who commits what is done here: the agent in its own commands, else the person. */
  author: Identity;
  /** The agent acts, not a person: read-only files are read-only. */
  isAgent: boolean;
  agentSecrets: AgentSecrets;
  /** Before anything is committed: learns the secrets that may not get into a memory. */
  prepare(): Promise<void>;
  /** Null where the store was not opened. */
  app: StoreApp | null;
}

/** Throws `not_found` where there is no memory yet. */
export async function withMemory(
  data: unknown,
  args: ScopeArgs,
  use: (scope: MemoryScope, io: Io) => Promise<number>,
): Promise<number> {
  const { env } = commandContext(data);
  if (args.agent === undefined && env.memoryDir !== undefined) {
    return withCore(data, async (core, io) => use(await openDirectory(core, env.memoryDir!), io));
  }
  return withStore(data, async (app, io) => use(await openScope(app, args), io));
}

/** The agent's memory as the store knows it. */
export async function openScope(app: StoreApp, args: ScopeArgs): Promise<MemoryScope> {
  const agent = await resolveAgent(app, args);
  return toScope(app, { id: agent.id, name: agent.name }, { agentSecrets: app.agentSecrets, app });
}

async function openDirectory(core: Core, dir: string): Promise<MemoryScope> {
  const { openRepository } = await import("@/store/git/repository.ts");
  const repository = await openRepository(dir);
  const id = repository.getConfig("letta.agentId") ?? core.env.agentId;
  if (id === undefined) {
    throw new LettaError("usage", `${dir} does not say whose memory it is`, { hint: "Pass --agent ID." });
  }
  const name = repository.getConfig("user.name") ?? id;
  return toScope(core, { id, name }, { agentSecrets: openAgentSecrets(core), app: null, dir });
}

async function toScope(
  core: Core,
  agent: { id: string; name: string },
  { agentSecrets, app, dir }: { agentSecrets: AgentSecrets; app: StoreApp | null; dir?: string },
): Promise<MemoryScope> {
  const { env, paths, settings, secrets } = core;
  const guard = createSecretGuard({ env, paths, settings, secrets, agentSecrets });
  const shapes = createRedactor([], { patterns: true });
  const memory = openMemory({
    paths,
    agent,
    ...(dir !== undefined && { dir }),
    git: () => import("@/store/git/repository.ts"),
    redact: (text) => shapes.redact(guard.redactor.redact(text)),
  });
  if (!memory.exists()) {
    throw new LettaError("not_found", `${agent.name} has no memory yet`, {
      hint: "It is made with the first message, and with the agent: letta agents create",
    });
  }
  // Only the harness sets a name beside the id.
  const isAgent = env.all.AGENT_NAME !== undefined && env.agentId === agent.id;
  return {
    core,
    memory,
    isAgent,
    author: isAgent ? memory.identity : personIdentity(env),
    agentSecrets,
    prepare: async () => void (await guard.refresh()),
    app,
  };
}

/** As git makes one up for whoever has not told it. */
function personIdentity({ all }: Core["env"]): Identity {
  const name = all.USER || all.LOGNAME || all.USERNAME || "user";
  return { name, email: `${name}@${hostname() || "localhost"}` };
}
