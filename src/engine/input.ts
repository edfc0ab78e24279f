// Composes what is sent as a user's turn: reminders of the harness first, each a text part of its own, then the user's
// words untouched.

import { wrapReminder } from "@/backend/content.ts";
import type { ContentPart } from "@/backend/wire.ts";

export const INTERRUPTED_NOTE = "The user interrupted the previous turn before it was finished.";
export const KILLED_NOTE =
  "The process running the previous turn ended before the turn was finished. What it had said and done is above; tools whose outcome is unknown are marked.";
export const CUT_OFF_NOTE =
  "The connection broke and cut your reply off after the text above. Continue exactly where it stops; do not repeat what you already wrote.";
export const EMPTY_REPLY_NOTE = "Your reply was empty. Answer with text or call a tool.";

export function composeUserContent(reminders: string[], content: string | ContentPart[]): string | ContentPart[] {
  if (reminders.length === 0) return content;
  const parts: ContentPart[] = reminders.map((text) => ({ type: "text", text: wrapReminder(text) }));
  return [...parts, ...(typeof content === "string" ? [{ type: "text" as const, text: content }] : content)];
}
