// `-p --input-format stream-json`: a long-lived process for programs. One reader routes every line as it comes; one
// loop runs turns from the queue. Neither waits for the other, so a permission reply, an interrupt or the next user
// message arrives in the middle of a turn.

import * as v from "valibot";
import type { Session } from "@/agent/resolve.ts";
import type { App } from "@/app.ts";
import type { Turn } from "@/engine/events.ts";
import type { QueueBatch, TurnQueue } from "@/engine/queue.ts";
import { EXIT_OK } from "@/exit-codes.ts";
import { errorMessage } from "@/lib/errors.ts";
import { type InputLine, MAX_LINE_BYTES, readInputLines } from "@/lib/input-lines.ts";
import { parseJson } from "@/lib/json.ts";
import { describeIssue } from "@/lib/schema-issue.ts";
import type { ToolsWish } from "@/tools/toolsets.ts";
import { answerControl, type ControlState } from "./control.ts";
import { askClient } from "./permission-requests.ts";
import { ClientRequests } from "./requests.ts";
import { turnResultBody } from "./result.ts";
import { type HeadlessIo, type HeadlessRun, turnInput } from "./run.ts";
import { ControlReplySchema, ControlRequestLineSchema, type LineBody, UserLineSchema } from "./schema.ts";

/** Returns at the end of stdin, when the queue is empty, or when told to stop. */
export async function runBidirectional(app: App, session: Session, run: HeadlessRun, io: HeadlessIo): Promise<number> {
  return new DuplexSession(app, session, run, io).run();
}

class DuplexSession {
  readonly #app: App;
  readonly #options: HeadlessRun;
  readonly #io: HeadlessIo;
  readonly #queue: TurnQueue;
  readonly #requests: ClientRequests;
  readonly #state: ControlState;
  /** Aborts when no more lines will come. */
  readonly #inputEnded = new AbortController();
  readonly #stopReading = new AbortController();
  #turn: Turn | null = null;
  /** `queue_blocked` is said once per turn. */
  #saidBlocked = false;
  /** Control requests are answered in order. */
  #controls: Promise<void> = Promise.resolve();

  constructor(app: App, session: Session, options: HeadlessRun, io: HeadlessIo) {
    this.#app = app;
    this.#options = options;
    this.#io = io;
    this.#queue = app.engine.queue({ agentId: session.agent.id, conversationId: session.conversation.id });
    this.#requests = new ClientRequests(io.lines);
    this.#state = { app, options, requests: this.#requests, session, usage: null, busy: () => this.#turn !== null };
  }

  async run(): Promise<number> {
    const { stop, writer } = this.#io;
    const quit = () => {
      this.#stopReading.abort();
      this.#turn?.abort();
    };
    stop.requested.addEventListener("abort", quit);
    writer.closed.addEventListener("abort", quit);
    if (stop.requested.aborted || writer.closed.aborted) quit();
    const reading = this.#readLines();
    try {
      await this.#runTurns();
      await this.#controls;
    } finally {
      this.#stopReading.abort();
      await reading;
      stop.requested.removeEventListener("abort", quit);
      writer.closed.removeEventListener("abort", quit);
    }
    await this.#clearQueue();
    return stop.requested.aborted ? stop.exitCode : EXIT_OK;
  }

