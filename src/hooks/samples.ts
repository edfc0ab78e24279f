// An example of every event's input: what `letta hooks test` sends when it is given nothing, and the documentation of
// the fields. Every input also has event_type, working_directory, session_id and agent_id.

import type { HookEvent } from "@/store/hook-settings.ts";

const CALL = {
  tool_name: "Bash",
  tool_input: { command: "ls" },
  tool_call_id: "call-sample",
  conversation_id: "conv-sample",
};

export const SAMPLES: Record<HookEvent, Record<string, unknown>> = {
  PreToolUse: CALL,
  PostToolUse: {
    ...CALL,
    tool_result: { status: "success", output: "README.md" },
    preceding_assistant_message: "Let me look.",
  },
  PostToolUseFailure: { ...CALL, error_message: "Exit code: 1", error_type: "tool_error" },
  PermissionRequest: {
    ...CALL,
    permission: { type: "default", reason: "Bash asks", scope: "session" },
    session_permissions: [],
  },
  UserPromptSubmit: { prompt: "Run the tests", is_command: false, conversation_id: "conv-sample" },
  Notification: { message: "The agent is done", level: "info" },
  Stop: {
    stop_reason: "end_turn",
    message_count: 2,
    tool_call_count: 1,
    assistant_message: "Done.",
    user_message: "Run the tests",
    stop_hook_active: false,
    conversation_id: "conv-sample",
  },
  SubagentStop: { subagent_type: "general-purpose", subagent_id: "agent-sample-2", success: true },
  PreCompact: {
    trigger: "auto",
    cause: "context_window_limit",
    context_length: 110_000,
    max_context_length: 128_000,
    conversation_id: "conv-sample",
  },
  SessionStart: { is_new_session: true, agent_name: "Sample", conversation_id: "conv-sample" },
  SessionEnd: { duration_ms: 60_000, message_count: 2, tool_call_count: 1, conversation_id: "conv-sample" },
};
