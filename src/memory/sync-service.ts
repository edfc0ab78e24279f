// Keeps the memories of one process and their remotes together: what the remote has comes in before an agent's first turn,
// what was committed goes out after each, beside whatever else goes on. Per agent one thing happens at a time. Nothing here
// fails a turn: what went wrong is news for the person and a note for the agent, said once until it was right in between.
// A memory without a remote is only looked at for what was left uncommitted.

import { wait } from "@/lib/abort.ts";
import { errorMessage, hintOf, LettaError } from "@/lib/errors.ts";
import type { AgentSecrets } from "@/store/agent-secrets.ts";
import type { ClientState } from "@/store/client-state.ts";
import type { Env } from "@/store/env.ts";
import { REPOSITORY_BYTES } from "./limits.ts";
import type { AgentMemory } from "./service.ts";
import type { PullResult, SyncOptions, SyncResult } from "./sync.ts";
import { createSyncNotes } from "./sync-notes.ts";
import { findUnfinished } from "./unfinished.ts";

/** `--memfs-startup`: the first turn waits for what the remote has, goes on beside it, or nothing is asked for. */
export type StartMode = "blocking" | "background" | "skip";

export interface SyncNews {
  agentId: string;
  /** `info`: worth knowing where somebody watches. */
  level: "info" | "warning";
  /** One line. */
  text: string;
}

export interface MemorySyncOptions {
  /** Null for an agent that has none. */
  memoryOf(agentId: string): Promise<AgentMemory | null>;
  env: Pick<Env, "all">;
  agentSecrets: Pick<AgentSecrets, "find">;
  clientState: ClientState;
  /** Default: `blocking`. */
  start?: StartMode;
  /** How long a first turn waits for the remote; then the fetch goes on beside it. Default 10 s. */
  startWaitMs?: number;
  /** How long `close` waits for what is being sent. Default 10 s. */
  exitWaitMs?: number;
  sync?: Pick<SyncOptions, "pause" | "random">;
}

export interface MemorySync {
  /** An agent is about to be talked to: what the remote has is fetched. Returns at once and never throws. */
  begin(agentId: string): void;
  /** Before a turn: the first one of an agent gets what the remote has. Never throws; ends early when the signal aborts. */
  beforeTurn(agentId: string, signal: AbortSignal): Promise<void>;
  /** Returns at once and never throws. */
  afterTurn(agentId: string): void;
  /** A dream may have changed the memory, or left a lot of objects. As `afterTurn`. */
  afterDream(agentId: string): void;
  /** What the agent should hear before its next message; then nothing is. */
  takeNotes(agentId: string): string[];
  /** Returns the unsubscribe function. */
  onNews(listener: (news: SyncNews) => void): () => void;
  /** From now on nothing is waited for. */
  stop(): void;
  /** Waits for what is being sent, not for long, and tidies up. */
  close(): Promise<void>;
}

const START_WAIT_MS = 10_000;
const EXIT_WAIT_MS = 10_000;
/** From then on whoever waits for the end is told why. */
const EXIT_SILENCE_MS = 1_000;
/** Client state of an agent: how its last sync ended, where that was not well. */
const STATE = "memory_sync";

export function createMemorySync(options: MemorySyncOptions): MemorySync {
  return new MemorySyncService(options);
}

type Outcome = Pick<SyncResult | PullResult, "status" | "summary" | "hint">;

class MemorySyncService implements MemorySync {
  readonly #options: MemorySyncOptions;
  readonly #notes = createSyncNotes();
  readonly #listeners = new Set<(news: SyncNews) => void>();
  /** By agent: its first turn's fetch. */
  readonly #begun = new Map<string, Promise<void>>();
  /** By agent: the end of what it has to do. */
  readonly #work = new Map<string, Promise<void>>();
  /** Agents whose next sync has not begun yet: it will see what is committed until then. */
  readonly #queued = new Set<string>();
  /** By agent: the last warning, null when all was well since. */
  readonly #told = new Map<string, string | null>();
  readonly #stopped = new AbortController();
  readonly #closing = new AbortController();

