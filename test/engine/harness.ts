// A real engine over a real local backend in memory; only the model is driven by hand.

import type { Database } from "bun:sqlite";
import * as v from "valibot";
import { createLocalBackend } from "@/backend/local/local-backend.ts";
import { createEngine, type Engine } from "@/engine/engine.ts";
import type { Decision, EngineEvent, TurnInput, TurnResult } from "@/engine/events.ts";
import { createHooks } from "@/hooks/service.ts";
import { createSessionHooks } from "@/hooks/session-hooks.ts";
import type { PermissionChecker, RuleSuggestion, Verdict } from "@/permissions/types.ts";
import { createClientState } from "@/store/client-state.ts";
import { openDatabase } from "@/store/db.ts";
import { readEnv } from "@/store/env.ts";
import { createJournal } from "@/store/journal.ts";
import { createLeases } from "@/store/leases.ts";
import { resolvePaths } from "@/store/paths.ts";
import type { UserSettings } from "@/store/settings.ts";
import { type AnyTool, defineTool, type ToolContext } from "@/tools/define-tool.ts";
import { createToolServices } from "@/tools/services.ts";
import type { FakeModel } from "../support/fake-model.ts";

/** Allows `Free`, denies `Never`, asks for the rest unless a rule was added. */
export function checker(): PermissionChecker & { rules: string[] } {
  const rules: string[] = [];
  const suggestion: RuleSuggestion = { rule: "Ask", scope: "session", description: "every Ask" };
  return {
    rules,
    mode: "standard",
    modeSource: "test",
    setMode: () => {},
    check: async (tool, targets): Promise<Verdict> => {
      const realPaths = new Map(
        targets.flatMap((target) => (target.kind === "file" ? [[target.path, target.path]] : [])),
      );
      if (tool === "Never") {
        const reason = { by: "rule", detail: "denied", rule: "Never", source: "user" as const };
        return { behavior: "deny", reason, trace: [reason], realPaths };
      }
      const reason = { by: "default", detail: `${tool} asks` };
      if (tool === "Free" || rules.includes(tool)) return { behavior: "allow", reason, trace: [reason], realPaths };
      return {
        behavior: "ask",
        always: false,
        reason,
        trace: [reason],
        suggestions: [suggestion],
        allowFlag: "--yolo",
        realPaths,
      };
    },
    addRule: async (_effect, rule) => void rules.push(rule),
    hidesPath: () => false,
    deniedReads: () => ({ paths: [], denies: null }),
    listRules: () => [],
  };
}

export interface Harness {
  engine: Engine;
  db: Database;
  agentId: string;
  conversationId: string;
  permissions: ReturnType<typeof checker>;
  backend: ReturnType<typeof createLocalBackend>;
  journal: ReturnType<typeof createJournal>;
  bugs: unknown[];
  /** What the engine said when a turn was over. */
  ended: unknown[];
  input(patch?: Partial<TurnInput>): TurnInput;
}

type Run = (args: { n?: number }, context: ToolContext) => ReturnType<AnyTool["run"]>;

/** `Free` runs at once, `Ask` needs an approval, `Never` is denied by a rule. */
export function tools(run: Run = async () => "done"): AnyTool[] {
  return ["Free", "Ask", "Never"].map(
    (name) =>
      defineTool({ name, description: name, args: v.strictObject({ n: v.optional(v.number()) }), run }) as AnyTool,
  );
}

export async function harness(
  model: FakeModel,
  available = tools(),
  db = openDatabase(":memory:"),
  hookSettings?: UserSettings["hooks"],
): Promise<Harness> {
  const env = readEnv({ HOME: "/nonexistent", PATH: process.env.PATH });
  const services = createToolServices({ env, paths: resolvePaths(env), shadow: null });
  const hooks = createHooks({
    settings: { user: { hooks: hookSettings }, project: {}, local: {}, projectRoot: null },
    trust: { accepts: () => false },
    services,
    models: model,
  });
  const backend = createLocalBackend({ db, models: model });
  const journal = createJournal(db);
  const permissions = checker();
  const bugs: unknown[] = [];
  const ended: unknown[] = [];
  const engine = createEngine({
    backend,
    selectTools: () => available,
    understandTool: () => undefined,
    permissions,
    services,
    hooks,
    sessionHooks: createSessionHooks(hooks, () => "/"),
    openRedaction: async () => (text) => text,
    leases: createLeases(db),
    journal,
    clientState: createClientState(db),
    collectReminders: async () => [],
    rearmReminders: () => {},
    beforeTurn: async () => {},
    afterTurn: (turn) => void ended.push(turn),
    takeWarnings: () => [],
    cwd: () => "/",
    label: "test",
    now: Date.now,
    logBug: (_tool, error) => bugs.push(error),
  });
  const agent = await backend.createAgent({ name: "Test", model: "fake/model", system: "You test." });
  const conversation = await backend.createConversation({ agent_id: agent.id });
  const target = { agentId: agent.id, conversationId: conversation.id };
  return {
    engine,
    db,
    backend,
    journal,
    permissions,
    bugs,
    ended,
    ...target,
    input: (patch = {}) => ({ ...target, content: "hello", approver: "front_end", ...patch }),
  };
}

/** Runs a turn to its end, answering approvals with `decide`. */
export async function play(
  engine: Engine,
  input: TurnInput,
  decide: (event: Extract<EngineEvent, { type: "approval_requested" }>) => Decision = () => ({ behavior: "allow" }),
): Promise<{ events: EngineEvent[]; result: TurnResult }> {
  const turn = engine.submit(input);
  const events: EngineEvent[] = [];
  for await (const event of turn.events) {
    events.push(event);
    if (event.type === "approval_requested") turn.decide(event.approvalId, decide(event));
  }
  const last = events.at(-1);
  if (last?.type !== "turn_ended") throw new Error("the stream did not end with turn_ended");
  return { events, result: last.result };
}

export const types = (events: EngineEvent[]) => events.map((event) => event.type);
