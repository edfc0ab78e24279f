// The three shapes of one-shot output. Each sees the same events and ends with exactly one result. What is for people
// (notes, errors) goes to stderr in all of them.

import { contentText } from "@/backend/content.ts";
import type { EngineEvent } from "@/engine/events.ts";
import { formatSeconds } from "@/lib/duration.ts";
import type { LineStream } from "./line-stream.ts";
import { toLines } from "./lines.ts";
import type { HeadlessOptions } from "./options.ts";
import type { ResultBody } from "./result.ts";
import type { LineBody } from "./schema.ts";
import type { Writer } from "./writer.ts";

export interface Output {
  /** `init` and notices. */
  line(body: LineBody): Promise<void>;
  event(event: EngineEvent): Promise<void>;
  /** The end: called once. Returns false when there was nothing to show for a success. */
  result(body: ResultBody): Promise<boolean>;
}

export interface OutputDeps {
  writer: Writer;
  lines: LineStream;
  /** One line for people. */
  note: (text: string) => void;
}

export function createOutput(options: HeadlessOptions, deps: OutputDeps): Output {
  switch (options.outputFormat) {
    case "text":
      return new TextOutput(deps);
    case "json":
      return new JsonOutput(deps);
    case "stream-json":
      return new StreamOutput(deps, options.partialMessages);
  }
}

/** Only the last assistant text reaches stdout. */
class TextOutput implements Output {
  #reasoning = { otid: "", text: "" };
  #toolOutput = "";

  constructor(private readonly deps: OutputDeps) {}

  async line(body: LineBody): Promise<void> {
    if (body.type === "system" && body.subtype === "notice") this.deps.note(body.text);
  }

  async event(event: EngineEvent): Promise<void> {
    if (event.type === "reasoning_delta") {
      const text = event.otid === this.#reasoning.otid ? this.#reasoning.text + event.text : event.text;
      this.#reasoning = { otid: event.otid, text };
    }
    if (event.type === "tool_finished") this.#toolOutput = contentText(event.result.output);
    noteEvent(event, this.deps.note);
  }

  async result(body: ResultBody): Promise<boolean> {
    // A model that only thought or only acted has still answered something.
    const complete = body.subtype === "success";
    const fallback = complete ? this.#reasoning.text || this.#toolOutput : "";
    const text = body.result?.trim() ? body.result : fallback;
    if (text) await this.deps.writer.write(text.endsWith("\n") ? text : `${text}\n`);
    return text !== "";
  }
}

class JsonOutput implements Output {
  constructor(private readonly deps: OutputDeps) {}

  async line(body: LineBody): Promise<void> {
    if (body.type === "system" && body.subtype === "notice") this.deps.note(body.text);
  }

  async event(event: EngineEvent): Promise<void> {
    noteEvent(event, this.deps.note);
  }

  async result(body: ResultBody): Promise<boolean> {
    await this.deps.writer.write(`${JSON.stringify(this.deps.lines.complete(body), null, 2)}\n`);
    return true;
  }
}

class StreamOutput implements Output {
  constructor(
    private readonly deps: OutputDeps,
    private readonly partial: boolean,
  ) {}

  line(body: LineBody): Promise<void> {
    return this.deps.lines.send(body);
  }

  async event(event: EngineEvent): Promise<void> {
    const { lines } = this.deps;
    for (const body of toLines(event, { partial: this.partial, now: lines.now })) await lines.send(body);
  }

  async result(body: ResultBody): Promise<boolean> {
    await this.deps.lines.send(body);
    return true;
  }
}

/** Progress a person at the terminal wants to know about. */
function noteEvent(event: EngineEvent, note: (text: string) => void): void {
  switch (event.type) {
    case "retry":
      note(`${event.reason}; trying again in ${formatSeconds(event.delayMs)} (${event.attempt}/${event.maxAttempts})`);
      break;
    case "recovery":
      note(event.message);
      break;
    case "notice":
      note(event.text);
      break;
    case "compaction":
      note(describeCompaction(event));
      break;
    case "auto_decided":
      if (event.behavior === "deny") note(describeDenial(event));
      break;
  }
}

/** The answer may miss something for it, so it is said. */
function describeCompaction({ stats }: Extract<EngineEvent, { type: "compaction" }>): string {
  const { context_tokens_before: before, context_tokens_after: after } = stats ?? {};
  const sizes =
    before === undefined || after === undefined ? "" : ` (${thousands(before)} → ${thousands(after)} tokens)`;
  return `the conversation did not fit the model's window: the model sees a shorter form of it${sizes}`;
}

function thousands(count: number): string {
  return count.toLocaleString("en-US");
}

function describeDenial({ call, reason, allowFlag }: Extract<EngineEvent, { type: "auto_decided" }>): string {
  const denied = `denied ${call.tool} ${call.title}: ${reason.detail}`;
  return allowFlag === undefined ? denied : `${denied}; ${allowFlag} would allow it`;
}
