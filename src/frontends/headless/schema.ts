// Every line of stream-json, in both directions. The types the code uses and the JSON Schema of `--print-schema` come
// from here. Clients must tolerate unknown fields and types; nothing here is ever renamed.

import { toJsonSchema } from "@valibot/to-json-schema";
import * as v from "valibot";
import { PERMISSION_MODES } from "@/permissions/rules.ts";
import { TOOLSET_CHOICES } from "@/tools/toolsets.ts";

const Text = v.string();
const Int = v.pipe(v.number(), v.integer());
const Json = v.record(v.string(), v.unknown());

const UsageFields = {
  prompt_tokens: Int,
  completion_tokens: Int,
  total_tokens: Int,
  step_count: Int,
  cached_input_tokens: v.optional(Int),
  cache_write_tokens: v.optional(Int),
  reasoning_tokens: v.optional(Int),
  /** Tokens now in the model's window. */
  context_tokens: v.optional(Int),
  /** US dollars; absent when the price is unknown. */
  cost_usd: v.optional(v.number()),
};
const Usage = v.object(UsageFields);

const ToolCall = v.object({
  tool_call_id: Text,
  name: Text,
  /** JSON text. */
  arguments: Text,
});

const ErrorInfo = v.object({
  /** Stable: `auth`, `rate_limit`, `limit`, `busy`, … */
  code: Text,
  message: Text,
  hint: v.optional(Text),
  retryable: v.boolean(),
  /** HTTP status of the provider. */
  status: v.optional(Int),
});

/** On every output line. */
const Envelope = {
  schema_version: v.literal(1),
  /** Counts the lines of this process, from 1. */
  event_seq: Int,
  /** Agent id; `startup` before it is known. */
  session_id: Text,
  /** Names the item: equal in all pieces of one message. */
  uuid: Text,
  /** When the line was made; ISO-8601 UTC. */
  timestamp: Text,
};

const InitLine = v.object({
  type: v.literal("system"),
  subtype: v.literal("init"),
  ...Envelope,
  version: Text,
  /** Null for `--ephemeral`. */
  agent_id: v.nullable(Text),
  conversation_id: Text,
  model: Text,
  model_source: v.nullable(Text),
  tools: v.array(Text),
  cwd: Text,
  backend: Text,
  mcp_servers: v.array(v.object({ name: Text, status: Text })),
  permission_mode: Text,
  /** What decided the mode: `flag`, `user settings`, `default`, … */
  permission_mode_source: Text,
  /** What shell commands run in: backend `bwrap`, `landlock`, `seatbelt` or `none`; profile `off`, `workspace`, `strict`. */
  sandbox: v.object({ backend: Text, profile: Text }),
  slash_commands: v.array(Text),
  memfs_enabled: v.boolean(),
  skill_sources: v.array(Text),
  system_info_reminder_enabled: v.boolean(),
  reflection_trigger: Text,
  reflection_step_count: Int,
});

const NoticeLine = v.object({
  type: v.literal("system"),
  subtype: v.literal("notice"),
  ...Envelope,
  level: v.picklist(["info", "warning", "error"]),
  text: Text,
});

/** Where a streamed piece belongs: pieces with equal `otid` concatenate. */
const PieceFields = { id: Text, otid: Text, run_id: Text, seq_id: Int };
const AssistantPiece = v.object({
  message_type: v.literal("assistant_message"),
  ...PieceFields,
  content: v.union([Text, v.array(v.object({ type: v.literal("text"), text: Text }))]),
});
const ReasoningPiece = v.object({ message_type: v.literal("reasoning_message"), ...PieceFields, reasoning: Text });

const messageLine = <Entries extends v.ObjectEntries>(entries: Entries) =>
  v.object({ type: v.literal("message"), ...entries, ...Envelope });

