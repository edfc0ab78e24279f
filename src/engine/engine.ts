// The one turn engine. Front ends submit input and watch events; everything that must behave the same everywhere
// (leases, retries, approvals, execution, recovery, reminders) happens behind `submit`.

import { type Backend, type CompactResult, type ConversationRef, conversationKey } from "@/backend/backend.ts";
import type { AgentState, CompactionSettings, ContentPart } from "@/backend/wire.ts";
import { denialOf, type Hooks } from "@/hooks/service.ts";
import type { SessionHooks } from "@/hooks/session-hooks.ts";
import { AsyncQueue } from "@/lib/async-queue.ts";
import { LettaError } from "@/lib/errors.ts";
import type { PermissionChecker } from "@/permissions/types.ts";
import type { ClientState } from "@/store/client-state.ts";
import type { Journal } from "@/store/journal.ts";
import type { Leases } from "@/store/leases.ts";
import type { AnyTool } from "@/tools/define-tool.ts";
import type { ToolServices } from "@/tools/services.ts";
import type { Decision, EngineEvent, Turn, TurnInput } from "./events.ts";
import { EVENT_BUFFER } from "./limits.ts";
import { TurnQueue } from "./queue.ts";
import { type AbortCause, type Steered, TurnDriver } from "./turn.ts";

export interface Engine {
  /** Starts a turn at once. A conversation that already has one (here or in another process) ends with `busy`. */
  submit(input: TurnInput): Turn;
  /** What waits for a conversation of this process; the front end takes batches from it and submits them. */
  queue(conversation: ConversationRef): TurnQueue;
  /** Shrinks the conversation now. Throws `busy` while a turn runs anywhere. */
  compact(conversation: ConversationRef, settings?: CompactionSettings): Promise<CompactResult>;
}

export type ToolsRequest = ConversationRef & { model: string } & Pick<TurnInput, "approver" | "tools">;

export interface EngineDeps {
  backend: Backend;
  /** The tools of one request, frozen for the calls it leads to. `model`: the handle it goes to. */
  selectTools(request: ToolsRequest): AnyTool[];
  /** A tool that was not offered but may be run all the same, by the name the model used. */
  understandTool(name: string, request: ToolsRequest): AnyTool | undefined;
  permissions: PermissionChecker;
  services: ToolServices;
  leases: Leases;
  journal: Journal;
  clientState: ClientState;
  /** Texts that are due for the next user message. Must not throw. */
  collectReminders(context: { key: string; agent: AgentState; conversationId: string }): Promise<string[]>;
  hooks: Hooks;
  sessionHooks: Pick<SessionHooks, "ready" | "takeContext" | "takeNotices" | "notify" | "count">;
  /** What takes secrets out of texts for the model, as of now. Must not throw. */
  openRedaction(): Promise<(text: string) => string>;
  /** After a compaction the model has forgotten them. */
  rearmReminders(key: string): void;
  /** What an agent should have before its turn begins. Must not throw; ends early when the signal aborts. */
  beforeTurn(turn: ConversationRef, signal: AbortSignal): Promise<void>;
  /** The turn is over and its conversation free: what happens beside the next one begins here. Must not throw. */
  afterTurn(turn: ConversationRef & { isCompleted: boolean; compactions: string[] }): void;
  /** What the backend wants people to know, since the last call. */
  takeWarnings(): string[];
  cwd(): string;
  /** Shown to a process that finds the conversation busy. */
  label: string;
  now(): number;
  logBug(tool: string, error: unknown): void;
  /** Set by `createEngine`. */
  onLeaseLost(turnId: string): void;
}

