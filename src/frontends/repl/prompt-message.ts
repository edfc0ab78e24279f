// Messages of commands that ask the agent for something: the command as it was typed is what the person said; what it asks
// for goes beside it, as a note of the harness that is not shown.

import { wrapReminder } from "@/backend/content.ts";
import type { ContentPart } from "@/backend/wire.ts";

export function promptMessage(typed: string, note: string): ContentPart[] {
  return [
    { type: "text", text: wrapReminder(note) },
    { type: "text", text: typed },
  ];
}
