// `--record FILE` and `--replay FILE`: a run becomes a deterministic test. The file is JSON lines: a header, then for
// each model call one `request` line and its events. Requests are kept as fingerprints only, line by line, so that a
// replay can say where a request differs without the file holding what was asked.

import { appendFileSync, readFileSync, statSync, writeFileSync } from "node:fs";
import * as v from "valibot";
import { stripReminders } from "@/backend/content.ts";
import {
  type ModelAdapter,
  type ModelEvent,
  type ModelMessage,
  type ModelRequest,
  ProviderError,
} from "@/backend/model.ts";
import type { ModelRecord } from "@/backend/wire.ts";
import { errorMessage, LettaError, systemReason } from "@/lib/errors.ts";
import { sha256 } from "@/lib/hash.ts";

/** Passes everything through and writes it down. Throws `storage` when the file cannot be written. An existing file is
 *  replaced. */
export function recordingAdapter(inner: ModelAdapter, file: string): ModelAdapter {
  let step = 0;
  if (isPipeOrDevice(file)) throw new LettaError("storage", `cannot write the recording ${file}: it is not a file`);
  const header: Line = { type: "header", format: FORMAT, version: VERSION };
  write(() => writeFileSync(file, `${JSON.stringify(header)}\n`, { mode: 0o600 }), file);
  const append = (line: Line): void => write(() => appendFileSync(file, `${JSON.stringify(line)}\n`), file);

  async function* stream(request: ModelRequest, signal: AbortSignal): AsyncIterable<ModelEvent> {
    const own = ++step;
    try {
      append({ type: "request", step: own, handle: request.handle, messages: request.messages.map(fingerprint) });
      for await (const event of inner.stream(request, signal)) {
        append({ type: "event", step: own, event: toRecorded(event) });
        yield event;
      }
    } catch (error) {
      yield failed(errorMessage(error));
    }
  }

  return {
    stream,
    listModels: () => inner.listModels(),
    async resolveModel(handle) {
      const record = await inner.resolveModel(handle);
      append({ type: "model", handle, record });
      return record;
    },
    async defaultModel() {
      const handle = await inner.defaultModel();
      append({ type: "default", handle });
      return handle;
    },
  };
}

/** Plays a recording: no provider, no network. A request that differs from the recorded one ends with a `provider` error
 *  that names the step and the first difference. Throws `invalid_data` or `not_found` for a file it cannot use. */
export function replayingAdapter(file: string): ModelAdapter {
  const recording = readRecording(file);
  const open = [...recording.steps.values()];

  async function* stream(request: ModelRequest, signal: AbortSignal): AsyncIterable<ModelEvent> {
    const asked = request.messages.map(fingerprint);
    // Calls made at the same time may come in another order than they were recorded in.
    const at = Math.max(
      0,
      open.findIndex((step) => sameMessages(step.messages, asked)),
    );
    const [step] = open.splice(at, 1);
    if (step === undefined) {
      yield failed(
        `the recording ${file} ends after step ${recording.steps.size}, but the run asks the model once more`,
      );
      return;
    }
    const difference = describeDifference(step.messages, asked, request.messages);
    if (difference !== null) {
      yield failed(`step ${step.number} of the recording ${file} does not match: ${difference}`);
      return;
    }
    for (const event of step.events) {
      if (signal.aborted) {
        yield {
          type: "error",
          error: new ProviderError("cancelled", "cancelled", { retryable: false }),
          partial: null,
        };
        return;
      }
      yield fromRecorded(event);
    }
    if (!step.whole) yield failed(`step ${step.number} of the recording ${file} is cut off`);
  }

  return {
    stream,
    listModels: async () => [...recording.models.values()],
    async resolveModel(handle) {
      return recording.models.get(handle) ?? unknownModel(handle);
    },
    // The agent of the recorded run may have had its model already; a new one on another machine has none.
    defaultModel: async () => recording.defaultModel ?? recording.models.keys().next().value ?? null,
  };
}

