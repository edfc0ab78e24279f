// The title of a conversation nobody named: the beginning of what was said first, so that lists show more than ids.

import { stripReminders } from "@/backend/content.ts";
import type { ModelMessage } from "@/backend/model.ts";
import { takeHead } from "@/lib/text.ts";
import type { LocalContext } from "./context.ts";

const MAX_CHARS = 60;

/** Names a conversation that has no title, unless it is the agent's main one. Inside the caller's transaction. */
export function nameConversation(context: LocalContext, key: string, body: ModelMessage): void {
  const title = titleOf(body);
  if (title === null) return;
  context.db
    .query("UPDATE conversations SET summary = ? WHERE key = ? AND summary IS NULL AND id <> 'default'")
    .run(title, key);
}

/** The first line with words, cut between words where possible; null when nothing was said in words. */
export function titleOf(body: ModelMessage): string | null {
  if (body.role !== "user") return null;
  const texts =
    typeof body.content === "string"
      ? [body.content]
      : body.content.map((part) => (part.type === "text" ? part.text : ""));
  const line = texts
    .flatMap((text) => stripReminders(text).split("\n"))
    .map((text) =>
      takeHead(text, 1000)
        .replace(/\s+/g, " ")
        .trim()
        .replace(/^(?:#{1,6}|>|[-*]) /, ""),
    )
    .find((text) => /[\p{L}\p{N}]/u.test(text));
  if (line === undefined) return null;
  if (line.length <= MAX_CHARS) return line;
  const head = takeHead(line, MAX_CHARS - 1);
  const space = head.lastIndexOf(" ");
  return `${space > MAX_CHARS / 2 ? head.slice(0, space) : head}…`;
}
