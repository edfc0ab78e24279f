// A conversation as text: the documented transcript format (`messages transcript`) and Markdown (`export`).

import { contentText, stripReminders } from "@/backend/content.ts";
import type { Message } from "@/backend/wire.ts";

/** One entry of a transcript: who, and what was said. */
interface Entry {
  date: string;
  /** `user`, `assistant`, `reasoning`, `tool_call NAME (id)`, `tool_return (id) status=…`, … */
  head: string;
  body: string;
}

/** Header line `[timestamp] who`, the body, a blank line; for every message. */
export function renderTranscript(messages: Message[]): string {
  return messages
    .flatMap(toEntries)
    .map(({ date, head, body }) => `[${date}] ${head}\n${body}\n\n`)
    .join("");
}

export interface MarkdownHead {
  title: string;
  agent: string;
  conversationId: string;
}

/** Markdown for reading: calls and returns are fenced, reasoning is quoted, what the harness told the model is left out. */
export function renderMarkdown(head: MarkdownHead, messages: Message[]): string {
  const parts = messages.flatMap(toEntries).flatMap(({ date, head: who, body }) => {
    if (who === "reasoning") return `${quote(body)}\n`;
    if (who === "assistant") return `## Assistant · ${date}\n\n${body}\n`;
    if (who !== "user") return `**${who}** · ${date}\n\n${fence(body)}\n`;
    const said = stripReminders(body).trim();
    return said === "" ? [] : `## User · ${date}\n\n${said}\n`;
  });
  return [`# ${head.title}\n\nAgent: ${head.agent}  \nConversation: ${head.conversationId}\n`, ...parts].join("\n");
}

function toEntries(message: Message): Entry[] {
  const entry = (head: string, body: string): Entry[] => [{ date: message.date, head, body }];
  switch (message.message_type) {
    case "user_message":
      return entry("user", contentText(message.content));
    case "system_message":
      return entry("system", message.content);
    case "assistant_message":
      return entry("assistant", contentText(message.content) + (message.interrupted ? "\n[interrupted]" : ""));
    case "reasoning_message":
      return entry("reasoning", message.reasoning);
    case "approval_request_message":
    case "tool_call_message":
      return entry(
        `tool_call ${message.tool_call.name} (${message.tool_call.tool_call_id})`,
        message.tool_call.arguments,
      );
    case "tool_return_message":
      return entry(`tool_return (${message.tool_call_id}) status=${message.status}`, contentText(message.tool_return));
    case "approval_response_message":
      return message.approvals.flatMap((item) =>
        item.type === "tool"
          ? entry(`tool_return (${item.tool_call_id}) status=${item.status}`, contentText(item.tool_return))
          : entry(`tool_denied (${item.tool_call_id})`, item.reason),
      );
    case "summary_message":
      return entry("summary", message.summary);
    case "event_message":
      return entry(`event ${message.event_type}`, JSON.stringify(message.event_data));
  }
}

function quote(text: string): string {
  return text
    .split("\n")
    .map((line) => `> ${line}`.trimEnd())
    .join("\n");
}

/** A fence longer than any run of backticks inside. */
function fence(text: string): string {
  const longest = Math.max(2, ...(text.match(/`+/g) ?? []).map((run) => run.length));
  const mark = "`".repeat(longest + 1);
  return `${mark}\n${text}${text.endsWith("\n") ? "" : "\n"}${mark}`;
}
