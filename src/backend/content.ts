// The text of message content, and the reminders of the harness inside it. A reminder is text to the model that nobody
// said: it is wrapped in a tag when it is sent, and left out where people read, search or compare messages.

import type { ContentPart } from "./wire.ts";

/** What a call got that was stopped by a person or a signal. Fixed: other programs compare against it. */
export const INTERRUPTED = "Interrupted by user";

/** Readable text; an image is a short note. */
export function contentText(content: string | ContentPart[]): string {
  if (typeof content === "string") return content;
  return content.map((part) => (part.type === "text" ? part.text : `[image ${part.source.media_type}]`)).join("\n");
}

/** Without what nobody typed: the texts of skills. */
export function spokenContent(content: string | ContentPart[]): string | ContentPart[] {
  return typeof content === "string" ? content : content.filter((part) => part.type !== "text" || !part.keep);
}

/** Tags inside are defused: what a project, a file name or a branch brings along must not end its own reminder or begin
 *  another. */
export function wrapReminder(text: string): string {
  return `${OPEN}${text.replace(TAG, "&lt;")}${CLOSE}`;
}

/** The text of what is one reminder and nothing else; any other text as it is. */
export function unwrapReminder(text: string): string {
  if (!text.startsWith(OPEN) || !text.endsWith(CLOSE)) return text;
  return text.slice(OPEN.length, -CLOSE.length).replace(DEFUSED_TAG, "<");
}

/** `system-alert` is how Letta servers mark theirs. */
export function stripReminders(text: string): string {
  if (!text.includes("<system-")) return text;
  return text.replace(/<(system-reminder|system-alert)>[\s\S]*?<\/\1>\s*/g, "");
}

const OPEN = "<system-reminder>\n";
const CLOSE = "\n</system-reminder>";
const TAG = /<(?=\/?\s*system-(?:reminder|alert))/gi;
const DEFUSED_TAG = /&lt;(?=\/?\s*system-(?:reminder|alert))/gi;
