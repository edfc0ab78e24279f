// Letta's REST shapes, as the official server sends them. Field names are snake_case because they are the wire:
// `letta server` will put the local backend behind HTTP with exactly these types. Nothing here is ours to rename.
// Source: the public Letta API reference and the stream measured from Letta servers (spec 02 §2.2–2.7).

/** An ISO-8601 UTC time with milliseconds. */
export type IsoTime = string;

export interface TextPart {
  type: "text";
  text: string;
  /** Ours: instructions that nobody typed (a skill's text). A compaction keeps them, people and searches do not see them
   *  as somebody's words. */
  keep?: true;
}
export interface ImagePart {
  type: "image";
  source: { type: "base64"; media_type: string; data: string };
}
/** Content of a user message or of a tool's return. */
export type ContentPart = TextPart | ImagePart;

/** Why one run ended. Servers may add more: treat unknown values as `error`. */
export type StopReason =
  | "end_turn"
  | "requires_approval"
  | "cancelled"
  | "error"
  | "llm_api_error"
  | "invalid_llm_response"
  | "invalid_tool_call"
  | "max_steps"
  | "max_tokens_exceeded"
  | "no_tool_call"
  | "tool_rule"
  | "insufficient_credits"
  | "context_window_overflow_in_system_prompt";

// ── What a client sends ─────────────────────────────────────────────────────────────────────────────────────────

export interface UserInput {
  type: "message";
  /** `system` carries notes of the harness to the model (for example "your reply was empty"). */
  role: "user" | "system";
  content: string | ContentPart[];
  /** Client-made UUID. A backend that already stored this otid ignores the item, so every resend is safe. */
  otid?: string;
}

/** The outcome of one tool call the client executed. */
export interface ToolReturn {
  type: "tool";
  tool_call_id: string;
  tool_return: string | ContentPart[];
  status: "success" | "error";
  stdout?: string[];
  stderr?: string[];
}
/** A tool call that was not executed. */
export interface ApprovalDenial {
  type: "approval";
  tool_call_id: string;
  approve: false;
  reason: string;
}
export type ApprovalItem = ToolReturn | ApprovalDenial;

/** Answers every call of the pending batch at once; partial sets are refused. */
export interface ApprovalInput {
  type: "approval";
  approvals: ApprovalItem[];
  otid?: string;
}
export type InputMessage = UserInput | ApprovalInput;

/** A tool the client executes; the backend stops with `requires_approval` when the model calls it. */
export interface ClientTool {
  name: string;
  description: string;
  /** JSON Schema of type object. */
  parameters: Record<string, unknown>;
}

export interface ClientSkill {
  name: string;
  description: string;
  /** Absolute path of its SKILL.md. */
  location: string;
}

/** Body of `POST /v1/conversations/{id}/messages`. An empty `messages` continues from what is stored. */
export interface SendBody {
  messages: InputMessage[];
  client_tools?: ClientTool[];
  client_skills?: ClientSkill[];
  /** Ours: what the list of skills does not hold, in words. */
  client_skills_note?: string;
  /** This request only; never saved. */
  override_model?: string;
  /** This request only; never saved. */
  override_system?: string;
  /** Needed when the conversation id is the literal `default`. */
  agent_id?: string;
}

// ── What a client receives ──────────────────────────────────────────────────────────────────────────────────────

export interface WireToolCall {
  tool_call_id: string;
  name: string;
  /** JSON text. Whole and parseable in stored messages and from the local backend; fragments while streaming. */
  arguments: string;
}

interface Common {
  id: string;
  date: IsoTime;
  otid?: string;
  run_id?: string;
  step_id?: string;
  /** Increases within a run; the resume cursor. */
  seq_id?: number;
}

/** One stored message as the REST API lists it. One model reply becomes several of these. */
export type Message =
  | (Common & { message_type: "user_message"; content: string | ContentPart[] })
  | (Common & { message_type: "system_message"; content: string })
  | (Common & {
      message_type: "reasoning_message";
      reasoning: string;
      source?: "reasoner_model" | "non_reasoner_model";
      signature?: string;
    })
  | (Common & {
      message_type: "assistant_message";
      content: string | TextPart[];
      /** Ours: the text was cut by a crash, an abort or a broken stream. */
      interrupted?: boolean;
    })
  | (Common & { message_type: "approval_request_message"; tool_call: WireToolCall })
  | (Common & { message_type: "tool_call_message"; tool_call: WireToolCall })
  | (Common & {
      message_type: "tool_return_message";
      tool_call_id: string;
      name?: string;
      tool_return: string | ContentPart[];
      status: "success" | "error";
      stdout?: string[];
      stderr?: string[];
    })
  | (Common & { message_type: "approval_response_message"; approvals: ApprovalItem[]; approval_request_id?: string })
  | (Common & { message_type: "summary_message"; summary: string; compaction_stats?: CompactionStats })
  | (Common & {
      message_type: "event_message";
      event_type: "compaction" | "retry";
      event_data: Record<string, unknown>;
    });

export type MessageType = Message["message_type"];

export interface CompactionStats {
  trigger: "manual" | "context_window_limit" | "context_window_overflow";
  context_tokens_before?: number;
  context_tokens_after?: number;
  context_window: number;
  messages_count_before: number;
  messages_count_after: number;
}

