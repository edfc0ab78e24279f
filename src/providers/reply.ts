// What the model says, event by event: pi-ai's terms in, ours out. A tool call counts only when its raw argument text is
// a JSON object, whatever a lenient parser made of it.

import type { AssistantMessage, AssistantMessageEvent } from "@earendil-works/pi-ai";
import {
  MAX_ARGUMENT_DEPTH,
  type ModelAssistantMessage,
  type ModelEvent,
  type ModelRequest,
  type ModelToolCall,
} from "@/backend/model.ts";
import { isDeeperThan, isRecord, parseJson } from "@/lib/json.ts";
import { fromPiMessage, toolCallId } from "./convert.ts";
import type { ResolvedModel } from "./models.ts";

export interface Reply {
  /** What had arrived when nothing else tells. */
  latest: AssistantMessage | null;
  /** The model has said something. */
  produced: boolean;
  accept(event: AssistantMessageEvent): Generator<ModelEvent>;
  /** The message of a failed call, without calls that are not whole; null when nothing had arrived. */
  partial(message: AssistantMessage | null, errorText: string, aborted: boolean): ModelAssistantMessage | null;
}

interface OpenCall {
  raw: string;
  /** Arguments the protocol delivered whole with the call's start. */
  given: Record<string, unknown>;
  started: boolean;
}

export function createReply(model: ResolvedModel, request: ModelRequest): Reply {
  const open = new Map<number, OpenCall>();
  const calls = new Map<number, ModelToolCall>();
  /** Calls whose arguments are not whole: announced only if the stream itself ends well. */
  const broken: Extract<ModelEvent, { type: "tool_end" }>[] = [];
  /** A blank line pi-ai puts after every part of a summary, shown only when another part follows. */
  const gaps = new Map<number, string>();
  const priced = model.known && Object.values(model.pi.cost).some((price) => typeof price === "number" && price > 0);

  function* think(index: number, delta: string): Generator<ModelEvent> {
    const gap = gaps.get(index) ?? "";
    gaps.set(index, delta === "\n\n" ? gap + delta : "");
    if (delta !== "" && delta !== "\n\n") yield { type: "thinking", index, delta: gap + delta };
  }

  function* start(index: number, message: AssistantMessage): Generator<ModelEvent> {
    const block = message.content[index];
    const call = open.get(index);
    if (block?.type !== "toolCall" || call === undefined || call.started || nameOf(block) === "") return;
    call.started = true;
    yield { type: "tool_start", index, id: toolCallId(block, message.api), name: nameOf(block) };
    if (call.raw !== "") yield { type: "tool_args", index, delta: call.raw };
  }

  function end(index: number, message: AssistantMessage): ModelToolCall | null {
    const block = message.content[index];
    if (block?.type !== "toolCall") return null;
    const { raw = "", given = {} } = open.get(index) ?? {};
    const { thoughtSignature } = block;
    const checked = checkArguments(raw, given, request, nameOf(block));
    const call: ModelToolCall = {
      type: "toolCall",
      id: toolCallId(block, message.api),
      name: nameOf(block),
      ...checked,
      ...(thoughtSignature === undefined ? {} : { thoughtSignature }),
    };
    calls.set(index, call);
    return call;
  }

  return {
    latest: null,
    produced: false,
    *accept(event) {
      if ("partial" in event) this.latest = event.partial;
      switch (event.type) {
        case "text_delta":
          this.produced = true;
          if (isText(event.delta)) yield { type: "text", index: event.contentIndex, delta: event.delta };
          return;
        case "thinking_delta":
          this.produced = true;
          if (isText(event.delta)) yield* think(event.contentIndex, event.delta);
          return;
        case "toolcall_start": {
          this.produced = true;
          const block = event.partial.content[event.contentIndex];
          const given = block?.type === "toolCall" ? { ...block.arguments } : {};
          open.set(event.contentIndex, { raw: "", given, started: false });
          yield* start(event.contentIndex, event.partial);
          return;
        }
        case "toolcall_delta": {
          const call = open.get(event.contentIndex);
          if (call === undefined || !isText(event.delta)) return;
          const wasStarted = call.started;
          call.raw += event.delta;
          yield* start(event.contentIndex, event.partial);
          if (wasStarted) yield { type: "tool_args", index: event.contentIndex, delta: event.delta };
          return;
        }
        case "toolcall_end": {
          const call = end(event.contentIndex, event.partial);
          if (call === null) return;
          const ended = { type: "tool_end", index: event.contentIndex, call } as const;
          if (call.argumentsError === undefined) yield ended;
          else broken.push(ended);
          return;
        }
        case "done": {
          yield* broken;
          const stopReason = event.reason === "length" || event.reason === "toolUse" ? event.reason : "stop";
          yield { type: "done", message: fromPiMessage(event.message, { calls, priced, stopReason }) };
          return;
        }
        default:
          return;
      }
    },
    partial(message, errorText, aborted) {
      if (message === null || message.content.length === 0) return null;
      const whole = new Map([...calls].filter(([, call]) => call.argumentsError === undefined));
      const stopReason = aborted ? "aborted" : "error";
      const partial = fromPiMessage(message, { calls: whole, priced, stopReason });
      if (partial.content.every((block) => block.type === "text" && block.text === "")) return null;
      return aborted ? partial : { ...partial, errorMessage: errorText };
    },
  };
}

/** pi-ai passes on what the server sent, whatever its type. */
function isText(delta: unknown): delta is string {
  return typeof delta === "string" && delta !== "";
}

function nameOf({ name }: { name: unknown }): string {
  return typeof name === "string" ? name : "";
}

/** Only a JSON object counts. No text at all is `{}` for a tool that needs nothing. */
function checkArguments(
  raw: string,
  given: Record<string, unknown>,
  request: ModelRequest,
  name: string,
): Pick<ModelToolCall, "arguments" | "argumentsError"> {
  if (raw.trim() === "") {
    const required = request.tools.find((tool) => tool.name === name)?.parameters.required;
    const needsNothing = !Array.isArray(required) || required.length === 0;
    if (needsNothing || Object.keys(given).length > 0) return { arguments: given };
    return { arguments: {}, argumentsError: "the arguments were empty" };
  }
  const parsed = parseJson(raw);
  return isRecord(parsed) && !isDeeperThan(MAX_ARGUMENT_DEPTH, parsed)
    ? { arguments: parsed }
    : { arguments: {}, argumentsError: raw };
}
