// Turns a scripted reply into the event stream of one protocol, frame by frame, and knows each protocol's error bodies.

import type { ScriptedReply, ScriptedToolCall, ScriptedUsage } from "./model-server.ts";

export type Protocol = "anthropic" | "responses" | "chat" | "gemini";

/** `finish` says why the model stopped; `terminator` says that nothing follows. */
export interface Frame {
  kind: "open" | "thinking" | "text" | "tool" | "args" | "finish" | "terminator";
  sse: string;
}

export function framesOf(protocol: Protocol, model: string, reply: ScriptedReply): Frame[] {
  const content: Content = {
    model: model || "m",
    thinking: reply.thinking,
    texts: textChunks(reply.text),
    calls: (reply.toolCalls ?? []).map((call, index) => toolCall(call, index, reply)),
    usage: { input: 10, output: 5, cacheRead: 0, cacheWrite: 0, reasoning: 0, ...reply.usage },
    truncated: reply.truncated ?? false,
  };
  return PROTOCOLS[protocol](content);
}

/** What the real provider answers for a failing status. */
export function errorBody(protocol: Protocol, status: number): unknown {
  const [type, message] = ERRORS[status] ?? ["invalid_request_error", `scripted error ${status}`];
  switch (protocol) {
    case "anthropic":
      return { type: "error", error: { type, message }, request_id: "req_scripted" };
    case "gemini":
      return { error: { code: status, message, status: GEMINI_STATUS[status] ?? "INVALID_ARGUMENT" } };
    default:
      return { error: { message, type, param: null, code: OPENAI_CODES[status] ?? null } };
  }
}

const ERRORS: Record<number, [type: string, message: string]> = {
  401: ["authentication_error", "invalid x-api-key"],
  403: ["permission_error", "This key has no access to the model"],
  404: ["not_found_error", "model not found"],
  429: ["rate_limit_error", "Too many requests, slow down"],
  500: ["api_error", "Internal server error"],
  503: ["overloaded_error", "The model is overloaded. Please try again later."],
  529: ["overloaded_error", "Overloaded"],
};
const OPENAI_CODES: Record<number, string> = {
  401: "invalid_api_key",
  404: "model_not_found",
  429: "rate_limit_exceeded",
};
const GEMINI_STATUS: Record<number, string> = {
  401: "UNAUTHENTICATED",
  403: "PERMISSION_DENIED",
  404: "NOT_FOUND",
  429: "RESOURCE_EXHAUSTED",
  500: "INTERNAL",
  503: "UNAVAILABLE",
};

interface Call {
  id: string;
  /** False: the script gave no id. Protocols with optional ids leave it out then. */
  hasId: boolean;
  name: string;
  /** Raw argument text, sent in two pieces. */
  args: string;
}
interface Content {
  model: string;
  thinking: string | undefined;
  texts: string[];
  calls: Call[];
  usage: Required<ScriptedUsage>;
  truncated: boolean;
}

function toolCall(call: ScriptedToolCall, index: number, { fault }: ScriptedReply): Call {
  const id = fault === "duplicate_ids" ? "call_same" : (call.id ?? `call_${index + 1}`);
  const whole = typeof call.args === "string" ? call.args : JSON.stringify(call.args);
  const half = whole.slice(0, Math.ceil(whole.length / 2));
  const args = fault === "empty_args" ? "" : fault === "truncated_tool_json" ? half : whole;
  return { id, hasId: call.id !== undefined || fault === "duplicate_ids", name: call.name, args };
}

/** A plain string goes out in at least two chunks of at most 4,096 characters, so that faults have a middle to hit. */
function textChunks(text: string | string[] | undefined): string[] {
  if (text === undefined || text === "") return [];
  if (Array.isArray(text)) return text;
  const size = Math.min(4096, Math.ceil(text.length / 2));
  const chunks: string[] = [];
  for (let start = 0; start < text.length; ) {
    let end = start + size;
    const last = text.charCodeAt(end - 1);
    if (last >= 0xd800 && last <= 0xdbff) end += 1;
    chunks.push(text.slice(start, end));
    start = end;
  }
  return chunks;
}

const halves = (text: string): [string, string] => {
  const middle = Math.floor(text.length / 2);
  return [text.slice(0, middle), text.slice(middle)];
};

const PROTOCOLS: Record<Protocol, (content: Content) => Frame[]> = { anthropic, responses, chat, gemini };