const FORMAT = "letta-recording";
const VERSION = 1;

const FingerprintSchema = v.object({ role: v.string(), lines: v.array(v.string()) });
type Fingerprint = v.InferOutput<typeof FingerprintSchema>;

const LineSchema = v.variant("type", [
  v.object({ type: v.literal("header"), format: v.literal(FORMAT), version: v.number() }),
  v.object({ type: v.literal("request"), step: v.number(), handle: v.string(), messages: v.array(FingerprintSchema) }),
  v.object({ type: v.literal("event"), step: v.number(), event: v.looseObject({ type: v.string() }) }),
  v.object({ type: v.literal("model"), handle: v.string(), record: v.looseObject({ handle: v.string() }) }),
  v.object({ type: v.literal("default"), handle: v.nullable(v.string()) }),
]);
type Line =
  | Exclude<v.InferOutput<typeof LineSchema>, { type: "model" }>
  | { type: "model"; handle: string; record: ModelRecord };
type RecordedEvent = { type: string; [field: string]: unknown };

interface Step {
  number: number;
  messages: Fingerprint[];
  events: RecordedEvent[];
  /** The last event ends a call. */
  whole: boolean;
}
interface Recording {
  steps: Map<number, Step>;
  models: Map<string, ModelRecord>;
  defaultModel: string | null;
}

function readRecording(file: string): Recording {
  let text: string;
  if (isPipeOrDevice(file)) throw unusable(file, "it is not a file");
  try {
    text = readFileSync(file, "utf8");
  } catch (error) {
    throw new LettaError("not_found", `cannot read the recording ${file}: ${systemReason(error)}`, { cause: error });
  }
  const recording: Recording = { steps: new Map(), models: new Map(), defaultModel: null };
  const lines = text.split("\n");
  // Without its newline the last line was being written when the process ended.
  lines.pop();
  lines.forEach((line, index) => {
    addLine(recording, parseLine(line, index, file), index, file);
  });
  if (lines.length === 0) throw unusable(file, "it is empty");
  return recording;
}

function parseLine(text: string, index: number, file: string): Line {
  try {
    return v.parse(LineSchema, JSON.parse(text)) as Line;
  } catch (error) {
    throw unusable(
      file,
      index === 0 ? "it does not begin with a recording's header" : `line ${index + 1} is damaged`,
      error,
    );
  }
}

function addLine(recording: Recording, line: Line, index: number, file: string): void {
  if ((index === 0) !== (line.type === "header")) throw unusable(file, "it does not begin with a recording's header");
  switch (line.type) {
    case "header":
      if (line.version !== VERSION)
        throw unusable(file, `it has version ${line.version}, this letta reads version ${VERSION}`);
      return;
    case "request":
      recording.steps.set(line.step, { number: line.step, messages: line.messages, events: [], whole: false });
      return;
    case "event": {
      const step = recording.steps.get(line.step);
      if (step === undefined) throw unusable(file, `line ${index + 1} belongs to no request`);
      step.events.push(line.event);
      step.whole = line.event.type === "done" || line.event.type === "error";
      return;
    }
    case "model":
      recording.models.set(line.handle, line.record);
      return;
    case "default":
      recording.defaultModel = line.handle;
  }
}

/** Whoever opens a pipe waits for its other end, deaf to every signal. */
function isPipeOrDevice(file: string): boolean {
  return statSync(file, { throwIfNoEntry: false })?.isFile() === false;
}

function unusable(file: string, reason: string, cause?: unknown): LettaError {
  return new LettaError("invalid_data", `cannot replay ${file}: ${reason}`, { cause });
}

/** What a message says, without what differs from run to run: reminders (date, directory, git state) and ids. */
function messageText(message: ModelMessage): string {
  const parts = typeof message.content === "string" ? [message.content] : message.content.map(partText);
  return stripReminders(parts.join("\n")).replace(UUID, "<id>");
}

