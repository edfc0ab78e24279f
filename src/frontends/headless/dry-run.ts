// `--dry-run`: what a run would use, as text or JSON. Nothing is created or sent.

import type { SessionPlan } from "@/agent/resolve.ts";
import type { App } from "@/app.ts";
import { DEFAULT_CONVERSATION } from "@/backend/backend.ts";
import { sandboxFacts, toolNames } from "./init.ts";
import type { HeadlessOptions } from "./options.ts";

export function renderDryRun(app: App, plan: SessionPlan, options: HeadlessOptions): string {
  const facts = collectFacts(app, plan, options);
  if (options.outputFormat === "text") return renderText(facts);
  // stream-json stays one value per line.
  return `${JSON.stringify(facts, null, options.outputFormat === "json" ? 2 : undefined)}\n`;
}

function collectFacts(app: App, plan: SessionPlan, options: HeadlessOptions) {
  const agent = "use" in plan.agent ? plan.agent.use : null;
  const conversation = "use" in plan.conversation ? plan.conversation.use.id : null;
  const scope = { agent, conversation: conversation === null ? null : { id: conversation } };
  const { names, unknown } = toolNames(app, { ...scope, model: plan.model?.handle ?? null }, options);
  return {
    type: "dry_run" as const,
    agent: agent
      ? { id: agent.id, name: agent.name }
      : { id: null, name: plan.selection.ephemeral ? "temporary" : "new" },
    conversation: "useDefault" in plan.conversation ? DEFAULT_CONVERSATION : (conversation ?? "new"),
    backend: { kind: app.backend.kind, server: app.serverKey },
    model: plan.model,
    system: plan.system === undefined ? "the agent's own" : "from the command line",
    cwd: app.cwd,
    permissions: {
      mode: app.permissions.mode,
      source: app.permissions.modeSource,
      trust: app.trust.status,
      rules: app.permissions.listRules(),
    },
    sandbox: { ...sandboxFacts(app), free: freeOf(app.services.sandbox) },
    tools: names,
    limits: options.limits,
    warnings: [...plan.warnings, ...unknown.map((name) => `there is no tool called ${name}`)],
  };
}

function renderText(facts: ReturnType<typeof collectFacts>): string {
  const { agent, model, permissions } = facts;
  const rows: [string, string][] = [
    [
      "Agent",
      agent.id ? `${agent.name} (${agent.id})` : agent.name === "new" ? "a new one would be created" : agent.name,
    ],
    ["Conversation", facts.conversation === "new" ? "a new one" : facts.conversation],
    ["Backend", `${facts.backend.kind} (${facts.backend.server})`],
    ["Model", model ? `${model.handle} (${MODEL_SOURCES[model.source]})` : "none connected"],
    ["System", facts.system],
    ["Directory", facts.cwd],
    ["Trust", permissions.trust],
    ["Permissions", `${permissions.mode} (${permissions.source})`],
    ...permissions.rules.map(({ effect, rule, source, inert }): [string, string] => [
      "",
      `${effect} ${rule} (${source}${inert ? `; not in force: ${inert}` : ""})`,
    ]),
    ["Sandbox", describeSandbox(facts.sandbox)],
    ["Tools", facts.tools.join(", ") || "none"],
    ...Object.entries(facts.limits).map(([name, value]): [string, string] => ["Limit", `${name} ${value}`]),
    ...facts.warnings.map((text): [string, string] => ["Warning", text]),
  ];
  return rows.map(([label, text]) => `${label.padEnd(13)}${text}\n`).join("");
}

/** What needs no answer because of the sandbox. */
function freeOf({ contained, autoAllow }: App["services"]["sandbox"]): string[] {
  return [...(contained ? ["edits in the workspace"] : []), ...(autoAllow ? ["confined commands"] : [])];
}

function describeSandbox({ backend, profile, free }: ReturnType<typeof collectFacts>["sandbox"]): string {
  if (profile === "off") return "off";
  if (backend === "none") return `${profile}, but none works here`;
  return `${profile} (${backend})${free.length > 0 ? `; without asking: ${free.join(", ")}` : ""}`;
}

const MODEL_SOURCES = {
  flag: "--model",
  conversation: "of the conversation",
  agent: "of the agent",
  settings: "default in settings",
  default: "first connected",
};
