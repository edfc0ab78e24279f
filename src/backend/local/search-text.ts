// The text of a message that search finds. Reminders of the harness are not what anybody said, so they are left out.

import { stripReminders } from "@/backend/content.ts";
import type { ModelMessage } from "@/backend/model.ts";
import type { SearchHit } from "@/backend/wire.ts";
import { withoutKept } from "./kept.ts";
import type { MessageMeta } from "./messages.ts";
import { toWireCall } from "./projection.ts";

/** Longer texts are searchable by their beginning. */
const MAX_CHARS = 256 * 1024;

export function searchableText(
  body: ModelMessage,
  meta: MessageMeta,
): { role: SearchHit["role"]; text: string } | null {
  const found = rolesText(body, meta);
  // A NUL ends a text for SQLite's functions.
  const text = found.text.slice(0, MAX_CHARS).replaceAll("\0", " ").trim();
  return text ? { role: found.role, text } : null;
}

function rolesText(body: ModelMessage, meta: MessageMeta): { role: SearchHit["role"]; text: string } {
  if (meta.compaction) return { role: "summary", text: meta.compaction.summary };
  if (body.role === "user") {
    const { content } = withoutKept(body, meta.keep ?? []);
    const parts = typeof content === "string" ? [{ type: "text" as const, text: content }] : content;
    const texts = parts.map((part) => (part.type === "text" ? stripReminders(part.text).trim() : ""));
    return { role: "user", text: texts.filter(Boolean).join("\n") };
  }
  if (body.role === "toolResult") {
    return { role: "tool", text: body.content.map((part) => (part.type === "text" ? part.text : "")).join("\n") };
  }
  const lines = body.content.map((part) => {
    if (part.type === "text") return part.text;
    return part.type === "toolCall" ? `${part.name} ${toWireCall(part).arguments}` : "";
  });
  return { role: "assistant", text: lines.filter(Boolean).join("\n") };
}