  constructor(options: MemorySyncOptions) {
    this.#options = options;
  }

  begin(agentId: string): void {
    if (this.#closing.signal.aborted || this.#begun.has(agentId)) return;
    const { start = "blocking" } = this.#options;
    this.#begun.set(
      agentId,
      this.#enqueue(agentId, () => this.#begin(agentId, start)),
    );
  }

  async beforeTurn(agentId: string, signal: AbortSignal): Promise<void> {
    const { start = "blocking", startWaitMs = START_WAIT_MS } = this.#options;
    this.begin(agentId);
    const begun = this.#begun.get(agentId);
    if (start === "background" || !begun) return;
    const waiting = new AbortController();
    const limit = wait(startWaitMs, AbortSignal.any([signal, waiting.signal])).then(() => {
      if (waiting.signal.aborted || signal.aborted) return;
      const seconds = Math.round(startWaitMs / 1000);
      const text = `Memory: the remote has not answered for ${seconds} s; going on with what is here.`;
      this.#tell({ agentId, level: "warning", text });
    });
    await Promise.race([begun, limit]);
    waiting.abort();
  }

  afterTurn(agentId: string): void {
    this.#afterChange(agentId, async () => {});
  }

  afterDream(agentId: string): void {
    this.#afterChange(agentId, (memory) => tidy(memory));
  }

  takeNotes(agentId: string): string[] {
    return this.#notes.take(agentId);
  }

