// Letta's REST semantics as an interface. `api/` speaks it over HTTP, `local/` is an in-process Letta server over
// SQLite; the engine cannot tell them apart, and one contract suite (test/backend/contract.ts) runs on both.
//
// Every method throws LettaError; a missing record is `not_found`. Lists are `{items, nextCursor}` everywhere.
// `before` always means older and `after` newer, whatever the order.

import type {
  AgentCreate,
  AgentPatch,
  AgentState,
  CompactionSettings,
  CompactionStats,
  Conversation,
  ConversationCreate,
  ConversationPatch,
  Message,
  MessageType,
  ModelRecord,
  Run,
  SearchHit,
  SendBody,
  StreamChunk,
} from "./wire.ts";

export interface BackendCapabilities {
  /** Memory repo is cloned from and pushed to the server. */
  remoteMemory: boolean;
  /** Memory repo lives in the local store. */
  localMemory: boolean;
  /** Model list and token limits come from this machine's catalogue. */
  localModelCatalog: boolean;
  /** Agent secrets live on the server. */
  serverSecrets: boolean;
  /** Tools can be attached on the server. */
  serverSideTools: boolean;
}

export interface Page<T> {
  items: T[];
  /** Pass as `after` (or `before` when paging back); null at the end. */
  nextCursor: string | null;
}

/** Every agent's implicit main thread; it exists once per agent, so this id alone names nothing. */
export const DEFAULT_CONVERSATION = "default";

/** Names a conversation. */
export interface ConversationRef {
  agentId: string;
  conversationId: string;
}

/** Right to write to one conversation (store/leases.ts). A backend refuses writes of a fence that is not current. */
export interface Fence {
  key: string;
  fence: number;
}

export interface SendOptions {
  signal?: AbortSignal;
  /** The local backend checks it inside each write transaction (`lease_lost`); a server has its own locking. */
  fence?: Fence;
  /** Asked before a conversation is shrunk by itself; a text is the reason why it must not be. Then a request that is too
   *  long fails, and one that is only getting long is sent as it is. Must not throw. A server elsewhere does not ask. */
  beforeCompaction?(about: CompactionOutlook): Promise<string | null>;
}

export interface CompactionOutlook {
  trigger: CompactionStats["trigger"];
  /** Estimated tokens of the request. */
  contextTokens: number;
  /** Null: unknown. */
  contextWindow: number | null;
}

export interface ListMessagesQuery {
  before?: string;
  after?: string;
  /** Default 50. */
  limit?: number;
  /** Default `desc` (newest first). */
  order?: "asc" | "desc";
  types?: MessageType[];
  /** Only what is in the model's window. Default false: whole history. */
  inContextOnly?: boolean;
}

export interface StreamQuery {
  /** Only chunks with a larger `seq_id`. Default 0. */
  startingAfter?: number;
  signal?: AbortSignal;
}

/** What a front end needs to show and continue a conversation, in one call. */
export interface ResumeTail {
  conversation: Conversation;
  /** Oldest first. */
  messages: Message[];
  /** Calls of the last reply that nobody answered. */
  pendingToolCallIds: string[];
}

export interface SearchQuery {
  query: string;
  agentId?: string;
  conversationId?: string;
  startDate?: string;
  endDate?: string;
  /** Default false: hidden conversations are not searched. */
  includeHidden?: boolean;
  /** Default 10. */
  limit?: number;
}

export interface CompactResult {
  num_messages_before: number;
  num_messages_after: number;
  summary: string;
}

export interface Backend {
  readonly kind: "api" | "local";
  readonly capabilities: BackendCapabilities;

  retrieveAgent(id: string): Promise<AgentState>;
  /** Newest `last_run_completion` first; hidden agents excluded. `query` is a substring of name, description, id, model. */
  listAgents(query?: {
    name?: string;
    query?: string;
    tags?: string[];
    matchAllTags?: boolean;
    after?: string;
    limit?: number;
    includeHidden?: boolean;
  }): Promise<Page<AgentState>>;
  createAgent(body: AgentCreate): Promise<AgentState>;
  updateAgent(id: string, patch: AgentPatch): Promise<AgentState>;
  /** Its conversations, messages and runs go with it. */
  deleteAgent(id: string): Promise<void>;

  /** `agentId` is needed for `default`. */
  retrieveConversation(id: string, agentId?: string): Promise<Conversation>;
  /** Latest activity first; `default` included only when it has messages. */
  listConversations(query?: {
    agentId?: string;
    after?: string;
    limit?: number;
    search?: string;
    includeHidden?: boolean;
    archived?: "unarchived" | "archived" | "all";
  }): Promise<Page<Conversation>>;
  createConversation(body: ConversationCreate): Promise<Conversation>;
  updateConversation(ref: ConversationRef, patch: ConversationPatch): Promise<Conversation>;
  deleteConversation(ref: ConversationRef): Promise<void>;
  /** Copies the window up to and including `messageId` (default: all of it). */
  forkConversation(ref: ConversationRef, options?: { messageId?: string; hidden?: boolean }): Promise<Conversation>;

  listMessages(ref: ConversationRef, query?: ListMessagesQuery): Promise<Page<Message>>;
  /** All variants sharing the id. */
  retrieveMessage(id: string): Promise<Message[]>;
  resumeTail(ref: ConversationRef, limit: number): Promise<ResumeTail>;
  searchMessages(query: SearchQuery): Promise<SearchHit[]>;

  /** Sends and streams one run. Chunks end with `stop_reason` and `usage_statistics`; iterating starts the run.
   *  Failures of the model are chunks (`error_message` then `stop_reason`); failures of the send itself are thrown. */
  sendMessages(ref: ConversationRef, body: SendBody, options?: SendOptions): AsyncIterable<StreamChunk>;
  /** Replays and then follows a run, also one of an earlier process. */
  streamRun(runId: string, query?: StreamQuery): AsyncIterable<StreamChunk>;
  retrieveRun(id: string): Promise<Run>;
  /** Newest first. */
  listRuns(ref: ConversationRef, query?: { limit?: number; activeOnly?: boolean }): Promise<Run[]>;
  /** Ends the active run: the provider's socket closes within 100 ms, unanswered tool calls get "Interrupted by user". */
  cancelConversation(ref: ConversationRef): Promise<void>;

  compactConversation(
    ref: ConversationRef,
    settings?: CompactionSettings,
    options?: SendOptions,
  ): Promise<CompactResult>;
  /** Takes back the latest compaction: history is append-only, so the earlier window is restored. False: none. */
  undoCompaction(ref: ConversationRef): Promise<boolean>;
  /** The system prompt as the model gets it; `dryRun` does not save it. */
  recompileConversation(ref: ConversationRef, options?: { dryRun?: boolean }): Promise<string>;

  listModels(): Promise<ModelRecord[]>;
  close(): Promise<void>;
}

/** One string per conversation, also for `default`; key of leases, journal rows and client state. */
export function conversationKey(ref: ConversationRef): string {
  const { agentId, conversationId } = ref;
  return conversationId === DEFAULT_CONVERSATION ? `${DEFAULT_CONVERSATION}:${agentId}` : conversationId;
}