export interface UsageStatistics {
  prompt_tokens: number;
  completion_tokens: number;
  total_tokens: number;
  step_count: number;
  cached_input_tokens?: number;
  cache_write_tokens?: number;
  reasoning_tokens?: number;
  /** Tokens now in the model's window. */
  context_tokens?: number;
  /** Ours: US dollars from the model catalogue, or as billed by the provider; absent when unknown. */
  cost_usd?: number;
}

/** Failure of a run, decided where the response was at hand. */
export interface WireError {
  message_type: "error_message";
  /** `llm_authentication`, `llm_rate_limit`, `llm_insufficient_credits`, `llm_bad_request`, `llm_not_found`,
   *  `llm_context_window`, `llm_error`, `local_backend_error`, … */
  error_type: string;
  message: string;
  detail?: string;
  run_id: string;
  seq_id?: number;
  /** Ours: whether sending again may help; absent from other servers. */
  retryable?: boolean;
  /** Ours: the provider's `retry-after`, in milliseconds. */
  retry_after_ms?: number;
  /** Ours: HTTP status of the provider. */
  status?: number;
  /** Ours: what the user can do. */
  hint?: string;
}

/** One SSE frame of a run. Text and reasoning arrive as deltas; tool calls of the local backend arrive whole. */
export type StreamChunk =
  | Message
  | (Common & { message_type: "stop_reason"; stop_reason: StopReason })
  | (Common & { message_type: "usage_statistics" } & UsageStatistics)
  | (WireError & { id: string; date: IsoTime })
  | { message_type: "ping"; run_id?: string };

// ── Records ─────────────────────────────────────────────────────────────────────────────────────────────────────

export interface CompactionSettings {
  mode?: "all" | "sliding_window" | "self_compact_all" | "self_compact_sliding_window";
  /** Handle of the model that summarises; the conversation's own model when absent. */
  model?: string | null;
  prompt?: string | null;
  clip_chars?: number | null;
  sliding_window_percentage?: number;
}

/** Provider-specific request settings; unknown keys are kept and passed on. */
export type ModelSettings = Record<string, unknown>;

export interface AgentState {
  id: string;
  name: string;
  description: string | null;
  system: string;
  tags: string[];
  /** Handle, `provider/model`; "" when none was chosen yet. */
  model: string;
  model_settings: ModelSettings;
  context_window_limit: number | null;
  compaction_settings: CompactionSettings | null;
  hidden: boolean;
  metadata: Record<string, unknown>;
  created_at: IsoTime;
  updated_at: IsoTime;
  last_run_completion: IsoTime | null;
}

/** Text an agent begins with. */
export interface MemoryBlock {
  label: string;
  value: string;
  description?: string | null;
  read_only?: boolean;
}

export type AgentCreate = {
  name?: string;
  model?: string;
  system?: string;
  memory_blocks?: MemoryBlock[];
} & Partial<
  Pick<
    AgentState,
    "description" | "tags" | "model_settings" | "context_window_limit" | "compaction_settings" | "hidden" | "metadata"
  >
>;
export type AgentPatch = Partial<
  Pick<
    AgentState,
    | "name"
    | "description"
    | "system"
    | "tags"
    | "model"
    | "model_settings"
    | "context_window_limit"
    | "compaction_settings"
    | "hidden"
    | "metadata"
  >
>;

export interface Conversation {
  id: string;
  agent_id: string | null;
  /** Title. */
  summary: string | null;
  description: string | null;
  archived: boolean;
  archived_at: IsoTime | null;
  hidden: boolean;
  tags: string[];
  /** Overrides the agent's when set. */
  model: string | null;
  model_settings: ModelSettings | null;
  context_window_limit: number | null;
  /** Ordered ids in the model's window; everything else is history. */
  in_context_message_ids: string[];
  created_at: IsoTime;
  updated_at: IsoTime;
  last_message_at: IsoTime | null;
}
export type ConversationCreate = { agent_id: string } & Partial<
  Pick<
    Conversation,
    "summary" | "description" | "hidden" | "tags" | "model" | "model_settings" | "context_window_limit"
  >
>;
export type ConversationPatch = Partial<
  Pick<
    Conversation,
    | "summary"
    | "description"
    | "hidden"
    | "archived"
    | "tags"
    | "model"
    | "model_settings"
    | "context_window_limit"
    | "last_message_at"
  >
>;

export interface Run {
  id: string;
  agent_id: string | null;
  conversation_id: string;
  status: "created" | "running" | "completed" | "failed" | "cancelled";
  stop_reason: StopReason | null;
  background: boolean;
  created_at: IsoTime;
  completed_at: IsoTime | null;
  metadata: { error?: Omit<WireError, "message_type" | "seq_id"> };
}

/** A model a backend can use. */
export interface ModelRecord {
  /** `provider/model`, what `--model` takes. */
  handle: string;
  /** Model id at the provider. */
  model: string;
  display_name: string;
  provider_type: string;
  provider_name: string;
  provider_category: "base" | "byok";
  /** Tokens; null when the endpoint does not say and nobody told us. */
  max_context_window: number | null;
  max_tokens: number | null;
  reasoning: boolean;
  vision: boolean;
}

export interface SearchHit {
  message_id: string;
  agent_id: string;
  conversation_id: string;
  created_at: IsoTime;
  role: "user" | "assistant" | "tool" | "summary";
  /** The whole text of the message. */
  content: string;
  /** A short piece around the match. */
  snippet: string;
  /** Higher is better. */
  score: number;
}
