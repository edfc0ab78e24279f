// Parts of user messages that nobody typed: the texts of skills. The model reads them as instructions; they are no words
// of the user's, and what it was told to go by stays with it when a conversation is made shorter.

import { estimateTokens, type ModelMessage, type ModelUserMessage } from "@/backend/model.ts";
import type { LocalContext } from "./context.ts";
import { parseStored } from "./stored-json.ts";

/** What the user said. */
export function withoutKept(message: ModelUserMessage, keep: readonly number[]): ModelUserMessage;
export function withoutKept(message: ModelMessage, keep: readonly number[]): ModelMessage;
export function withoutKept(message: ModelMessage, keep: readonly number[]): ModelMessage {
  if (keep.length === 0 || message.role !== "user" || typeof message.content === "string") return message;
  return { ...message, content: message.content.filter((_, index) => !keep.includes(index)) };
}

/** The kept texts of the messages before `beforeSeq`, oldest first; of two with the same beginning the newer. Newest
 *  first they are taken as long as they fit; those that do not are named. */
export function collectKept(
  context: LocalContext,
  key: string,
  { beforeSeq, maxTokens }: { beforeSeq: number; maxTokens: number },
): string {
  const rows = context.db
    .query(
      `SELECT id, body, json_extract(meta, '$.keep') AS keep FROM messages
       WHERE conversation_key = ? AND kind = 'message' AND role = 'user' AND seq < ? AND meta LIKE '%"keep"%'
       ORDER BY seq DESC`,
    )
    .all(key, beforeSeq) as { id: string; body: string; keep: string | null }[];
  const seen = new Set<string>();
  const texts: string[] = [];
  const omitted: string[] = [];
  let left = maxTokens;
  for (const { id, body, keep } of rows) {
    for (const text of keptTexts(parseStored<ModelUserMessage>(body, id), keep).reverse()) {
      const name = text.split("\n", 1)[0]!;
      if (seen.has(name)) continue;
      seen.add(name);
      left -= estimateTokens(text);
      if (left >= 0) texts.unshift(text);
      else omitted.push(name);
    }
  }
  if (seen.size === 0) return "";
  const note = omitted.length > 0 ? [`No longer here, to be loaded again when needed: ${omitted.join(", ")}`] : [];
  const head = texts.length > 0 ? ["Skills loaded earlier in this conversation, word for word:"] : [];
  return [...head, ...texts, ...note].join("\n\n");
}

function keptTexts({ content }: ModelUserMessage, keep: string | null): string[] {
  const positions = keep === null ? [] : (JSON.parse(keep) as number[]);
  if (typeof content === "string") return [];
  return positions.flatMap((index) => {
    const part = content[index];
    return part?.type === "text" ? [part.text] : [];
  });
}
