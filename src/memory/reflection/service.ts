// Reflection of one process: notices when it is due, runs one dream per agent at a time (in this process and all others),
// and tells what became of it. Everything that works is loaded when something is due.

import type { Database } from "bun:sqlite";
import type { Backend, ConversationRef } from "@/backend/backend.ts";
import type { AgentState } from "@/backend/wire.ts";
import { errorMessage, LettaError } from "@/lib/errors.ts";
import type { Watchdog } from "@/lib/watchdog.ts";
import type { AgentMemory } from "@/memory/service.ts";
import type { Env } from "@/store/env.ts";
import type { LeaseHolder, Leases } from "@/store/leases.ts";
import type { Paths } from "@/store/paths.ts";
import type { SettingsStore } from "@/store/settings.ts";
import { type Cursors, createCursors } from "./cursors.ts";
import type { DreamOutcome } from "./dream.ts";
import { readFacts } from "./facts.ts";
import type { DreamRecord } from "./journal.ts";
import { DREAM_TIMEOUT_MS } from "./limits.ts";
import type { Redact } from "./payload.ts";
import type { ProposedFile } from "./proposals.ts";
import type { Recovered } from "./recover.ts";
import { type MergeMode, type ReflectionChoice, resolveReflection } from "./settings.ts";
import type { SettleDeps } from "./settle.ts";
import type { Slice } from "./transcript.ts";
import { judgeTrigger, type TriggerVerdict } from "./trigger.ts";

export interface ReflectionOptions {
  db: Database;
  backend: Backend;
  leases: Leases;
  settings: SettingsStore;
  env: Env;
  paths: Pick<Paths, "transcripts">;
  /** Null for an agent that has none. */
  memoryOf(agent: AgentState): AgentMemory | null;
  /** What takes secrets out of texts, as of now. */
  openRedaction(): Promise<Redact>;
  /** Flags: beat settings, in this process. */
  flags?: Partial<Pick<ReflectionChoice, "trigger" | "stepCount">>;
  /** What is done when a dream is due after a turn: it runs beside the next ones, it is started when this process ends,
   *  or nothing. */
  whenDue: "in_background" | "at_exit" | "never";
  /** A dream has come to its end, or a waiting one was accepted: the memory may be another one. Must not throw. */
  onChange?(agentId: string): void;
  /** Shown to a process that finds the agent dreaming. */
  label: string;
  watchdog(): Watchdog;
  now?: () => number;
}

export interface DreamCommand {
  agentId: string;
  /** What is looked back on. */
  from:
    | { conversations: string[]; reason?: string }
    | { recent: number }
    | { auto: true; current: string | null }
    /** A transcript of another program, under a name of its own. */
    | { external: { conversationId: string; rows: Parameters<typeof import("./transcript.ts").cutSlice>[1] } };
  /** Only when the settings say that it is time. One conversation. */
  ifDue?: boolean;
  instruction?: string;
  system?: string;
  prompt?: string;
  model?: string;
  timeoutMs?: number;
  /** Default: as the settings say. */
  merge?: MergeMode;
  signal?: AbortSignal;
}

export type DreamResult =
  | { launched: false; reason: "already_active"; holder: LeaseHolder; recovered: Recovered[] }
  | { launched: false; reason: "no_payload"; recovered: Recovered[] }
  | { launched: false; reason: "not_due"; because: TriggerVerdict["because"]; recovered: Recovered[] }
  | { launched: true; outcome: DreamOutcome; conversationIds: string[]; recovered: Recovered[] };

export interface TurnFacts extends ConversationRef {
  isCompleted: boolean;
  /** Message ids of compactions during the turn. */
  compactions: string[];
}

export interface DreamNews {
  agentId: string;
  conversationId: string;
  result: DreamResult | { failed: string };
}

export interface Reflection {
  choice(agentId: string): ReflectionChoice;
  /** Called when a turn has ended and its conversation is free. Returns at once and never throws. */
  afterTurn(turn: TurnFacts): void;
  dream(command: DreamCommand): Promise<DreamResult>;
  /** Brings to their end, in the background, dreams whose process was killed. Returns at once and never throws. */
  resume(agentId: string): void;
  /** True while a dream of this process runs for the agent. */
  isDreaming(agentId: string): boolean;
  /** What became of dreams, the latest first. */
  list(agentId: string): Promise<DreamRecord[]>;
  /** What a dream would change, or changed. By its id or a part of it. */
  show(agentId: string, id: string): Promise<{ record: DreamRecord; files: ProposedFile[] }>;
  accept(agentId: string, id: string): Promise<{ record: DreamRecord; head: string; paths: string[] }>;
  reject(agentId: string, id: string): Promise<DreamRecord>;
  /** News of dreams that nobody waited for. Returns the unsubscribe function. */
  onNews(listener: (news: DreamNews) => void): () => void;
  /** `whenDue: at_exit`: the conversation whose dream is due and was asked for in the settings. */
  takeDueAtExit(): Promise<ConversationRef | null>;
  /** Stops dreams of this process; what they had finished is kept. */
  close(): Promise<void>;
}

