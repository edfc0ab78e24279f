// An App with a scripted engine: each turn plays a list of events and waits for decisions where one is asked. Backend,
// settings and trust are small real values in memory; nothing leaves the process.

import type { Selection } from "@/agent/resolve.ts";
import type { App } from "@/app.ts";
import type { AgentState, Conversation, Message, ModelRecord } from "@/backend/wire.ts";
import type { Decision, EngineEvent, ToolCallInfo, Turn, TurnInput, TurnResult } from "@/engine/events.ts";
import { TurnQueue } from "@/engine/queue.ts";
import { LettaError } from "@/lib/errors.ts";
import type { PermissionMode } from "@/permissions/types.ts";
import { readEnv } from "@/store/env.ts";
import { resolvePaths } from "@/store/paths.ts";
import { NO_SECRET_GUARD } from "@/tools/secret-guard.ts";

/** What a turn does: an event is emitted; a function may wait, look at the input, or emit by itself. */
export type Step = EventBody | ((turn: ScriptedTurn) => Promise<void> | void);
type WithoutTurn<T> = T extends unknown ? Omit<T, "turnId"> : never;
export type EventBody = WithoutTurn<EngineEvent>;

export class ScriptedTurn implements Turn {
  readonly id = `turn-${crypto.randomUUID()}`;
  readonly steered: unknown[] = [];
  readonly decisions = new Map<string, Decision>();
  aborted = false;
  #aborts: (() => void)[] = [];
  #decided: (() => void)[] = [];
  #queue: EngineEvent[] = [];
  #wake: (() => void) | null = null;
  #ended = false;

  constructor(readonly input: TurnInput) {}