const MessageLine = v.union([
  messageLine(AssistantPiece.entries),
  messageLine(ReasoningPiece.entries),
  messageLine({
    message_type: v.literal("tool_call_message"),
    id: Text,
    date: Text,
    run_id: v.optional(Text),
    tool_call: ToolCall,
  }),
  messageLine({
    message_type: v.literal("tool_return_message"),
    id: Text,
    date: Text,
    tool_call_id: Text,
    name: Text,
    status: v.picklist(["success", "error"]),
    tool_return: Text,
    stdout: v.optional(v.array(Text)),
    stderr: v.optional(v.array(Text)),
  }),
  // What the model is given beside results in the user's name: the texts of skills.
  messageLine({
    message_type: v.literal("user_message"),
    id: Text,
    date: Text,
    otid: Text,
    content: v.array(v.object({ type: v.literal("text"), text: Text })),
  }),
  messageLine({ message_type: v.literal("stop_reason"), run_id: Text, stop_reason: Text }),
  messageLine({ message_type: v.literal("usage_statistics"), run_id: Text, ...UsageFields }),
  messageLine({
    message_type: v.literal("event_message"),
    id: Text,
    event_type: v.literal("compaction"),
    event_data: Json,
  }),
  messageLine({
    message_type: v.literal("summary_message"),
    id: Text,
    summary: Text,
    compaction_stats: v.optional(Json),
  }),
]);

/** With `--include-partial-messages`, instead of the `message` lines of streamed text. */
const StreamEventLine = v.object({
  type: v.literal("stream_event"),
  event: v.union([AssistantPiece, ReasoningPiece]),
  ...Envelope,
});

const decided = <Type extends string>(type: Type) =>
  v.object({
    type: v.literal(type),
    ...Envelope,
    tool_call: ToolCall,
    reason: Text,
    /** The permission rule that decided, when one did. */
    matched_rule: v.nullable(Text),
  });

const ErrorLine = v.object({
  type: v.literal("error"),
  ...Envelope,
  message: Text,
  stop_reason: Text,
  run_id: v.optional(Text),
  error: v.optional(ErrorInfo),
});

const ResultSchema = v.object({
  type: v.literal("result"),
  subtype: v.picklist(["success", "interrupted", "error"]),
  is_error: v.boolean(),
  ...Envelope,
  agent_id: v.nullable(Text),
  /** Null when the run failed before there was one. */
  conversation_id: v.nullable(Text),
  duration_ms: Int,
  duration_api_ms: Int,
  /** Model calls. */
  num_turns: Int,
  /** Last assistant text, partial when the turn did not complete; null when there was none. */
  result: v.nullable(Text),
  stop_reason: Text,
  run_ids: v.array(Text),
  usage: v.nullable(Usage),
  permission_denials: v.array(v.object({ tool_name: Text, reason: Text })),
  /** Shell command that goes on with this conversation; null when there is nothing to go on with. */
  resume_command: v.nullable(Text),
  error: v.optional(ErrorInfo),
});

const Diff = v.object({
  mode: v.picklist(["advanced", "unpreviewable"]),
  fileName: Text,
  reason: v.optional(Text),
  hunks: v.optional(
    v.array(
      v.object({
        oldStart: Int,
        oldLines: Int,
        newStart: Int,
        newLines: Int,
        lines: v.array(v.object({ type: v.picklist(["context", "add", "remove"]), content: Text })),
      }),
    ),
  ),
});

const ControlRequestLine = v.object({
  type: v.literal("control_request"),
  request_id: Text,
  ...Envelope,
  request: v.variant("subtype", [
    v.object({
      subtype: v.literal("can_use_tool"),
      tool_name: Text,
      input: Json,
      tool_call_id: Text,
      /** Why it is asked. */
      reason: Text,
      permission_suggestions: v.array(v.object({ rule: Text, scope: Text, description: Text })),
      blocked_path: v.nullable(Text),
      diffs: v.optional(v.array(Diff)),
    }),
    v.object({
      subtype: v.literal("execute_external_tool"),
      tool_call_id: Text,
      tool_name: Text,
      input: Json,
    }),
  ]),
});

const ControlResponseLine = v.object({
  type: v.literal("control_response"),
  ...Envelope,
  response: v.variant("subtype", [
    v.object({ subtype: v.literal("success"), request_id: Text, response: v.optional(Json) }),
    v.object({ subtype: v.literal("error"), request_id: Text, error: Text }),
  ]),
});

