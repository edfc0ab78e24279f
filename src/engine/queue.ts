// Messages waiting for a conversation. Neighbouring user messages merge into one turn, in order. An interrupt holds the
// queue until the user releases it: nobody wants the next message sent into a turn they just stopped.

import { contentText } from "@/backend/content.ts";
import type { ContentPart } from "@/backend/wire.ts";
import type { ToolsWish } from "@/tools/toolsets.ts";

/** Items a queue holds at most; more are refused, visibly (spec 02 §6). */
export const QUEUE_LIMIT = 300;

export type QueueSource = "user" | "task_notification" | "cron" | "channel" | "subagent" | "system";

export interface QueuedItem {
  id: string;
  source: QueueSource;
  content: string | ContentPart[];
  /** Only for stream-json: the id the client gave. */
  clientMessageId?: string;
  /** What people see of it. Default: its content. */
  shown?: string;
  /** Permission rules of the skills in it. */
  allow?: readonly string[];
  /** For the turn it becomes; only what wants the same becomes one turn. */
  tools?: ToolsWish;
}

export interface QueueBatch {
  id: string;
  items: QueuedItem[];
  /** The items' contents as one message. */
  content: string | ContentPart[];
  /** What people see of it. */
  shown: string;
  allow: readonly string[];
  /** No person said it. */
  automatic: boolean;
  tools?: ToolsWish;
}

export class TurnQueue {
  #items: QueuedItem[] = [];
  #held = false;
  #nextItem = 1;
  #nextBatch = 1;
  #wake: (() => void)[] = [];

  get length(): number {
    return this.#items.length;
  }
  get held(): boolean {
    return this.#held;
  }
  list(): readonly QueuedItem[] {
    return this.#items;
  }

  /** Null when the queue is full; nothing is dropped silently. */
  enqueue(
    content: QueuedItem["content"],
    source: QueueSource = "user",
    about: Pick<QueuedItem, "clientMessageId" | "shown" | "allow" | "tools"> = {},
  ): QueuedItem | null {
    if (this.#items.length >= QUEUE_LIMIT) return null;
    const item: QueuedItem = { id: `q-${this.#nextItem++}`, source, content, ...about };
    this.#items.push(item);
    this.#notify();
    return item;
  }

  /** False when there is no such item (any more). */
  edit(id: string, content: QueuedItem["content"]): boolean {
    const item = this.#items.find((candidate) => candidate.id === id);
    if (!item) return false;
    item.content = content;
    delete item.shown;
    delete item.allow;
    return true;
  }

  remove(id: string): boolean {
    const before = this.#items.length;
    this.#items = this.#items.filter((item) => item.id !== id);
    return this.#items.length < before;
  }

  /** Takes everything out. */
  clear(): QueuedItem[] {
    return this.#items.splice(0);
  }

  hold(): void {
    this.#held = true;
  }

  release(): void {
    this.#held = false;
    this.#notify();
  }

  /** The leading items of one source, with the same wishes, as one message; null when empty or held. */
  takeBatch(): QueueBatch | null {
    const first = this.#items[0];
    if (this.#held || !first) return null;
    const isOther = ({ source, tools }: QueuedItem) => source !== first.source || !Bun.deepEquals(tools, first.tools);
    const end = this.#items.findIndex(isOther);
    const items = this.#items.splice(0, end === -1 ? this.#items.length : end);
    return {
      id: `batch-${this.#nextBatch++}`,
      items,
      content: mergeContents(items.map((item) => item.content)),
      shown: items.map(shownText).join("\n"),
      allow: items.flatMap((item) => item.allow ?? []),
      automatic: first.source !== "user" && first.source !== "channel",
      ...(first.tools && { tools: first.tools }),
    };
  }

  /** Resolves when there may be a batch to take, or when the signal aborts. */
  async waitForItem(signal?: AbortSignal): Promise<void> {
    if ((this.#items.length > 0 && !this.#held) || signal?.aborted) return;
    await new Promise<void>((resolve) => {
      this.#wake.push(resolve);
      signal?.addEventListener("abort", () => resolve(), { once: true });
    });
  }

  #notify(): void {
    for (const wake of this.#wake.splice(0)) wake();
  }
}

/** As people see it. */
export function shownText({ shown, content }: QueuedItem): string {
  return shown ?? contentText(content);
}

/** Texts are joined by a newline; as soon as one has parts, all become parts. */
function mergeContents(contents: (string | ContentPart[])[]): string | ContentPart[] {
  if (contents.every((content) => typeof content === "string")) return contents.join("\n");
  return contents.flatMap((content) =>
    typeof content === "string" ? [{ type: "text" as const, text: content }] : content,
  );
}