export function createReflection(options: ReflectionOptions): Reflection {
  return new ReflectionService(options);
}

class ReflectionService implements Reflection {
  readonly #options: ReflectionOptions;
  readonly #cursors: Cursors;
  readonly #listeners = new Set<(news: DreamNews) => void>();
  readonly #closing = new AbortController();
  /** By agent: the conversation that asked while a dream ran, null when none did. */
  readonly #dreaming = new Map<string, ConversationRef | null>();
  readonly #work = new Set<Promise<void>>();
  #dueAtExit: ConversationRef | null = null;

  constructor(options: ReflectionOptions) {
    this.#options = options;
    this.#cursors = createCursors(options.db, options.now);
  }

  choice(agentId: string): ReflectionChoice {
    return resolveReflection(this.#options.settings, agentId, this.#options.flags);
  }

  afterTurn(turn: TurnFacts): void {
    const { whenDue } = this.#options;
    if (this.#closing.signal.aborted) return;
    const { trigger } = this.choice(turn.agentId);
    this.#noteCompactions(turn, trigger !== "off");
    if (whenDue === "never" || trigger === "off" || !turn.isCompleted) return;
    this.#track(this.#consider(turn));
  }

  async dream(command: DreamCommand): Promise<DreamResult> {
    return (await this.#dreamReserved(command)).result;
  }

  resume(agentId: string): void {
    if (!this.#closing.signal.aborted) this.#track(this.#resume(agentId));
  }

  isDreaming(agentId: string): boolean {
    return this.#dreaming.has(agentId);
  }

  async list(agentId: string): Promise<DreamRecord[]> {
    const memory = this.#options.memoryOf(await this.#options.backend.retrieveAgent(agentId));
    if (!memory?.exists()) return [];
    const { openDreamJournal } = await import("./journal.ts");
    return openDreamJournal(memory.places.memory).read().reverse();
  }

  async show(agentId: string, id: string): Promise<{ record: DreamRecord; files: ProposedFile[] }> {
    const { findDream, describeProposal } = await import("./proposals.ts");
    const deps = await this.#settleDeps(await this.#memoryOf(agentId));
    const record = findDream(deps.journal.read(), id);
    return { record, files: await describeProposal(deps.memory, record) };
  }

  async accept(agentId: string, id: string): Promise<{ record: DreamRecord; head: string; paths: string[] }> {
    const { findDream, acceptProposal } = await import("./proposals.ts");
    const deps = await this.#settleDeps(await this.#memoryOf(agentId));
    const record = findDream(deps.journal.read(), id);
    const accepted = await acceptProposal(record, this.#options.label, deps);
    this.#options.onChange?.(agentId);
    return { record, ...accepted };
  }

  async reject(agentId: string, id: string): Promise<DreamRecord> {
    const { findDream, rejectProposal } = await import("./proposals.ts");
    const deps = await this.#settleDeps(await this.#memoryOf(agentId));
    const record = findDream(deps.journal.read(), id);
    await rejectProposal(record, this.#options.label, deps);
    return record;
  }

  onNews(listener: (news: DreamNews) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  async takeDueAtExit(): Promise<ConversationRef | null> {
    await Promise.all(this.#work);
    const due = this.#dueAtExit;
    this.#dueAtExit = null;
    return due;
  }

  async close(): Promise<void> {
    this.#closing.abort(new LettaError("cancelled", "letta is leaving"));
    await Promise.all(this.#work);
  }

  #noteCompactions({ agentId, conversationId, compactions }: TurnFacts, wanted: boolean): void {
    const ref = { agentId, conversationId };
    const latest = compactions.at(-1);
    try {
      if (!wanted) {
        if (this.#cursors.find(ref).pendingCompaction !== null) this.#cursors.setCompaction(ref, null);
      } else if (latest !== undefined) this.#cursors.setCompaction(ref, latest);
    } catch {
      // A full disk: the turn itself has told so. At worst a dream comes later.
    }
  }

  async #consider({ agentId, conversationId }: ConversationRef): Promise<void> {
    const ref = { agentId, conversationId };
    try {
      if (!(await this.#isWorthIt(ref))) return;
      const { due } = await this.#judge(ref);
      if (!due) return;
      if (this.#options.whenDue === "at_exit") {
        // Nobody is asked and nobody watches: only for who said that this agent is to dream.
        if (this.choice(agentId).chosen) this.#dueAtExit = ref;
        return;
      }
      if (this.#dreaming.has(agentId)) {
        this.#dreaming.set(agentId, ref);
        return;
      }
      await this.#dreamInBackground(ref);
    } catch (error) {
      this.#tell(ref, { failed: errorMessage(error) });
    }
  }

  async #dreamInBackground(ref: ConversationRef): Promise<void> {
    let next: ConversationRef | null = ref;
    while (next !== null && !this.#closing.signal.aborted) {
      const current: ConversationRef = next;
      const { agentId, conversationId } = current;
      const from = { conversations: [conversationId] };
      const { result, queued } = await this.#dreamReserved({ agentId, from, ifDue: true });
      if (result.launched || result.recovered.length > 0) this.#tell(current, result);
      next = queued;
    }
  }

  async #resume(agentId: string): Promise<void> {
    const ref = { agentId, conversationId: "" };
    try {
      const isOpen = (record: DreamRecord) => record.end === null;
      if (!(await this.list(agentId)).some(isOpen)) return;
      const { leases, label, paths } = this.#options;
      const attempt = leases.tryAcquire(`reflection:${agentId}`, label);
      // It is being worked on.
      if (attempt.status === "busy") return;
      await using _lease = attempt.lease;
      const memory = await this.#memoryOf(agentId);
      const { recoverDreams } = await import("./recover.ts");
      const recovered = await recoverDreams({
        ...(await this.#settleDeps(memory)),
        payloads: `${paths.transcripts}/${agentId}`,
        now: this.#options.now ?? Date.now,
      });
      if (recovered.length === 0) return;
      this.#options.onChange?.(agentId);
      this.#tell(ref, { launched: false, reason: "no_payload", recovered });
    } catch (error) {
      this.#tell(ref, { failed: errorMessage(error) });
    }
  }

  /** Under the lease that makes it the agent's only dream. `queued`: who asked meanwhile. */
  async #dreamReserved(command: DreamCommand): Promise<{ result: DreamResult; queued: ConversationRef | null }> {
    const { agentId, signal } = command;
    const { leases, label } = this.#options;
    const attempt = leases.tryAcquire(`reflection:${agentId}`, label);
    if (attempt.status === "busy") {
      const { holder } = attempt;
      return { result: { launched: false, reason: "already_active", holder, recovered: [] }, queued: null };
    }
    await using lease = attempt.lease;
    this.#dreaming.set(agentId, null);
    try {
      const signals = [lease.lost, this.#closing.signal, ...(signal ? [signal] : [])];
      const result = await this.#dreamAlone(command, AbortSignal.any(signals));
      if (result.launched || result.recovered.length > 0) this.#options.onChange?.(agentId);
      return { result, queued: this.#dreaming.get(agentId) ?? null };
    } finally {
      this.#dreaming.delete(agentId);
    }
  }

  async #dreamAlone(command: DreamCommand, signal: AbortSignal): Promise<DreamResult> {
    const { backend, env, paths } = this.#options;
    const { agentId } = command;
    const agent = await backend.retrieveAgent(agentId);
    const agentMemory = this.#requireMemory(agent);
    const [settleDeps, { recoverDreams }, { runDream }, { openSlices }] = await Promise.all([
      this.#settleDeps(agentMemory),
      import("./recover.ts"),
      import("./dream.ts"),
      import("./slices.ts"),
    ]);
    const payloads = `${paths.transcripts}/${agentId}`;
    const now = this.#options.now ?? Date.now;
    const recovered = await recoverDreams({ ...settleDeps, payloads, now });
    if (command.ifDue && "conversations" in command.from) {
      const verdict = await this.#judge({ agentId, conversationId: command.from.conversations[0]! });
      if (!verdict.due) return { launched: false, reason: "not_due", because: verdict.because, recovered };
    }
    const slices = await openSlices(command.from, { backend, cursors: this.#cursors, agentId, now: now() });
    if (slices.length === 0) return { launched: false, reason: "no_payload", recovered };
    const conversationIds = slices.map(({ conversationId }) => conversationId);
    const choice = this.choice(agentId);
    const outcome = await runDream(
      {
        slices,
        compactions: new Map(
          slices.map((slice) => [slice.conversationId, this.#cursors.find(slice).pendingCompaction]),
        ),
        selectionPolicy: Object.keys(command.from)[0]!,
        ...(command.instruction && { instruction: command.instruction }),
        ...(command.system && { system: command.system }),
        ...(command.prompt && { prompt: command.prompt }),
        model: command.model ?? (await this.#modelOf(agent, slices[0]!)),
        merge: command.merge ?? choice.merge,
        timeoutMs: command.timeoutMs ?? DREAM_TIMEOUT_MS,
        depth: env.subagentDepth,
        signal,
      },
      await this.#dreamDeps(agentMemory, settleDeps, payloads),
    );
    return { launched: true, outcome, conversationIds, recovered };
  }

  async #dreamDeps(agentMemory: AgentMemory, settleDeps: SettleDeps, payloads: string) {
    const { env, watchdog } = this.#options;
    const [{ launchChild }, { parseDefinition }, definition, { treeLimits }, { DREAM_OUTPUT_BYTES }] =
      await Promise.all([
        import("@/subagents/launch-child.ts"),
        import("@/subagents/definition.ts"),
        import("../../../agents/reflection.md", { with: { type: "text" } }),
        import("@/memory/render.ts"),
        import("./limits.ts"),
      ]);
    return {
      ...settleDeps,
      agentMemory,
      persona: parseDefinition(definition.default, "reflection.md"),
      treeLimits: treeLimits(env.memoryTree),
      payloads,
      launch: (launch: Parameters<typeof launchChild>[0], how: { signal: AbortSignal; timeoutMs: number }) =>
        launchChild(launch, {
          ...how,
          env: env.all,
          parentAgentId: agentMemory.agent.id,
          watchdog: watchdog(),
          maxOutputBytes: DREAM_OUTPUT_BYTES,
        }),
      now: this.#options.now ?? Date.now,
    };
  }

  async #settleDeps(agentMemory: AgentMemory): Promise<SettleDeps> {
    const [memory, { openDreamJournal }, { mergeMemoryFile }, redact] = await Promise.all([
      agentMemory.ensure(),
      import("./journal.ts"),
      import("@/memory/merge-markdown.ts"),
      this.#options.openRedaction(),
    ]);
    const { places } = agentMemory;
    const journal = openDreamJournal(places.memory, this.#options.now);
    return { memory, worktrees: places.worktrees, journal, cursors: this.#cursors, mergeFile: mergeMemoryFile, redact };
  }

  async #memoryOf(agentId: string): Promise<AgentMemory> {
    return this.#requireMemory(await this.#options.backend.retrieveAgent(agentId));
  }

  #requireMemory(agent: AgentState): AgentMemory {
    const memory = this.#options.memoryOf(agent);
    if (memory) return memory;
    throw new LettaError("usage", `${agent.name} has no memory that a reflection could change`);
  }

  /** Null: what the child would choose, which is what the person configured. */
  async #modelOf(agent: AgentState, { agentId, conversationId }: Slice): Promise<string | null> {
    try {
      const conversation = await this.#options.backend.retrieveConversation(conversationId, agentId);
      return conversation.model || agent.model || null;
    } catch {
      return agent.model || null; // A transcript of another program.
    }
  }

  async #judge(ref: ConversationRef): Promise<TriggerVerdict> {
    const choice = this.choice(ref.agentId);
    const facts = await readFacts(this.#options.backend, ref, this.#cursors.find(ref), choice.stepCount);
    return judgeTrigger(choice, facts);
  }

  /** Forks and agents that only exist for one task have nothing to remember. */
  async #isWorthIt({ agentId, conversationId }: ConversationRef): Promise<boolean> {
    const { backend } = this.#options;
    const [agent, conversation] = await Promise.all([
      backend.retrieveAgent(agentId),
      backend.retrieveConversation(conversationId, agentId),
    ]);
    return this.#options.memoryOf(agent) !== null && !agent.hidden && !conversation.hidden;
  }

  #tell({ agentId, conversationId }: ConversationRef, result: DreamNews["result"]): void {
    for (const listener of this.#listeners) listener({ agentId, conversationId, result });
  }

  #track(work: Promise<void>): void {
    this.#work.add(work);
    void work.finally(() => this.#work.delete(work));
  }
}
