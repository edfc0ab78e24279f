// Composes what is sent as a user's turn: reminders of the harness first, each a text part of its own, then the user's
// words untouched. Front ends strip the reminders again when they show history.

import type { ContentPart } from "@/backend/wire.ts";

export const INTERRUPTED_NOTE = "The user interrupted the previous turn before it was finished.";
export const KILLED_NOTE =
  "The process running the previous turn ended before the turn was finished. What it had said and done is above; tools whose outcome is unknown are marked.";
export const CUT_OFF_NOTE =
  "The connection broke and cut your reply off after the text above. Continue exactly where it stops; do not repeat what you already wrote.";
export const EMPTY_REPLY_NOTE = "Your reply was empty. Answer with text or call a tool.";

const REMINDER = /<system-reminder>[\s\S]*?<\/system-reminder>\s*/g;

export function composeUserContent(reminders: string[], content: string | ContentPart[]): string | ContentPart[] {
  if (reminders.length === 0) return content;
  const parts: ContentPart[] = reminders.map((text) => ({ type: "text", text: wrapReminder(text) }));
  return [...parts, ...(typeof content === "string" ? [{ type: "text" as const, text: content }] : content)];
}

/** The closing tag inside is defused: text from a project must not be able to end its own reminder. */
export function wrapReminder(text: string): string {
  return `<system-reminder>\n${text.replaceAll("</system-reminder>", "<\\/system-reminder>")}\n</system-reminder>`;
}

/** A user message as its author wrote it. Images become `[Image]`. */
export function visibleUserText(content: string | ContentPart[]): string {
  const texts =
    typeof content === "string" ? [content] : content.map((part) => (part.type === "text" ? part.text : "[Image]"));
  return texts
    .map((text) => text.replace(REMINDER, ""))
    .filter((text) => text !== "")
    .join("\n");
}