function anthropic({ model, thinking, texts, calls, usage, truncated }: Content): Frame[] {
  const frames: Frame[] = [];
  const emit = (kind: Frame["kind"], data: { type: string; [key: string]: unknown }): void => {
    frames.push({ kind, sse: `event: ${data.type}\ndata: ${JSON.stringify(data)}\n\n` });
  };
  let index = 0;
  const block = (kind: Frame["kind"], start: object, deltaKind: Frame["kind"], deltas: object[]): void => {
    emit(kind, { type: "content_block_start", index, content_block: start });
    for (const delta of deltas) emit(deltaKind, { type: "content_block_delta", index, delta });
    emit(kind === "text" ? "thinking" : kind, { type: "content_block_stop", index });
    index += 1;
  };
  const inputUsage = {
    input_tokens: usage.input,
    cache_read_input_tokens: usage.cacheRead,
    cache_creation_input_tokens: usage.cacheWrite,
  };
  emit("open", {
    type: "message_start",
    message: {
      id: "msg_scripted",
      type: "message",
      role: "assistant",
      model,
      content: [],
      stop_reason: null,
      stop_sequence: null,
      usage: { ...inputUsage, output_tokens: 1 },
    },
  });
  if (thinking !== undefined) {
    block("thinking", { type: "thinking", thinking: "", signature: "" }, "thinking", [
      { type: "thinking_delta", thinking },
      { type: "signature_delta", signature: "c2lnbmF0dXJl" },
    ]);
  }
  if (texts.length > 0) {
    block(
      "open",
      { type: "text", text: "" },
      "text",
      texts.map((text) => ({ type: "text_delta", text })),
    );
  }
  for (const call of calls) {
    const pieces = call.args === "" ? [""] : halves(call.args);
    block(
      "tool",
      { type: "tool_use", id: call.id, name: call.name, input: {} },
      "args",
      pieces.map((partial_json) => ({ type: "input_json_delta", partial_json })),
    );
  }
  const reason = truncated ? "max_tokens" : calls.length > 0 ? "tool_use" : "end_turn";
  emit("finish", {
    type: "message_delta",
    delta: { stop_reason: reason, stop_sequence: null },
    usage: { ...inputUsage, output_tokens: usage.output },
  });
  emit("terminator", { type: "message_stop" });
  return frames;
}

function responses({ model, thinking, texts, calls, usage, truncated }: Content): Frame[] {
  const frames: Frame[] = [];
  const emit = (kind: Frame["kind"], data: { type: string; [key: string]: unknown }): void => {
    const numbered = { ...data, sequence_number: frames.length };
    frames.push({ kind, sse: `event: ${data.type}\ndata: ${JSON.stringify(numbered)}\n\n` });
  };
  const response = { id: "resp_scripted", object: "response", created_at: 1_700_000_000, model, output: [] };
  emit("open", { type: "response.created", response: { ...response, status: "in_progress" } });
  const output: object[] = [];
  if (thinking !== undefined) {
    const at = { item_id: "rs_1", output_index: output.length, summary_index: 0 };
    const item = {
      type: "reasoning",
      id: "rs_1",
      summary: [{ type: "summary_text", text: thinking }],
      encrypted_content: "ZW5jcnlwdGVk",
    };
    emit("thinking", {
      type: "response.output_item.added",
      output_index: output.length,
      item: { type: "reasoning", id: "rs_1", summary: [] },
    });
    emit("thinking", {
      type: "response.reasoning_summary_part.added",
      ...at,
      part: { type: "summary_text", text: "" },
    });
    emit("thinking", { type: "response.reasoning_summary_text.delta", ...at, delta: thinking });
    emit("thinking", { type: "response.reasoning_summary_text.done", ...at, text: thinking });
    emit("thinking", {
      type: "response.reasoning_summary_part.done",
      ...at,
      part: { type: "summary_text", text: thinking },
    });
    emit("thinking", { type: "response.output_item.done", output_index: output.length, item });
    output.push(item);
  }
  if (texts.length > 0) {
    const at = { item_id: "msg_1", output_index: output.length, content_index: 0 };
    const part = { type: "output_text", text: texts.join(""), annotations: [] };
    const item = { type: "message", id: "msg_1", role: "assistant", status: "completed", content: [part] };
    emit("open", {
      type: "response.output_item.added",
      output_index: output.length,
      item: { ...item, status: "in_progress", content: [] },
    });
    emit("open", { type: "response.content_part.added", ...at, part: { ...part, text: "" } });
    for (const delta of texts) emit("text", { type: "response.output_text.delta", ...at, delta });
    emit("thinking", { type: "response.output_text.done", ...at, text: part.text });
    emit("thinking", { type: "response.content_part.done", ...at, part });
    emit("thinking", { type: "response.output_item.done", output_index: output.length, item });
    output.push(item);
  }
  calls.forEach((call, number) => {
    const item = {
      type: "function_call",
      id: `fc_${number + 1}`,
      call_id: call.id,
      name: call.name,
      arguments: call.args,
      status: "completed",
    };
    const at = { item_id: item.id, output_index: output.length };
    emit("tool", {
      type: "response.output_item.added",
      output_index: output.length,
      item: { ...item, arguments: "", status: "in_progress" },
    });
    if (call.args !== "")
      for (const delta of halves(call.args))
        emit("args", { type: "response.function_call_arguments.delta", ...at, delta });
    emit("tool", { type: "response.function_call_arguments.done", ...at, arguments: call.args });
    emit("tool", { type: "response.output_item.done", output_index: output.length, item });
    output.push(item);
  });
  const total = {
    input_tokens: usage.input + usage.cacheRead + usage.cacheWrite,
    input_tokens_details: { cached_tokens: usage.cacheRead },
    output_tokens: usage.output,
    output_tokens_details: { reasoning_tokens: usage.reasoning },
    total_tokens: usage.input + usage.cacheRead + usage.cacheWrite + usage.output,
  };
  const status = truncated ? "incomplete" : "completed";
  const details = truncated ? { incomplete_details: { reason: "max_output_tokens" } } : {};
  emit("terminator", {
    type: `response.${status}`,
    response: { ...response, status, output, usage: total, ...details },
  });
  return frames;
}

