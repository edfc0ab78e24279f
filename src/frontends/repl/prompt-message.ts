// Messages of commands that ask the agent for something: the command as it was typed is what the person said; what it asks
// for goes beside it, as a note of the harness that is not shown.

import { contentText, stripReminders, wrapReminder } from "@/backend/content.ts";
import type { ContentPart } from "@/backend/wire.ts";

export function promptMessage(typed: string, note: string): ContentPart[] {
  return [
    { type: "text", text: wrapReminder(note) },
    { type: "text", text: typed },
  ];
}

/** A message as the person knows it. What was typed as it is has no notes in it, whatever it looks like. */
export function shownText(content: string | ContentPart[]): string {
  return typeof content === "string" ? content : stripReminders(contentText(content)).trim();
}
