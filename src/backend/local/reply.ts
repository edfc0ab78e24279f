// One streamed model reply: its deltas as chunks, and its final message with call ids that are safe to answer.

import type { ModelAssistantMessage, ModelEvent } from "@/backend/model.ts";
import type { LocalContext } from "./context.ts";
import { newCallId } from "./ids.ts";
import { callVariantId, reasoningVariantId, textVariantId, toWireCall, variantOtid } from "./projection.ts";
import type { NewChunk } from "./run-log.ts";

export class ReplyStream {
  /** True once the model said or asked anything: from then on the request may not silently be sent again. */
  hasOutput = false;
  #kind: "text" | "thinking" | "other" = "other";
  #lastIndex = -1;
  /** Index of the first part of the current run of equal parts, and when it began. */
  #groupIndex = 0;
  #groupDate = "";
  #isFirstText = true;
  #groupIsFirstText = true;

  constructor(
    private readonly context: LocalContext,
    private readonly messageId: string,
  ) {}

  /** Null for events that show nothing yet: tool calls are shown once the whole reply is stored. */
  toChunk(event: ModelEvent): NewChunk | null {
    if (event.type !== "text" && event.type !== "thinking") {
      if (event.type === "tool_start" || event.type === "tool_end") {
        this.hasOutput = true;
        this.#kind = "other";
      }
      return null;
    }
    if (event.delta === "") return null;
    this.hasOutput = true;
    const isNewGroup = event.type !== this.#kind;
    if (isNewGroup) this.#startGroup(event.type, event.index);
    // Thinking parts in a row are shown as one, a blank line apart.
    const joint = !isNewGroup && event.type === "thinking" && event.index !== this.#lastIndex ? "\n\n" : "";
    this.#lastIndex = event.index;
    const position = this.#groupIndex;
    if (event.type === "text") {
      return {
        id: textVariantId(this.messageId, position, this.#groupIsFirstText),
        date: this.#groupDate,
        otid: variantOtid("assistant", this.messageId, position),
        message_type: "assistant_message",
        content: event.delta,
      };
    }
    return {
      id: reasoningVariantId(this.messageId, position),
      date: this.#groupDate,
      otid: variantOtid("reasoning", this.messageId, position),
      message_type: "reasoning_message",
      reasoning: joint + event.delta,
      source: "reasoner_model",
    };
  }

  #startGroup(kind: "text" | "thinking", index: number): void {
    this.#kind = kind;
    this.#groupIndex = index;
    this.#groupDate = this.context.isoNow();
    if (kind === "text") {
      this.#groupIsFirstText = this.#isFirstText;
      this.#isFirstText = false;
    }
  }
}

/** Every call gets an id that is not empty and not used before in the conversation; two calls with one id would
 *  otherwise get one answer. Returns ours → the model's for those that changed. */
export function repairCallIds(
  context: LocalContext,
  key: string,
  message: ModelAssistantMessage,
): { message: ModelAssistantMessage; repaired: Record<string, string> } {
  const used = context.db.query("SELECT 1 FROM tool_calls WHERE conversation_key = ? AND call_id = ?");
  const seen = new Set<string>();
  const repaired: Record<string, string> = {};
  const content = message.content.map((part) => {
    if (part.type !== "toolCall") return part;
    let { id } = part;
    if (!id.trim() || seen.has(plainId(id)) || used.get(key, id) !== null) {
      id = newCallId();
      repaired[id] = part.id;
    }
    seen.add(plainId(id));
    return id === part.id ? part : { ...part, id };
  });
  return { message: Object.keys(repaired).length ? { ...message, content } : message, repaired };
}

/** Some providers join their item id to the call id with a bar; results are matched by the part before it. */
function plainId(id: string): string {
  return id.split("|", 1)[0] ?? id;
}

export function callChunks(context: LocalContext, messageId: string, message: ModelAssistantMessage): NewChunk[] {
  return message.content.flatMap((part) =>
    part.type === "toolCall"
      ? [
          {
            id: callVariantId(messageId, part.id),
            date: context.isoNow(),
            message_type: "approval_request_message" as const,
            tool_call: toWireCall(part),
          },
        ]
      : [],
  );
}