function chat({ model, thinking, texts, calls, usage, truncated }: Content): Frame[] {
  const frames: Frame[] = [];
  const base = { id: "chatcmpl-scripted", object: "chat.completion.chunk", created: 1_700_000_000, model };
  const raw = (kind: Frame["kind"], value: object): void => {
    frames.push({ kind, sse: `data: ${JSON.stringify(value)}\n\n` });
  };
  const emit = (kind: Frame["kind"], delta: object, finish_reason: string | null = null): void =>
    raw(kind, { ...base, choices: [{ index: 0, delta, finish_reason }] });
  emit("open", { role: "assistant", content: "" });
  if (thinking !== undefined) emit("thinking", { reasoning_content: thinking });
  for (const content of texts) emit("text", { content });
  calls.forEach((call, index) => {
    emit("tool", {
      tool_calls: [{ index, id: call.id, type: "function", function: { name: call.name, arguments: "" } }],
    });
    if (call.args === "") return;
    for (const piece of halves(call.args)) emit("args", { tool_calls: [{ index, function: { arguments: piece } }] });
  });
  emit("finish", {}, truncated ? "length" : calls.length > 0 ? "tool_calls" : "stop");
  raw("finish", {
    ...base,
    choices: [],
    usage: {
      prompt_tokens: usage.input + usage.cacheRead + usage.cacheWrite,
      completion_tokens: usage.output,
      total_tokens: usage.input + usage.cacheRead + usage.cacheWrite + usage.output,
      prompt_tokens_details: { cached_tokens: usage.cacheRead },
      completion_tokens_details: { reasoning_tokens: usage.reasoning },
    },
  });
  frames.push({ kind: "terminator", sse: "data: [DONE]\n\n" });
  return frames;
}

function gemini({ model, thinking, texts, calls, usage, truncated }: Content): Frame[] {
  const frames: Frame[] = [];
  const base = { modelVersion: model, responseId: "gemini-scripted" };
  const emit = (kind: Frame["kind"], parts: object[], rest: object = {}, outer: object = {}): void => {
    const value = { candidates: [{ content: { role: "model", parts }, index: 0, ...rest }], ...base, ...outer };
    frames.push({ kind, sse: `data: ${JSON.stringify(value)}\n\n` });
  };
  if (thinking !== undefined) emit("thinking", [{ text: thinking, thought: true }]);
  for (const text of texts) emit("text", [{ text }]);
  for (const { id, hasId, name, args } of calls)
    frames.push(geminiCall(base, { id: hasId ? id : undefined, name, args }));
  emit(
    "finish",
    [],
    { finishReason: truncated ? "MAX_TOKENS" : "STOP" },
    {
      usageMetadata: {
        promptTokenCount: usage.input + usage.cacheRead + usage.cacheWrite,
        cachedContentTokenCount: usage.cacheRead,
        candidatesTokenCount: usage.output - usage.reasoning,
        thoughtsTokenCount: usage.reasoning,
        totalTokenCount: usage.input + usage.cacheRead + usage.cacheWrite + usage.output,
      },
    },
  );
  return frames;
}

/** Arguments are an object inside the event here, so arguments that are not whole make an event that is not whole. */
function geminiCall(base: object, { id, name, args }: { id?: string; name: string; args: string }): Frame {
  const mark = "@args@";
  const call = { ...(id === undefined ? {} : { id }), name, ...(args === "" ? {} : { args: mark }) };
  const part = { functionCall: call, thoughtSignature: "dGhvdWdodA==" };
  const value = { candidates: [{ content: { role: "model", parts: [part] }, index: 0 }], ...base };
  const json = JSON.stringify(value);
  if (args === "" || isJson(args)) return { kind: "args", sse: `data: ${json.replace(`"${mark}"`, () => args)}\n\n` };
  return { kind: "args", sse: `data: ${json.slice(0, json.indexOf(`"${mark}"`))}${args}\n\n` };
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
