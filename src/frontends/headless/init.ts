// The facts of a session as `init`, `initialize` and `--dry-run` show them: what is really in force.

import type { Session } from "@/agent/resolve.ts";
import type { App } from "@/app.ts";
import { VERSION } from "@/version.ts";
import type { HeadlessOptions } from "./options.ts";
import type { LineBody } from "./schema.ts";

export function initLine(app: App, session: Session, options: HeadlessOptions): LineBody {
  return {
    type: "system",
    subtype: "init",
    version: VERSION,
    agent_id: session.ephemeral ? null : session.agent.id,
    conversation_id: session.conversation.id,
    model: session.model,
    model_source: session.modelSource,
    tools: toolNames(app, session, options).names,
    cwd: app.cwd,
    backend: app.backend.kind,
    permission_mode: app.permissions.mode,
    permission_mode_source: app.permissions.modeSource,
    sandbox: sandboxFacts(app),
    // Neither exists in a headless run of this version.
    mcp_servers: [],
    slash_commands: [],
    ...featureFlags(app, session, options),
    uuid: `init-${session.ephemeral ? "ephemeral" : session.agent.id}`,
  };
}

export function sandboxFacts({ services }: Pick<App, "services">) {
  const { backend, profile } = services.sandbox.status;
  return { backend, profile };
}

/** Features clients of other versions ask about. */
export function featureFlags(
  { memories, reflection }: Pick<App, "memories" | "reflection">,
  { agent }: Pick<Session, "agent">,
  options: HeadlessOptions,
) {
  const choice = memories === null ? null : reflection.choice(agent.id);
  return {
    memfs_enabled: memories !== null,
    skill_sources: [],
    system_info_reminder_enabled: options.systemInfoReminder,
    reflection_trigger: choice?.trigger ?? "off",
    reflection_step_count: choice && choice.trigger !== "off" ? choice.stepCount : 0,
  };
}

/** A session, or one that does not exist yet. */
interface ToolScope {
  agent: { id: string } | null;
  conversation: { id: string } | null;
  /** Handle. */
  model: string | null;
}

/** The tools the model is offered, and names of `--tools` that do not exist. */
export function toolNames(
  app: App,
  { agent, conversation, model }: ToolScope,
  options: HeadlessOptions,
): { names: string[]; unknown: string[] } {
  const { tools, unknown } = app.selectTools({
    agentId: agent?.id ?? null,
    conversationId: conversation?.id ?? null,
    model,
    interactive: options.bidirectional,
  });
  return { names: tools.map((tool) => tool.name), unknown };
}