  get #stopped(): boolean {
    return this.#stopReading.signal.aborted;
  }

  async #readLines(): Promise<void> {
    try {
      for await (const line of readInputLines(this.#io.stdin(), this.#stopReading.signal)) await this.#route(line);
    } catch (error) {
      await this.#sendError(`Cannot read stdin: ${errorMessage(error)}`);
    }
    this.#requests.close();
    this.#inputEnded.abort();
  }

  async #runTurns(): Promise<void> {
    while (!this.#stopped) {
      await this.#queue.waitForItem(this.#inputEnded.signal);
      if (this.#stopped) return;
      const batch = this.#queue.takeBatch();
      if (batch) await this.#runTurn(batch);
      else if (this.#inputEnded.signal.aborted) {
        // A request of the last lines may still register something or be owed an answer.
        await this.#controls;
        if (this.#queue.length === 0) return;
      }
    }
  }

  async #runTurn(batch: QueueBatch): Promise<void> {
    const { lines, output } = this.#io;
    await lines.send({
      type: "queue_batch_dequeued",
      batch_id: batch.id,
      item_ids: batch.items.map((item) => item.id),
      merged_count: batch.items.length,
      queue_len_after: this.#queue.length,
      uuid: `q-deq-${batch.id}`,
    });
    // Control requests that came before the message count for it.
    await this.#controls;
    const { session } = this.#state;
    const turn = this.#app.engine.submit({
      ...turnInput(session, this.#options),
      content: batch.content,
      approver: this.#requests.closed ? "nobody" : "front_end",
      automatic: batch.automatic,
      ...(batch.tools && { tools: batch.tools }),
    });
    this.#turn = turn;
    this.#saidBlocked = false;
    if (this.#stopped) turn.abort();
    const ended = new AbortController();
    for await (const event of turn.events) {
      await output.event(event);
      if (event.type === "step_finished" && event.usage) this.#state.usage = event.usage;
      if (event.type === "approval_requested") {
        void askClient(this.#app, this.#requests, event, ended.signal).then((decision) =>
          turn.decide(event.approvalId, decision),
        );
      }
      if (event.type === "turn_ended") {
        ended.abort();
        this.#turn = null;
        await output.result(turnResultBody(event.result, session, turn.id));
      }
    }
  }

  async #route(line: InputLine): Promise<void> {
    if (line.status === "too_long") {
      return this.#sendError(`Input line is longer than ${MAX_LINE_BYTES / 1024 / 1024} MB`);
    }
    if (!line.text.trim()) return;
    const json = parseJson(line.text);
    if (json === undefined) return this.#sendError("Invalid JSON input");
    const { type } = typeof json === "object" && json !== null && "type" in json ? json : { type: undefined };
    switch (type) {
      case "user":
        return this.#enqueue(json);
      case "control_request":
        return this.#control(json);
      case "control_response":
        return this.#reply(json);
      default:
        return this.#sendError(`Unknown message type: ${String(type)}`);
    }
  }

  async #enqueue(json: unknown): Promise<void> {
    const parsed = v.safeParse(UserLineSchema, json);
    if (!parsed.success) return this.#sendError(invalid("user message", parsed.issues));
    const { message, uuid } = parsed.output;
    if (typeof message.content === "string" ? !message.content.trim() : message.content.length === 0) {
      return this.#sendError("Invalid user message: content is empty");
    }
    const tools = toolsWish(parsed.output);
    // Tools the client has registered in the lines before count, too.
    if (tools?.include) await this.#controls;
    const stranger = tools?.include?.find((name) => this.#app.tools.find(name) === undefined);
    if (stranger !== undefined) {
      return this.#sendError(`Invalid user message: client_toolset.include names no tool: ${stranger}`);
    }
    const item = this.#queue.enqueue(message.content, "user", {
      ...(uuid !== undefined && { clientMessageId: uuid }),
      ...(tools && { tools }),
    });
    const queue_len = this.#queue.length;
    if (!item) {
      const item_id = uuid ?? "";
      return this.#send({
        type: "queue_item_dropped",
        item_id,
        reason: "buffer_limit",
        queue_len,
        uuid: crypto.randomUUID(),
      });
    }
    await this.#send({
      type: "queue_item_enqueued",
      item_id: item.id,
      client_message_id: item.clientMessageId ?? `cm-${item.id}`,
      source: item.source,
      kind: "message",
      queue_len,
      uuid: `q-enq-${item.id}`,
    });
    if (!this.#turn || this.#saidBlocked) return;
    this.#saidBlocked = true;
    await this.#send({ type: "queue_blocked", reason: "runtime_busy", queue_len, uuid: crypto.randomUUID() });
  }

  async #control(json: unknown): Promise<void> {
    const parsed = v.safeParse(ControlRequestLineSchema, json);
    if (!parsed.success) return this.#sendError(invalid("control request", parsed.issues));
    const { request_id, request } = parsed.output;
    if (request.subtype === "interrupt") {
      this.#turn?.abort();
      return this.#respond(request_id, {});
    }
    this.#controls = this.#controls.then(async () => {
      try {
        const payload = await answerControl(this.#state, request);
        await this.#respond(request_id, payload);
      } catch (error) {
        const response = { subtype: "error", request_id, error: errorMessage(error) } as const;
        await this.#send({ type: "control_response", response, uuid: crypto.randomUUID() });
      }
    });
  }

  async #reply(json: unknown): Promise<void> {
    const parsed = v.safeParse(ControlReplySchema, json);
    if (!parsed.success) return this.#sendError(invalid("control response", parsed.issues));
    // A reply that comes after its request was withdrawn is of no interest.
    this.#requests.answer(parsed.output.response);
  }

  async #clearQueue(): Promise<void> {
    const cleared_count = this.#queue.clear().length;
    if (cleared_count === 0) return;
    await this.#send({ type: "queue_cleared", reason: "shutdown", cleared_count, uuid: crypto.randomUUID() });
  }

  #respond(request_id: string, response: Record<string, unknown>): Promise<void> {
    const body = { subtype: "success", request_id, response } as const;
    return this.#send({ type: "control_response", response: body, uuid: crypto.randomUUID() });
  }

  #sendError(message: string): Promise<void> {
    return this.#send({ type: "error", message, stop_reason: "error", uuid: crypto.randomUUID() });
  }

  #send(body: LineBody): Promise<void> {
    return this.#io.lines.send(body);
  }
}

/** Undefined when the line wants nothing of its own. */
function toolsWish(line: v.InferOutput<typeof UserLineSchema>): ToolsWish | undefined {
  const { client_toolset: set, client_tool_allowlist: only, exclude_interactive_tools } = line;
  const wish: ToolsWish = {
    ...(set?.base && { toolset: set.base }),
    ...(set?.include && { include: set.include }),
    ...(only && { only }),
    ...(exclude_interactive_tools && { withoutQuestions: true }),
  };
  return Object.keys(wish).length > 0 ? wish : undefined;
}

function invalid(what: string, issues: [v.BaseIssue<unknown>, ...unknown[]]): string {
  return `Invalid ${what}: ${describeIssue(issues[0])}`;
}
