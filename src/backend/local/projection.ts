// One stored message → the API messages that show it (spec 02 §3.2). Streaming (reply.ts) uses the same ids and otids,
// so what was streamed and what is listed later is recognisably the same message.

import { unwrapReminder } from "@/backend/content.ts";
import type { ModelAssistantMessage, ModelImage, ModelText, ModelToolCall } from "@/backend/model.ts";
import type { ContentPart, Message, WireToolCall } from "@/backend/wire.ts";
import type { StoredMessage } from "./messages.ts";

/** The id of the stored message behind a variant's id. */
export function baseMessageId(id: string): string {
  const colon = id.indexOf(":");
  return colon === -1 ? id : id.slice(0, colon);
}

/** `index`: position of the first part of the run of parts in the reply. The first text keeps the message's own id. */
export function textVariantId(messageId: string, index: number, isFirst: boolean): string {
  return isFirst ? messageId : `${messageId}:assistant:${index}`;
}
export function reasoningVariantId(messageId: string, index: number): string {
  return `${messageId}:reasoning:${index}`;
}
export function callVariantId(messageId: string, callId: string): string {
  return `${messageId}:tool:${callId}:request`;
}
export function variantOtid(kind: "assistant" | "reasoning", messageId: string, index: number): string {
  return `provider-${kind}-${index}-${messageId}`;
}

/** Broken arguments are passed on as they arrived, so that whoever decides about the call can see they are broken. */
export function toWireCall(call: ModelToolCall): WireToolCall {
  return {
    tool_call_id: call.id,
    name: call.name,
    arguments: call.argumentsError ?? JSON.stringify(call.arguments),
  };
}

function toContentParts(parts: (ModelText | ModelImage)[]): ContentPart[] {
  return parts.map((part) =>
    part.type === "text"
      ? { type: "text", text: part.text }
      : { type: "image", source: { type: "base64", media_type: part.mimeType, data: part.data } },
  );
}

export function projectMessage(stored: StoredMessage): Message[] {
  const { body, meta } = stored;
  const common = {
    id: stored.id,
    date: stored.createdAt,
    ...(stored.otid && { otid: stored.otid }),
    ...(stored.runId && { run_id: stored.runId }),
  };
  if (meta.compaction) {
    return [
      {
        ...common,
        message_type: "summary_message",
        summary: meta.compaction.summary,
        compaction_stats: meta.compaction.stats,
      },
    ];
  }
  if (body.role === "user") {
    if (meta.system) return [{ ...common, message_type: "system_message", content: noteText(body.content) }];
    const content = typeof body.content === "string" ? body.content : toContentParts(body.content);
    for (const index of meta.keep ?? []) {
      const part = typeof content === "string" ? undefined : content[index];
      if (part?.type === "text") part.keep = true;
    }
    return [{ ...common, message_type: "user_message", content }];
  }
  if (body.role === "assistant") return projectReply(stored, body);
  const parts = toContentParts(body.content);
  const [only] = parts;
  return [
    {
      ...common,
      message_type: "tool_return_message",
      tool_call_id: body.toolCallId,
      name: body.toolName,
      tool_return: parts.length === 0 ? "" : parts.length === 1 && only?.type === "text" ? only.text : parts,
      status: body.isError ? "error" : "success",
      ...(meta.stdout && { stdout: meta.stdout }),
      ...(meta.stderr && { stderr: meta.stderr }),
    },
  ];
}

function projectReply(stored: StoredMessage, body: ModelAssistantMessage): Message[] {
  const createdMs = Date.parse(stored.createdAt);
  const messages: Message[] = [];
  const common = (): { date: string; run_id?: string } => ({
    // A millisecond apart, so that sorting by date keeps the order of the reply.
    date: new Date(createdMs + messages.length).toISOString(),
    ...(stored.runId && { run_id: stored.runId }),
  });
  let isFirstText = true;
  body.content.forEach((part, index) => {
    const last = messages.at(-1);
    if (part.type === "text" && part.text !== "") {
      if (last?.message_type === "assistant_message") {
        last.content += part.text;
        return;
      }
      messages.push({
        ...common(),
        id: textVariantId(stored.id, index, isFirstText),
        otid: variantOtid("assistant", stored.id, index),
        message_type: "assistant_message",
        content: part.text,
        ...(stored.interrupted && { interrupted: true }),
      });
      isFirstText = false;
    } else if (part.type === "thinking" && part.thinking !== "") {
      if (last?.message_type === "reasoning_message") {
        last.reasoning += `\n\n${part.thinking}`;
        return;
      }
      messages.push({
        ...common(),
        id: reasoningVariantId(stored.id, index),
        otid: variantOtid("reasoning", stored.id, index),
        message_type: "reasoning_message",
        reasoning: part.thinking,
        source: "reasoner_model",
        ...(part.thinkingSignature && { signature: part.thinkingSignature }),
      });
    } else if (part.type === "toolCall") {
      messages.push({
        ...common(),
        id: callVariantId(stored.id, part.id),
        message_type: "approval_request_message",
        tool_call: toWireCall(part),
      });
    }
  });
  return messages;
}

function noteText(content: string | (ModelText | ModelImage)[]): string {
  const text =
    typeof content === "string" ? content : content.map((part) => (part.type === "text" ? part.text : "")).join("\n");
  return unwrapReminder(text);
}