  onNews(listener: (news: SyncNews) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  stop(): void {
    this.#stopped.abort();
    this.#closing.abort(new LettaError("cancelled", "letta is leaving"));
  }

  async close(): Promise<void> {
    const { exitWaitMs = EXIT_WAIT_MS } = this.#options;
    const done = new AbortController();
    const work = Promise.all(this.#work.values()).finally(() => done.abort());
    const leave = AbortSignal.any([done.signal, this.#stopped.signal]);
    const silence = Math.min(EXIT_SILENCE_MS, exitWaitMs);
    await wait(silence, leave);
    for (const agentId of leave.aborted ? [] : this.#work.keys()) {
      this.#tell({ agentId, level: "info", text: "Memory: still talking to the remote…" });
    }
    await wait(exitWaitMs - silence, leave);
    this.#closing.abort(new LettaError("cancelled", "letta is leaving"));
    await work;
    if (!this.#stopped.signal.aborted) await Promise.all([...this.#begun.keys()].map((id) => this.#tidyUp(id)));
  }

  #afterChange(agentId: string, then: (memory: AgentMemory) => Promise<void>): void {
    if (this.#closing.signal.aborted || this.#queued.has(agentId)) return;
    this.#queued.add(agentId);
    void this.#enqueue(agentId, async () => {
      this.#queued.delete(agentId);
      const memory = await this.#find(agentId);
      if (!memory) return;
      await this.#sync(memory);
      await then(memory);
    });
  }

  /** Never rejects. */
  #enqueue(agentId: string, job: () => Promise<void>): Promise<void> {
    const quietly = () => job().catch((error: unknown) => this.#report(agentId, failure(error)));
    const work = (this.#work.get(agentId) ?? Promise.resolve()).then(quietly).finally(() => {
      if (this.#work.get(agentId) === work) this.#work.delete(agentId);
    });
    this.#work.set(agentId, work);
    return work;
  }

  /** The agent's memory, if it has been made and the agent still exists. */
  async #find(agentId: string): Promise<AgentMemory | null> {
    const nothing = (): null => null; // An agent that is gone has nothing to sync.
    const memory = await this.#options.memoryOf(agentId).catch(nothing);
    return memory?.exists() ? memory : null;
  }

  async #begin(agentId: string, mode: StartMode): Promise<void> {
    const memory = await this.#find(agentId);
    if (!memory) return;
    const repository = await memory.ensure();
    const isRemote = mode !== "skip" && repository.getConfig("remote.origin.url") !== null;
    const before = this.#options.clientState.find(agentId, STATE);
    if (before === undefined && !isRemote) return;
    const dir = memory.places.memory;
    if (before !== undefined) {
      // What another process left behind may have been settled since.
      const here = await look(memory);
      this.#notes.add(agentId, dir, here);
      this.#remember(agentId, here.status);
    }
    if (!isRemote) return;
    const { pullMemory } = await import("./sync.ts");
    const result = await this.#guard(agentId, async (options) => pullMemory(await this.#open(memory), options));
    if (!result) return;
    this.#notes.add(agentId, dir, result);
    this.#report(agentId, result);
    if (result.status === "updated") {
      this.#tell({ agentId, level: "info", text: `Memory: ${result.summary}` });
    }
  }

  async #sync(memory: AgentMemory): Promise<void> {
    const { id } = memory.agent;
    const isRemote = (await memory.ensure()).getConfig("remote.origin.url") !== null;
    const result = await this.#guard(id, async (options) => {
      if (!isRemote) return look(memory);
      const { syncAfterTurn } = await import("./sync.ts");
      return syncAfterTurn(await this.#open(memory), options);
    });
    if (!result) return;
    this.#notes.add(id, memory.places.memory, result);
    this.#remember(id, result.status);
    this.#report(id, result);
  }

  async #open(memory: AgentMemory) {
    const { openSyncedMemory } = await import("./open-remote.ts");
    return openSyncedMemory(memory, this.#options);
  }

  /** A remote that is none we talk to is a result; null: it was stopped. */
  async #guard<Result extends Outcome>(
    agentId: string,
    run: (options: SyncOptions) => Promise<Result>,
  ): Promise<Result | Outcome | null> {
    const { signal } = this.#closing;
    try {
      return await run({ ...this.#options.sync, signal });
    } catch (error) {
      if (!signal.aborted) return failure(error);
      const text = "Memory: the remote did not answer in time. It is tried again with the next turn.";
      if (!this.#stopped.signal.aborted) this.#tell({ agentId, level: "warning", text });
      return null;
    }
  }

  /** So that the next process looks, too. */
  #remember(agentId: string, status: Outcome["status"]): void {
    const { clientState } = this.#options;
    const value = ["dirty", "conflict"].includes(status) ? status : undefined;
    try {
      if (clientState.find(agentId, STATE) !== value) clientState.set(agentId, STATE, value);
    } catch {
      // A full disk: the agent is told in this process all the same.
    }
  }

  /** To the person, once until it was right in between. */
  #report(agentId: string, { status, summary, hint }: Outcome): void {
    const isWrong = ["conflict", "dirty", "push_failed", "failed", "memory_diverged"].includes(status);
    const text = isWrong ? `Memory: ${[summary, hint].filter(Boolean).join(" ")}` : null;
    if (text !== null && this.#told.get(agentId) !== text) this.#tell({ agentId, level: "warning", text });
    this.#told.set(agentId, text);
  }

  async #tidyUp(agentId: string): Promise<void> {
    try {
      const memory = await this.#find(agentId);
      if (!memory) return;
      const { bytes } = await (await memory.ensure()).footprint();
      await tidy(memory);
      if (bytes <= REPOSITORY_BYTES) return;
      const size = `${Math.round(bytes / 1024 / 1024)} MiB`;
      const text = `Memory: ${memory.agent.name}'s repository has grown to ${size}. Large files belong elsewhere, with a note where they are.`;
      this.#tell({ agentId, level: "warning", text });
    } catch {
      // Tidying can wait; a repository that cannot be read has been reported by whoever needed it.
    }
  }

  #tell(news: SyncNews): void {
    for (const listener of this.#listeners) listener(news);
  }
}

/** Without a remote that is all there is to find. */
async function look(memory: AgentMemory): Promise<Outcome> {
  return (await findUnfinished(await memory.ensure())) ?? { status: "clean", summary: "" };
}

/** Only where it is time for it. */
async function tidy(memory: AgentMemory): Promise<void> {
  const repository = await memory.ensure();
  if ((await repository.footprint()).untidy) await repository.maintain();
}

function failure(error: unknown): Outcome {
  const hint = hintOf(error);
  return { status: "failed", summary: `${errorMessage(error)}`, ...(hint !== undefined && { hint }) };
}