  readonly events: AsyncIterable<EngineEvent> = {
    [Symbol.asyncIterator]: () => ({
      next: async () => {
        while (this.#queue.length === 0 && !this.#ended) await new Promise<void>((resolve) => (this.#wake = resolve));
        const value = this.#queue.shift();
        return value ? { value, done: false as const } : { value: undefined, done: true as const };
      },
    }),
  };

  emit(body: EventBody): void {
    this.#queue.push({ ...body, turnId: this.id } as EngineEvent);
    this.#wake?.();
  }

  close(): void {
    this.#ended = true;
    this.#wake?.();
  }

  decide(approvalId: string, decision: Decision): void {
    this.decisions.set(approvalId, decision);
    for (const resolve of this.#decided.splice(0)) resolve();
  }

  steer(content: unknown): void {
    this.steered.push(content);
  }

  abort(): void {
    this.aborted = true;
    for (const resolve of this.#aborts.splice(0)) resolve();
    for (const resolve of this.#decided.splice(0)) resolve();
  }

  /** Resolves when the front end aborted. */
  untilAborted(): Promise<void> {
    return this.aborted ? Promise.resolve() : new Promise((resolve) => this.#aborts.push(resolve));
  }

  async decision(approvalId: string): Promise<Decision | undefined> {
    while (!this.decisions.has(approvalId) && !this.aborted)
      await new Promise<void>((resolve) => this.#decided.push(resolve));
    return this.decisions.get(approvalId);
  }
}

export function text(delta: string, otid = "o1"): EventBody {
  return { type: "text_delta", text: delta, messageId: "m1", otid, runId: "r1", seqId: 1 };
}

export function call(
  tool: string,
  args: Record<string, unknown>,
  title = "",
  toolCallId = `call-${tool}`,
): ToolCallInfo {
  return { toolCallId, tool, args, argumentsText: JSON.stringify(args), title };
}

export function turnResult(patch: Partial<TurnResult> = {}): TurnResult {
  return {
    status: "completed",
    stopReason: "end_turn",
    agentId: "agent-1",
    conversationId: "conv-1",
    runIds: ["r1"],
    text: null,
    steps: 1,
    durationMs: 10,
    apiDurationMs: 5,
    usage: { prompt_tokens: 1200, completion_tokens: 30, total_tokens: 1230, step_count: 1, context_tokens: 1230 },
    deniedTools: [],
    ...patch,
  };
}

export const AGENT: AgentState = {
  id: "agent-1",
  name: "Memo",
  description: null,
  system: "You are Memo.",
  tags: [],
  model: "scripted/stand-in",
  model_settings: {},
  context_window_limit: null,
  compaction_settings: null,
  hidden: false,
  metadata: {},
  created_at: "2026-01-01T00:00:00.000Z",
  updated_at: "2026-01-01T00:00:00.000Z",
  last_run_completion: null,
};

export function conversation(id: string, summary: string | null = null): Conversation {
  return {
    id,
    agent_id: AGENT.id,
    summary,
    description: null,
    archived: false,
    archived_at: null,
    hidden: false,
    tags: [],
    model: null,
    model_settings: null,
    context_window_limit: null,
    in_context_message_ids: [],
    created_at: "2026-01-01T00:00:00.000Z",
    updated_at: "2026-01-01T00:00:00.000Z",
    last_message_at: null,
  };
}

const MODEL: ModelRecord = {
  handle: "scripted/stand-in",
  model: "stand-in",
  display_name: "Stand-in",
  provider_type: "scripted",
  provider_name: "scripted",
  provider_category: "base",
  max_context_window: 10_000,
  max_tokens: null,
  reasoning: false,
  vision: false,
};

export interface ScriptedApp {
  app: App;
  turns: ScriptedTurn[];
  conversations: Conversation[];
  queues: Map<string, TurnQueue>;
}

export interface ScriptedAppOptions {
  home: string;
  cwd?: string;
  /** One list per turn; after the last one turns answer "ok". */
  turns?: Step[][];
  messages?: Message[];
  trust?: Partial<App["trust"]>;
  /** Default: the stand-in. "" = nothing connected. */
  model?: string;
  vars?: Record<string, string>;
}

export const SELECTION: Selection = {
  mode: "interactive",
  agent: AGENT.id,
  conversation: "conv-1",
  continueLast: false,
  newConversation: false,
  newAgent: false,
  chooseConversation: false,
  ephemeral: false,
  save: false,
};

export function scriptedApp(options: ScriptedAppOptions): ScriptedApp {
  const vars = { HOME: options.home, TERM: "xterm-256color", ...options.vars };
  const env = readEnv(vars);
  const paths = resolvePaths(env);
  const turns: ScriptedTurn[] = [];
  const conversations = [conversation("conv-1"), conversation("conv-2", "about tests")];
  const queues = new Map<string, TurnQueue>();
  const script = [...(options.turns ?? [])];
  const model = options.model ?? MODEL.handle;
  const agent = { ...AGENT, model };
  let mode: PermissionMode = "standard";
  const user: App["settings"]["user"] = {};
  const local: App["settings"]["local"] = {};
  const unused = (name: string) => () => {
    throw new LettaError("internal", `the scripted app has no ${name}`);
  };
  const parts = {
    env,
    paths,
    cwd: options.cwd ?? options.home,
    serverKey: "local:test",
    settings: {
      user,
      project: {},
      local,
      managed: {},
      projectRoot: null,
      problems: [],
      updateUser: async (change: (settings: typeof user) => void) => change(user),
      updateLocal: async (change: (settings: typeof local) => void) => change(local),
      updateProject: unused("project settings"),
    },
    secrets: { location: "a file", listProviders: async () => [], findKey: async () => null },
    trust: { status: "nothing", items: [], grant: async () => {}, revoke: async () => {}, ...options.trust },
    permissions: {
      get mode() {
        return mode;
      },
      modeSource: "default",
      setMode(next: PermissionMode) {
        mode = next;
      },
      addRule: async () => {},
      hidesPath: () => false,
      deniedReads: () => ({ paths: [], denies: null }),
      listRules: () => [{ effect: "allow", rule: "Bash(npm test)", source: "user" }],
    },
    tools: {
      find: () => undefined,
      list: () => [],
      select: () => ({ tools: [], unknown: [] }),
      understand: () => undefined,
      register: unused("tools"),
    },
    models: {
      listModels: async () => (model ? [MODEL] : []),
      resolveModel: async () => MODEL,
      defaultModel: async () => model || null,
    },
    services: {
      shells: unused("shells"),
      childEnv: () => ({}),
      secrets: NO_SECRET_GUARD,
      background: { onFinished: () => () => {} },
    },
    backend: {
      kind: "local",
      retrieveAgent: async () => agent,
      updateAgent: async (_id: string, patch: object) => Object.assign(agent, patch),
      listAgents: async () => ({ items: [agent], nextCursor: null }),
      retrieveConversation: async (id: string) => {
        const found = conversations.find((candidate) => candidate.id === id);
        if (!found) throw new LettaError("not_found", `no conversation ${id}`);
        return found;
      },
      listConversations: async () => ({ items: conversations, nextCursor: null }),
      createConversation: async (body: { summary?: string | null }) => {
        const created = conversation(`conv-${conversations.length + 1}`, body.summary ?? null);
        conversations.push(created);
        return created;
      },
      updateConversation: async (ref: { conversationId: string }, patch: object) =>
        Object.assign(conversations.find((candidate) => candidate.id === ref.conversationId) ?? {}, patch),
      resumeTail: async () => ({
        conversation: conversations[0],
        messages: options.messages ?? [],
        pendingToolCallIds: [],
      }),
      searchMessages: async () => [],
    },
    engine: {
      submit(input: TurnInput): Turn {
        const turn = new ScriptedTurn(input);
        turns.push(turn);
        void play(turn, script.shift() ?? [text("ok")]);
        return turn;
      },
      queue({ agentId, conversationId }: { agentId: string; conversationId: string }) {
        const key = `${agentId}/${conversationId}`;
        const queue = queues.get(key) ?? new TurnQueue();
        queues.set(key, queue);
        return queue;
      },
      compact: unused("compaction"),
    },
    sessionHooks: { begin() {} },
    reflection: { onNews() {}, resume() {} },
    memorySync: { onNews: () => () => {}, begin() {} },
    close: async () => {},
  };
  return { app: parts as unknown as App, turns, conversations, queues };
}

async function play(turn: ScriptedTurn, steps: Step[]): Promise<void> {
  turn.emit({ type: "turn_started", agentId: "agent-1", conversationId: "conv-1", model: "scripted/stand-in" });
  turn.emit({ type: "step_started", step: 1 });
  let ended = false;
  for (const step of steps) {
    if (typeof step === "function") await step(turn);
    else {
      turn.emit(step);
      ended = step.type === "turn_ended";
    }
    if (turn.aborted) break;
  }
  if (!ended) {
    const status = turn.aborted ? ("interrupted" as const) : ("completed" as const);
    turn.emit({ type: "turn_ended", result: turnResult({ status }) });
  }
  turn.close();
}
