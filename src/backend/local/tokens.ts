// Token estimates of messages, tools and whole windows.

import { estimateTokens, type ModelAssistantMessage, type ModelMessage, type ModelTool } from "@/backend/model.ts";
import type { ConversationWindow, WindowEntry } from "./window.ts";

const IMAGE_TOKENS = 1_200;
/** Beyond this the provider's own count and ours disagree for a reason that is not text density. */
const MAX_DENSITY = 4;

export function estimateMessage(message: ModelMessage): number {
  if (message.role === "user" && typeof message.content === "string") return estimateTokens(message.content);
  let tokens = 0;
  for (const part of message.content as Exclude<ModelMessage["content"], string>) {
    if (part.type === "text") tokens += estimateTokens(part.text);
    else if (part.type === "thinking") tokens += estimateTokens(part.thinking);
    else if (part.type === "image") tokens += IMAGE_TOKENS;
    else tokens += estimateTokens(part.name) + estimateTokens(part.argumentsError ?? JSON.stringify(part.arguments));
  }
  return tokens;
}

export function estimateEntries(entries: WindowEntry[]): number {
  return entries.reduce((sum, entry) => sum + entry.tokens, 0);
}

export function estimateTools(tools: ModelTool[]): number {
  return tools.length === 0 ? 0 : estimateTokens(JSON.stringify(tools));
}

export interface ContextEstimate {
  tokens: number;
  /** How many real tokens one estimated token is, at least 1. */
  density: number;
}

/** Tokens the next request takes: what the provider counted last, plus an estimate of what came since. `fixedTokens`
 *  are system prompt and tools. */
export function estimateContext(window: ConversationWindow, fixedTokens: number): ContextEstimate {
  const { entries } = window;
  const plain = fixedTokens + estimateEntries(entries);
  const anchor = entries.findLastIndex(
    (entry) => !entry.interrupted && entry.seq > (window.row?.after_seq ?? 0) && countedTokens(entry.message) > 0,
  );
  const anchorEntry = entries[anchor];
  if (!anchorEntry) return { tokens: plain, density: 1 };
  const counted = countedTokens(anchorEntry.message);
  const estimated = fixedTokens + estimateEntries(entries.slice(0, anchor + 1));
  const density = Math.min(MAX_DENSITY, Math.max(1, counted / Math.max(1, estimated)));
  return { tokens: counted + Math.ceil(estimateEntries(entries.slice(anchor + 1)) * density), density };
}

export function usageTokens(usage: ModelAssistantMessage["usage"]): number {
  return usage.totalTokens || usage.input + usage.output + usage.cacheRead + usage.cacheWrite;
}

function countedTokens(message: ModelMessage): number {
  return message.role === "assistant" ? usageTokens(message.usage) : 0;
}