const UUID = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/gi;

function partText(part: Exclude<ModelMessage["content"], string>[number]): string {
  switch (part.type) {
    case "text":
      return part.text;
    case "thinking":
      return part.thinking;
    case "image":
      return `[image ${part.mimeType} ${shortHash(part.data)}]`;
    case "toolCall":
      return `[call ${part.name} ${JSON.stringify(part.arguments)}]`;
  }
}

function fingerprint(message: ModelMessage): Fingerprint {
  return { role: message.role, lines: messageText(message).split("\n").map(shortHash) };
}

function shortHash(text: string): string {
  return sha256(text).slice(0, 12);
}

function sameMessages(a: Fingerprint[], b: Fingerprint[]): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}

function describeDifference(recorded: Fingerprint[], asked: Fingerprint[], messages: ModelMessage[]): string | null {
  for (const [index, now] of asked.entries()) {
    const then = recorded[index];
    const name = `message ${index + 1} (${now.role})`;
    if (then === undefined) return `${name} was not there; the recorded request had ${recorded.length} messages`;
    if (then.role !== now.role) return `message ${index + 1} is from ${now.role}, recorded was ${then.role}`;
    const line = now.lines.findIndex((hash, at) => hash !== then.lines[at]);
    if (line !== -1) return `${name} differs at line ${line + 1}, which is now ${quote(messages[index]!, line)}`;
    if (now.lines.length < then.lines.length)
      return `${name} ends after line ${now.lines.length}, recorded were ${then.lines.length}`;
  }
  if (recorded.length > asked.length)
    return `the recorded request had ${recorded.length} messages, now there are ${asked.length}`;
  return null;
}

function quote(message: ModelMessage, line: number): string {
  return JSON.stringify((messageText(message).split("\n")[line] ?? "").slice(0, 120));
}

function toRecorded(event: ModelEvent): RecordedEvent {
  if (event.type !== "error") return { ...event };
  const { code, message, hint, status, retryable, retryAfterMs } = event.error;
  return {
    type: "error",
    error: { code, message: withoutKeys(message), hint, status, retryable, retryAfterMs },
    partial: event.partial,
  };
}

/** Some providers quote the refused key. */
function withoutKeys(text: string): string {
  return text.replace(/\b(sk|key|pk|gsk|xai|AIza)[-_][\w*.-]{6,}/gi, "[key]").replace(/\bAIza[\w-]{10,}/g, "[key]");
}

function fromRecorded(event: RecordedEvent): ModelEvent {
  // Written by `toRecorded` in the version the header named.
  if (event.type !== "error") return event as unknown as ModelEvent;
  const { code, message, ...options } = event.error as {
    code: ConstructorParameters<typeof ProviderError>[0];
    message: string;
    retryable: boolean;
  };
  return { type: "error", error: new ProviderError(code, message, options), partial: event.partial as never };
}

function failed(message: string): ModelEvent {
  const hint = "Record the run again with --record if the change is intended.";
  return { type: "error", error: new ProviderError("provider", message, { retryable: false, hint }), partial: null };
}

/** Recordings made from an adapter that was never asked about the model: nothing is known about it. */
function unknownModel(handle: string): ModelRecord {
  const slash = handle.indexOf("/");
  return {
    handle,
    model: handle.slice(slash + 1),
    display_name: handle.slice(slash + 1),
    provider_type: handle.slice(0, Math.max(0, slash)),
    provider_name: handle.slice(0, Math.max(0, slash)),
    provider_category: "byok",
    max_context_window: null,
    max_tokens: null,
    reasoning: false,
    vision: true,
  };
}

function write(work: () => void, file: string): void {
  try {
    work();
  } catch (error) {
    throw new LettaError("storage", `cannot write the recording ${file}: ${systemReason(error)}`, { cause: error });
  }
}
