// Our requests to the client (may this tool run, please run that tool) and their replies, matched by id. Any number may
// be open at once; each ends by a reply, its time limit, the end of its turn, or the client going away.

import { formatSeconds } from "@/lib/duration.ts";
import type { LineSink } from "./line-stream.ts";
import type { ClientRequest } from "./schema.ts";

/** A client that does not answer must not hold a turn for ever. */
const DEFAULT_REQUEST_TIMEOUT_MS = 10 * 60_000;

export type Reply =
  | { status: "answered"; response: Record<string, unknown> }
  /** In words, for whoever has to explain it. */
  | { status: "failed"; reason: string };

export interface RequestOptions {
  timeoutMs?: number;
  /** Aborts when nobody needs the answer any more. */
  signal: AbortSignal;
}

export class ClientRequests {
  readonly #open = new Map<string, (reply: Reply) => void>();
  readonly #lines: LineSink;
  #closed = false;

  constructor(lines: LineSink) {
    this.#lines = lines;
  }

  /** The client has closed its end: nothing will be answered. */
  get closed(): boolean {
    return this.#closed;
  }

  async ask(id: string, request: ClientRequest, options: RequestOptions): Promise<Reply> {
    if (this.#closed) return { status: "failed", reason: "The client has closed its input." };
    if (options.signal.aborted) return { status: "failed", reason: "The turn was interrupted." };
    // A model that repeats a call id must not take the other call's answer.
    const requestId = this.#open.has(id) ? `${id}-${crypto.randomUUID().slice(0, 8)}` : id;
    const { timeoutMs = DEFAULT_REQUEST_TIMEOUT_MS, signal } = options;
    const reply = new Promise<Reply>((resolve) => {
      const settle = (outcome: Reply) => {
        clearTimeout(timer);
        signal.removeEventListener("abort", onAbort);
        this.#open.delete(requestId);
        resolve(outcome);
      };
      const withdraw = (reason: string) => {
        void this.#lines.send({ type: "control_cancel_request", request_id: requestId, uuid: `cancel-${requestId}` });
        settle({ status: "failed", reason });
      };
      const onAbort = () => withdraw("The turn was interrupted.");
      const timer = setTimeout(
        () => withdraw(`The client did not answer within ${formatSeconds(timeoutMs)}.`),
        timeoutMs,
      );
      signal.addEventListener("abort", onAbort);
      this.#open.set(requestId, settle);
    });
    await this.#lines.send({ type: "control_request", request_id: requestId, request, uuid: requestId });
    return reply;
  }

  /** Hands a reply to whoever waits. False when nobody does (any more). */
  answer(response: { request_id: string; subtype: string; error?: string } & Record<string, unknown>): boolean {
    const callId = typeof response.tool_call_id === "string" ? `ext-${response.tool_call_id}` : "";
    const settle = this.#open.get(response.request_id) ?? this.#open.get(callId);
    if (!settle) return false;
    settle(
      response.subtype === "error"
        ? { status: "failed", reason: response.error ?? "The client reported an error." }
        : { status: "answered", response },
    );
    return true;
  }

  close(): void {
    this.#closed = true;
    for (const settle of this.#open.values()) settle({ status: "failed", reason: "The client has closed its input." });
  }
}