export function createEngine(options: Omit<EngineDeps, "onLeaseLost">): Engine {
  const active = new Map<string, ActiveTurn>();
  const queues = new Map<string, TurnQueue>();
  const deps: EngineDeps = { ...options, onLeaseLost: (turnId) => active.get(turnId)?.stop("lease_lost") };
  const queueOf = (key: string): TurnQueue => {
    const queue = queues.get(key) ?? new TurnQueue();
    queues.set(key, queue);
    return queue;
  };
  deps.services.background.onFinished((task, notification) => {
    const key = conversationKey({ agentId: task.agentId ?? "", conversationId: task.conversationId });
    const running = [...active.values()].find((turn) => turn.key === key);
    if (running) running.steer(notification, true);
    else queueOf(key).enqueue(notification, "task_notification");
  });
  return {
    submit(input) {
      const key = conversationKey(input);
      const turn = new ActiveTurn(input, key);
      active.set(turn.id, turn);
      void new TurnDriver(input, turn, deps, key).run().finally(() => {
        active.delete(turn.id);
        // A turn that found the conversation busy never began.
        const { began, isCompleted, compactions } = turn;
        if (began) deps.afterTurn({ ...refOf(input), isCompleted, compactions });
        turn.close(({ content, automatic }) => queueOf(key).enqueue(content, automatic ? "task_notification" : "user"));
      });
      return turn;
    },
    queue: (conversation) => queueOf(conversationKey(conversation)),
    async compact(conversation, settings) {
      const key = conversationKey(conversation);
      const attempt = deps.leases.tryAcquire(key, deps.label);
      if (attempt.status === "busy")
        throw new LettaError("busy", "The conversation is busy; compact it when its turn has ended");
      await using lease = attempt.lease;
      await askCompactHooks(conversation, deps);
      const result = await deps.backend.compactConversation(conversation, settings, { fence: lease.fence });
      deps.rearmReminders(key);
      return result;
    },
  };
}

function refOf({ agentId, conversationId }: TurnInput): ConversationRef {
  return { agentId, conversationId };
}

async function askCompactHooks({ agentId, conversationId }: ConversationRef, deps: EngineDeps): Promise<void> {
  const place = { agentId, conversationId, cwd: deps.cwd(), model: null, signal: new AbortController().signal };
  const input = { event_type: "PreCompact" as const, trigger: "manual", conversation_id: conversationId };
  const refusal = denialOf(await deps.hooks.run(input, place));
  if (refusal !== null) throw new LettaError("denied", `A hook refused the compaction: ${refusal}`);
}

/** The handle a front end holds, and the driver's way to it. */
class ActiveTurn implements Turn {
  readonly id = `turn-${crypto.randomUUID()}`;
  readonly events: AsyncIterable<EngineEvent>;
  readonly #queue: AsyncQueue<EngineEvent>;
  readonly #controller = new AbortController();
  readonly #waiting = new Map<string, (decision: Decision | null) => void>();
  readonly #timer: ReturnType<typeof setTimeout> | null;
  began = false;
  isCompleted = false;
  /** Message ids. */
  readonly compactions: string[] = [];
  #cause: AbortCause | null = null;
  #steered: Steered[] = [];

  constructor(
    input: TurnInput,
    readonly key: string,
  ) {
    this.#queue = new AsyncQueue<EngineEvent>(EVENT_BUFFER, () => this.stop("user"));
    this.events = this.#queue;
    const timeoutMs = input.limits?.timeoutMs;
    this.#timer = timeoutMs === undefined ? null : setTimeout(() => this.stop("timeout"), timeoutMs);
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  abortCause(): AbortCause | null {
    return this.#cause;
  }

  emit(event: EngineEvent): Promise<void> {
    if (event.type === "turn_started") this.began = true;
    if (event.type === "turn_ended") this.isCompleted = event.result.status === "completed";
    if (event.type === "compaction") this.compactions.push(event.messageId);
    return this.#queue.push(event);
  }

  emitLive(event: EngineEvent): void {
    this.#queue.offer(event);
  }

  decide(approvalId: string, decision: Decision): void {
    const resolve = this.#waiting.get(approvalId);
    this.#waiting.delete(approvalId);
    resolve?.(decision);
  }

  waitForDecision(approvalId: string): Promise<Decision | null> {
    if (this.#cause) return Promise.resolve(null);
    return new Promise((resolve) => this.#waiting.set(approvalId, resolve));
  }

  steer(content: string | ContentPart[], automatic = false): void {
    this.#steered.push({ content, automatic });
  }

  takeSteered(): Steered[] {
    return this.#steered.splice(0);
  }

  abort(): void {
    this.stop("user");
  }

  /** The first cause wins. */
  stop(cause: AbortCause): void {
    if (this.#cause) return;
    this.#cause = cause;
    this.#controller.abort();
    for (const resolve of this.#waiting.values()) resolve(null);
    this.#waiting.clear();
  }

  /** What was said too late for this turn goes to the conversation's queue. */
  close(requeue: (steered: Steered) => void): void {
    if (this.#timer) clearTimeout(this.#timer);
    for (const steered of this.takeSteered()) requeue(steered);
    this.#queue.close();
  }
}