export const OutputLineSchema = v.union([
  InitLine,
  NoticeLine,
  MessageLine,
  StreamEventLine,
  decided("auto_approval"),
  decided("auto_denial"),
  v.object({
    type: v.literal("tool_execution_started"),
    ...Envelope,
    tool_call_id: Text,
    tool_name: Text,
  }),
  v.object({
    type: v.literal("tool_execution_finished"),
    ...Envelope,
    tool_call_id: Text,
    tool_name: Text,
    status: v.picklist(["success", "error"]),
    duration_ms: Int,
  }),
  ErrorLine,
  v.object({
    type: v.literal("retry"),
    ...Envelope,
    reason: Text,
    code: Text,
    message: Text,
    attempt: Int,
    max_attempts: Int,
    delay_ms: Int,
    run_id: v.optional(Text),
  }),
  v.object({ type: v.literal("recovery"), ...Envelope, recovery_type: Text, message: Text }),
  v.object({
    type: v.literal("queue_item_enqueued"),
    ...Envelope,
    item_id: Text,
    client_message_id: Text,
    source: Text,
    kind: Text,
    queue_len: Int,
  }),
  v.object({
    type: v.literal("queue_batch_dequeued"),
    ...Envelope,
    batch_id: Text,
    item_ids: v.array(Text),
    merged_count: Int,
    queue_len_after: Int,
  }),
  v.object({ type: v.literal("queue_item_dropped"), ...Envelope, item_id: Text, reason: Text, queue_len: Int }),
  v.object({ type: v.literal("queue_blocked"), ...Envelope, reason: Text, queue_len: Int }),
  v.object({ type: v.literal("queue_cleared"), ...Envelope, reason: Text, cleared_count: Int }),
  ControlRequestLine,
  v.object({ type: v.literal("control_cancel_request"), ...Envelope, request_id: Text }),
  ControlResponseLine,
  ResultSchema,
]);

// ── What a client sends ─────────────────────────────────────────────────────────────────────────────────────────

const ContentPart = v.variant("type", [
  v.object({ type: v.literal("text"), text: Text }),
  v.object({
    type: v.literal("image"),
    source: v.object({ type: v.literal("base64"), media_type: Text, data: Text }),
  }),
]);

export const UserLineSchema = v.object({
  type: v.literal("user"),
  message: v.object({ role: v.optional(v.literal("user")), content: v.union([Text, v.array(ContentPart)]) }),
  /** Comes back in `queue_item_enqueued`. */
  uuid: v.optional(Text),
  /** Of this turn: another set of tools, and tools beside it by any of their names. */
  client_toolset: v.nullish(
    v.object({ base: v.nullish(v.picklist(TOOLSET_CHOICES)), include: v.nullish(v.array(Text)) }),
  ),
  /** Only these are offered, of whatever set; empty = none. A name nobody knows may be a tool of the client's. */
  client_tool_allowlist: v.nullish(v.array(Text)),
  /** No tool that asks a person. */
  exclude_interactive_tools: v.nullish(v.boolean()),
});

const ListOptions = {
  before: v.nullish(Text),
  after: v.nullish(Text),
  order: v.nullish(v.picklist(["asc", "desc"])),
  limit: v.nullish(v.pipe(Int, v.minValue(1), v.maxValue(1000))),
};

export const ControlRequestSchema = v.variant("subtype", [
  v.object({ subtype: v.literal("initialize") }),
  v.object({ subtype: v.literal("interrupt") }),
  v.object({ subtype: v.literal("set_model"), model: v.pipe(Text, v.nonEmpty()) }),
  v.object({
    subtype: v.literal("set_permission_mode"),
    mode: v.picklist(PERMISSION_MODES),
  }),
  v.object({
    subtype: v.literal("register_external_tools"),
    tools: v.array(
      v.object({
        name: v.pipe(Text, v.regex(/^[A-Za-z0-9_-]{1,64}$/)),
        label: v.nullish(Text),
        description: Text,
        /** JSON Schema of type object. */
        parameters: Json,
        /** Milliseconds one call may take; default 10 minutes. */
        timeout_ms: v.nullish(v.pipe(Int, v.minValue(1))),
      }),
    ),
  }),
  v.object({ subtype: v.literal("bootstrap_session_state"), limit: ListOptions.limit, order: ListOptions.order }),
  v.object({
    subtype: v.literal("list_messages"),
    conversation_id: v.nullish(Text),
    agent_id: v.nullish(Text),
    ...ListOptions,
  }),
  v.object({
    subtype: v.literal("recover_pending_approvals"),
    agent_id: v.nullish(Text),
    conversation_id: v.nullish(Text),
  }),
  v.object({ subtype: v.literal("get_context_usage") }),
]);

