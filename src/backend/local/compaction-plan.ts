// Where to cut a conversation and what to make shorter: pure decisions over a window's entries, by tokens. A call is
// never separated from its results, and what the model has not seen yet is never summarised away, only clipped.

import { estimateTokens, type ModelImage, type ModelMessage, type ModelText } from "@/backend/model.ts";
import { cutMiddle } from "@/lib/text.ts";
import { estimateEntries, estimateMessage } from "./tokens.ts";
import type { WindowEntry } from "./window.ts";

/** Tool outputs up to this many characters are not worth a stub. */
const STUB_ABOVE_CHARS = 400;
/** The part of the budget whose newest messages keep their tool outputs and images. */
const PROTECTED_SHARE = 0.25;
/** A single text may take this part of the budget. */
const SINGLE_SHARE = 0.3;
/** Clipped texts keep at least this. */
const MIN_CLIP_TOKENS = 64;

/** Replacements by seq. */
export type Overrides = Map<number, ModelMessage>;

/** Index of the first entry the next request must hold: input nobody answered yet, and calls without results. */
export function firstUnanswered(entries: WindowEntry[]): number {
  let index = entries.length;
  while (index > 0 && entries[index - 1]?.message.role === "user" && !entries[index - 1]?.isSummary) index--;
  const before = entries[index - 1];
  if (before?.message.role === "toolResult") return unitStart(entries, index - 1);
  const isOpen =
    before?.message.role === "assistant" &&
    !before.interrupted &&
    before.message.content.some((part) => part.type === "toolCall");
  return isOpen ? index - 1 : index;
}

/** Index of the first entry to keep: as many of the newest as fit `keepTokens`, always all from `unanswered` on. */
export function chooseCut(entries: WindowEntry[], unanswered: number, keepTokens: number): number {
  let cut = unanswered;
  let tokens = estimateEntries(entries.slice(unanswered));
  for (let index = unanswered - 1; index >= 0; index--) {
    const entry = entries[index] as WindowEntry;
    tokens += entry.tokens;
    if (tokens > keepTokens || entry.isSummary) break;
    if (entry.message.role !== "toolResult") cut = index;
  }
  return cut;
}

/** Old tool outputs become one line, old images a placeholder, giant texts lose their middle. */
export function shrinkEntries(entries: WindowEntry[], budgetTokens: number): Overrides {
  const unanswered = firstUnanswered(entries);
  const protectedFrom = chooseCut(entries, unanswered, Math.floor(budgetTokens * PROTECTED_SHARE));
  const overrides: Overrides = new Map();
  entries.forEach((entry, index) => {
    if (entry.isSummary) return;
    const shorter =
      index < protectedFrom
        ? stubOld(entry)
        : clipMessage(entry, Math.max(MIN_CLIP_TOKENS, Math.floor(budgetTokens * SINGLE_SHARE)));
    if (shorter) overrides.set(entry.seq, shorter);
  });
  return overrides;
}

/** Clips the largest texts until the entries fit; the cap is the same for all, so small ones stay whole. What is to be
 *  kept is clipped only when there is no other way. */
export function clipToFit(entries: WindowEntry[], budgetTokens: number): Overrides {
  const overrides = clipAbove(entries, budgetTokens, false);
  const fits = estimateEntries(applyOverrides(entries, overrides)) <= budgetTokens;
  return fits || entries.every(({ keep }) => keep.length === 0) ? overrides : clipAbove(entries, budgetTokens, true);
}

function clipAbove(entries: WindowEntry[], budgetTokens: number, withKept: boolean): Overrides {
  const overrides: Overrides = new Map();
  let cap = budgetTokens;
  while (estimateEntries(applyOverrides(entries, overrides)) > budgetTokens && cap > MIN_CLIP_TOKENS) {
    cap = Math.max(MIN_CLIP_TOKENS, Math.floor(cap * 0.7));
    for (const entry of entries) {
      const shorter = clipMessage(entry, cap, withKept);
      if (shorter) overrides.set(entry.seq, shorter);
    }
  }
  return overrides;
}

export function applyOverrides(entries: WindowEntry[], overrides: Overrides): WindowEntry[] {
  return entries.map((entry) => {
    const message = overrides.get(entry.seq);
    return message ? { ...entry, message, tokens: estimateMessage(message) } : entry;
  });
}

function unitStart(entries: WindowEntry[], index: number): number {
  let start = index;
  while (start > 0 && entries[start]?.message.role === "toolResult") start--;
  return start;
}

function stubOld(entry: WindowEntry): ModelMessage | null {
  const { message, id } = entry;
  if (message.role === "toolResult") {
    const chars = message.content.reduce((sum, part) => sum + (part.type === "text" ? part.text.length : 0), 0);
    const hasImage = message.content.some((part) => part.type === "image");
    if (chars <= STUB_ABOVE_CHARS) return hasImage ? { ...message, content: withoutImages(message.content, id) } : null;
    const text = `[Output of ${message.toolName} left out to save space (${chars} characters). It is kept as message ${id}: search for it, or run the tool again.]`;
    return { ...message, content: [{ type: "text", text }] };
  }
  if (message.role !== "user" || typeof message.content === "string") return null;
  if (!message.content.some((part) => part.type === "image")) return null;
  return { ...message, content: withoutImages(message.content, id) };
}

function withoutImages(parts: (ModelText | ModelImage)[], id: string): (ModelText | ModelImage)[] {
  return parts.map((part) =>
    part.type === "image"
      ? { type: "text", text: `[Image left out to save space; it is kept in message ${id}.]` }
      : part,
  );
}

/** Null when nothing in it is longer than the cap, or when it must stay as it is (a reply may be signed). */
function clipMessage(entry: WindowEntry, capTokens: number, withKept = false): ModelMessage | null {
  const { message, id } = entry;
  const kept = withKept ? [] : entry.keep;
  if (message.role === "assistant") return null;
  if (message.role === "user" && typeof message.content === "string") {
    return estimateTokens(message.content) > capTokens
      ? { ...message, content: clipText(message.content, capTokens, id) }
      : null;
  }
  const parts = message.content as (ModelText | ModelImage)[];
  const isLong = (part: ModelText | ModelImage, index: number): boolean =>
    part.type === "text" && !kept.includes(index) && estimateTokens(part.text) > capTokens;
  if (!parts.some(isLong)) return null;
  const content = parts.map((part, index) =>
    part.type === "text" && isLong(part, index) ? { ...part, text: clipText(part.text, capTokens, id) } : part,
  );
  return { ...message, content } as ModelMessage;
}

/** Beginning and end of a text, with a note in between that says what is missing and where it is kept. */
/** Texts under the cap stay whole. */
export function clipText(text: string, capTokens: number, id: string): string {
  if (estimateTokens(text) <= capTokens) return text;
  const share = capTokens / estimateTokens(text);
  const head = Math.floor(text.length * share * 0.6);
  const tail = Math.floor(text.length * share * 0.3);
  const note = (left: number): string =>
    `[… ${left} characters left out to fit the model's window; the whole text is message ${id} …]`;
  return cutMiddle(text, { head, tail, note });
}
