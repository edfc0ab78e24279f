// The end of a conversation as it is shown when one comes back to it: the last few messages, what was cut, and what
// nobody answered.

import type { Backend, ConversationRef } from "@/backend/backend.ts";
import { contentText, spokenContent, stripReminders } from "@/backend/content.ts";
import type { Message } from "@/backend/wire.ts";
import { parseJson } from "@/lib/json.ts";
import { toPlainLine, toPlainText, truncate, wrap } from "@/lib/terminal-text.ts";
import { plural } from "@/lib/text.ts";
import { BACKFILL_MESSAGES } from "./limits.ts";
import { MarkdownStream } from "./markdown.ts";
import { SYMBOLS, type Theme } from "./theme.ts";

export interface BackfillOptions {
  theme: Theme;
  columns: number;
  /** One-line subject of a call, as the tool itself puts it. */
  title?(tool: string, args: unknown): string;
}

/** Messages asked for: tool calls and results between the shown ones are cheap and may be many. */
const TAIL = 50;
const MAX_ITEMS = 40;
const MAX_USER_LINES = 12;

export async function backfillLines(
  backend: Pick<Backend, "resumeTail">,
  ref: ConversationRef,
  options: BackfillOptions,
): Promise<string[]> {
  const tail = await backend.resumeTail(ref, TAIL);
  const lines = formatMessages(tail.messages, options);
  const pending = tail.pendingToolCallIds.length;
  if (pending > 0) {
    const text = `${plural(pending, "tool call")} of the last turn got no answer; the agent is told with your next message.`;
    lines.push("", ...wrap(text, options.columns - 1).map(options.theme.yellow));
  }
  return lines;
}

/** Oldest first. */
function formatMessages(messages: Message[], options: BackfillOptions): string[] {
  const results = new Map(
    messages.flatMap((message) =>
      message.message_type === "tool_return_message" ? [[message.tool_call_id, message.status] as const] : [],
    ),
  );
  const lines: string[] = [];
  let previous = "";
  for (const message of lastPrimary(messages)) {
    const shown = formatMessage(message, results, options);
    if (shown.length === 0) continue;
    const kind = message.message_type === "approval_request_message" ? "tool_call_message" : message.message_type;
    if (lines.length > 0 && (kind !== previous || kind !== "tool_call_message")) lines.push("");
    lines.push(...shown);
    previous = kind;
  }
  return lines;
}

/** From the tenth user, assistant or summary message before the end. */
function lastPrimary(messages: Message[]): Message[] {
  let primary = 0;
  let start = messages.length;
  while (start > 0 && primary < BACKFILL_MESSAGES && messages.length - start < MAX_ITEMS) {
    start -= 1;
    const type = messages[start]?.message_type;
    if (type === "user_message" || type === "assistant_message" || type === "summary_message") primary += 1;
  }
  return messages.slice(start);
}

function formatMessage(message: Message, results: Map<string, string>, options: BackfillOptions): string[] {
  const { theme, columns } = options;
  switch (message.message_type) {
    case "user_message": {
      const lines = toPlainText(stripReminders(contentText(spokenContent(message.content))))
        .trim()
        .split("\n");
      if (lines.length === 1 && lines[0] === "") return [];
      const shown = lines.slice(0, MAX_USER_LINES);
      if (lines.length > shown.length) shown.push(theme.dim(`… ${lines.length - shown.length} more lines`));
      return shown.map((line, index) => `${index === 0 ? theme.cyan(">") : " "} ${theme.bold(line)}`);
    }
    case "assistant_message": {
      const text =
        typeof message.content === "string" ? message.content : message.content.map((part) => part.text).join("");
      const lines = formatMarkdown(text, options);
      return message.interrupted ? [...lines, theme.yellow("(interrupted)")] : lines;
    }
    case "approval_request_message":
    case "tool_call_message": {
      const { name, tool_call_id: id, arguments: text } = message.tool_call;
      const status = results.get(id);
      const mark =
        status === "success"
          ? theme.green(SYMBOLS.ok)
          : status === "error"
            ? theme.red(SYMBOLS.error)
            : SYMBOLS.pending;
      const title = toPlainLine(options.title?.(name, parseJson(text)) ?? text);
      return [truncate(`${mark} ${theme.bold(toPlainLine(name))} ${title}`, columns - 1)];
    }
    case "summary_message":
      return [theme.dim("(earlier messages were summarised)")];
    case "reasoning_message":
    case "system_message":
    case "tool_return_message":
    case "approval_response_message":
    case "event_message":
      return [];
    default:
      message satisfies never;
      return [];
  }
}

function formatMarkdown(text: string, { columns, theme }: BackfillOptions): string[] {
  const stream = new MarkdownStream({ columns: () => Math.min(columns - 1, 100), colors: theme.colors });
  return [...stream.push(text), ...stream.finish()];
}