export const PermissionReplySchema = v.variant("behavior", [
  v.object({
    behavior: v.literal("allow"),
    /** Replaces the input; absent or null keeps it. */
    updatedInput: v.nullish(Json),
    /** Rules to add, as offered in `permission_suggestions`. */
    updatedPermissions: v.nullish(
      v.array(
        v.object({
          rule: Text,
          scope: v.picklist(["session", "project", "local", "user"]),
          description: v.optional(Text, ""),
        }),
      ),
    ),
    /** For the model, beside the result. */
    message: v.nullish(Text),
  }),
  v.object({
    behavior: v.literal("deny"),
    message: v.nullish(Text),
    /** Also ends the turn. */
    interrupt: v.nullish(v.boolean()),
  }),
]);

export const ExternalResultSchema = v.object({
  content: v.array(
    v.variant("type", [
      v.object({ type: v.literal("text"), text: Text }),
      v.object({ type: v.literal("image"), data: Text, mimeType: Text }),
    ]),
  ),
  is_error: v.nullish(v.boolean()),
});

/** The reply to a `control_request`; its body is checked by whoever waits for it. */
export const ControlReplySchema = v.object({
  type: v.literal("control_response"),
  response: v.looseObject({
    subtype: Text,
    request_id: Text,
    response: v.optional(v.unknown()),
    error: v.optional(Text),
  }),
});

export const ControlRequestLineSchema = v.object({
  type: v.literal("control_request"),
  request_id: Text,
  request: v.looseObject({ subtype: Text }),
});

const InputLineSchema = v.union([
  UserLineSchema,
  v.object({ type: v.literal("control_request"), request_id: Text, request: ControlRequestSchema }),
  v.object({
    type: v.literal("control_response"),
    response: v.union([
      v.object({ subtype: v.literal("success"), request_id: Text, response: PermissionReplySchema }),
      v.object({
        subtype: v.literal("external_tool_result"),
        request_id: Text,
        tool_call_id: v.optional(Text),
        ...ExternalResultSchema.entries,
      }),
      v.object({ subtype: v.literal("error"), request_id: Text, error: Text }),
    ]),
  }),
]);

export type OutputLine = v.InferOutput<typeof OutputLineSchema>;
export type ResultLine = v.InferOutput<typeof ResultSchema>;
export type ControlRequest = v.InferOutput<typeof ControlRequestSchema>;
/** The `request` of a `control_request` line of ours. */
export type ClientRequest = v.InferOutput<typeof ControlRequestLine>["request"];

type EnvelopeKey = "schema_version" | "event_seq" | "session_id" | "timestamp";
type WithoutEnvelope<Line> = Line extends unknown ? Omit<Line, EnvelopeKey> : never;
/** A line before envelope.ts completes it. */
export type LineBody = WithoutEnvelope<OutputLine>;

/** The document `letta --print-schema` prints. */
export function renderSchema(): Record<string, unknown> {
  const options = { errorMode: "ignore" } as const;
  const { $schema, ...output } = toJsonSchema(OutputLineSchema, options);
  const { $schema: _input, ...input } = toJsonSchema(InputLineSchema, options);
  const { $schema: _result, ...result } = toJsonSchema(ResultSchema, options);
  return {
    $schema,
    title: "letta stream-json",
    description:
      "output: each line of --output-format stream-json. input: each line of --input-format stream-json. result: the object of --output-format json.",
    schema_version: 1,
    $defs: { output, input, result },
  };
}
