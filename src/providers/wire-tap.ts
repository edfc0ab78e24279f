// Sits between a provider's SDK and the network. It gives the SDK one clean event stream (whole characters, `\n` only,
// no comments, valid JSON), closes the socket the moment the caller aborts or the provider falls silent, and notes what
// really happened (status, error body, error events, terminator), so that failures are classified from facts and not
// from an SDK's message text.

import { parseJson } from "@/lib/json.ts";
import { createCallSeparator } from "./chat-calls.ts";
import type { Api } from "./kinds.ts";
import { createEventParser, type ServerEvent } from "./sse.ts";

/** Facts about one request, filled while it runs. */
export interface WireFacts {
  status?: number;
  headers?: Headers;
  /** Parsed JSON of a failing response or of an error event inside the stream; the text when it is none. */
  errorBody?: unknown;
  /** The error arrived inside a stream that had started with status 200. */
  errorInStream: boolean;
  /** Beginning of a `data:` line that was not JSON. */
  garbage?: string;
  /** The response was a web page. */
  html: boolean;
  /** More arrived than any reply holds. */
  tooLarge?: boolean;
  /** Everything arrived: the protocol's own last word, or the reason why the model stopped. */
  complete: boolean;
  bytes: number;
  /** Milliseconds of silence after which we gave up. */
  silentForMs?: number;
  /** `fetch` itself failed: no response at all. */
  connectError?: unknown;
}

export interface WireTap {
  readonly facts: WireFacts;
  /** Pass to the SDK; aborts with the caller's signal and on silence. */
  readonly signal: AbortSignal;
  readonly fetch: typeof globalThis.fetch;
  /** Any sign of life from providers that do not use `fetch`. */
  touch(): void;
  /** Stops the timer and forgets the caller's signal. */
  dispose(): void;
}

const MAX_ERROR_BODY_BYTES = 64_000;
/** One event, and a whole stream: far above any reply, far below what a machine has. */
const MAX_EVENT_CHARS = 64_000_000;
const MAX_STREAM_BYTES = 1_000_000_000;
const MAX_MISLABELLED_BYTES = 16_000_000;
/** Some servers keep the connection open after the last event. */
const EOF_GRACE_MS = 2000;
const DRAIN_MS = 300;
const NOT_JSON = "the stream holds a line that is not JSON";
const TOO_LARGE = "the stream is larger than any reply";

export function createWireTap(options: { api: Api; signal: AbortSignal; timeoutMs: number }): WireTap {
  const abort = new AbortController();
  const facts: WireFacts = { errorInStream: false, html: false, complete: false, bytes: 0 };
  const onAbort = (): void => abort.abort();
  if (options.signal.aborted) abort.abort();
  options.signal.addEventListener("abort", onAbort, { once: true });

  let timer: ReturnType<typeof setTimeout> | undefined;
  let over = false;
  const touch = (): void => {
    clearTimeout(timer);
    if (over || options.timeoutMs <= 0 || abort.signal.aborted) return;
    timer = setTimeout(() => {
      facts.silentForMs = options.timeoutMs;
      abort.abort();
    }, options.timeoutMs);
  };
  touch();
  /** From here on it is the reader who takes his time. */
  const finish = (): void => {
    clearTimeout(timer);
    over = true;
  };

  async function tappedFetch(input: string | URL | Request, init?: RequestInit): Promise<Response> {
    const signals = [abort.signal, init?.signal].filter((signal): signal is AbortSignal => signal != null);
    let response: Response;
    try {
      response = await fetch(input, {
        ...init,
        headers: plainRequestHeaders(init?.headers),
        // Wherever it leads, the key is not for there.
        redirect: "manual",
        signal: AbortSignal.any(signals),
      });
    } catch (error) {
      facts.connectError = error;
      throw error;
    }
    touch();
    facts.status = response.status;
    facts.headers = response.headers;
    return response.ok ? tapBody(response) : keepErrorBody(response);
  }

  async function keepErrorBody(response: Response): Promise<Response> {
    const text = await readText(response, MAX_ERROR_BODY_BYTES);
    facts.errorBody = parseJson(text) ?? text;
    return new Response(text, { status: response.status, headers: plainHeaders(response.headers) });
  }

  async function tapBody(response: Response): Promise<Response> {
    const type = response.headers.get("content-type") ?? "";
    if (/html/i.test(type)) {
      facts.html = true;
      await keepErrorBody(response);
      throw new Error("a web page instead of a stream");
    }
    if (/^application\/json/i.test(type)) {
      const text = await readText(response, MAX_MISLABELLED_BYTES);
      // Some servers mislabel their events; anything else is a failure dressed as success.
      if (!/^\s*(data|event|:)/.test(text)) {
        facts.errorBody = parseJson(text) ?? text;
        throw new Error("one JSON value instead of a stream");
      }
      response = new Response(text, response);
    }
    if (response.body === null) return response;
    const clean = cleanEvents(response.body, { api: options.api, facts, touch, finish });
    return new Response(clean, { status: response.status, headers: plainHeaders(response.headers) });
  }

  return {
    facts,
    signal: abort.signal,
    fetch: Object.assign(tappedFetch, { preconnect: fetch.preconnect }),
    touch,
    dispose: () => {
      clearTimeout(timer);
      options.signal.removeEventListener("abort", onAbort);
    },
  };
}

/** At most `maxBytes` of a body, however much the other side sends. */
export async function readText(response: Response, maxBytes: number): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    text += decoder.decode(chunk, { stream: true });
    bytes += chunk.length;
    if (bytes >= maxBytes) break;
  }
  return text + decoder.decode();
}

/** The stream as clean events. Ends early when the provider's last word arrived; fails on a line that is not JSON. */
function cleanEvents(
  body: ReadableStream<Uint8Array>,
  { api, facts, touch, finish }: { api: Api; facts: WireFacts; touch(): void; finish(): void },
): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  const encoder = new TextEncoder();
  const parser = createEventParser();
  const separateCalls = api === "openai-completions" ? createCallSeparator() : null;
  let finished = false;

  /** Returns what to hand on. */
  function accept(events: ServerEvent[], atEnd: boolean): string {
    let out = "";
    for (const { event, data } of events) {
      if (finished) break;
      if (data.trim() === "[DONE]") {
        finished = true;
        out += "data: [DONE]\n\n";
        continue;
      }
      const value = parseJson(data);
      if (value === undefined) {
        // Half an event at the very end is a cut stream, which the missing terminator will show.
        if (!atEnd) facts.garbage = data.slice(0, 200);
        finished = true;
        break;
      }
      finished = observe(api, event, value, facts);
      const name = event ?? (api === "anthropic-messages" && hasType(value) ? value.type : undefined);
      const text = separateCalls?.(value) ? JSON.stringify(value) : data.replaceAll("\n", " ");
      out += `${name === undefined ? "" : `event: ${name}\n`}data: ${text}\n\n`;
    }
    return out;
  }

  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      // Not together with the text before it: an error throws away what is still queued.
      if (facts.garbage !== undefined) controller.error(new Error(NOT_JSON));
      while (facts.garbage === undefined) {
        const { done, value } = await readOrGiveUp(reader, facts.complete);
        touch();
        facts.bytes += value?.length ?? 0;
        const text = done ? decoder.decode() : decoder.decode(value, { stream: true });
        const out = accept(done ? parser.end(text) : parser.push(text), done);
        if (!finished && (parser.waiting > MAX_EVENT_CHARS || facts.bytes > MAX_STREAM_BYTES)) {
          facts.tooLarge = true;
          controller.error(new Error(TOO_LARGE));
          void reader.cancel().catch(ignore);
          return;
        }
        if (out !== "") controller.enqueue(encoder.encode(out));
        if (finished && !done) void drain(reader);
        if (facts.garbage !== undefined && out === "") controller.error(new Error(NOT_JSON));
        else if (facts.garbage === undefined && (done || finished)) {
          finish();
          controller.close();
        } else if (out === "") continue;
        return;
      }
    },
    async cancel(reason) {
      await reader.cancel(reason);
    },
  });
}

interface ByteReader {
  read(): Promise<{ done: boolean; value?: Uint8Array }>;
  cancel(): Promise<void>;
}

/** Reads on to the end, so that the connection can be used again, but does not wait long for it. */
async function drain(reader: ByteReader): Promise<void> {
  const giveUp = setTimeout(() => reader.cancel().catch(ignore), DRAIN_MS);
  try {
    while (!(await reader.read()).done);
  } catch {
    // Everything that matters arrived before.
  } finally {
    clearTimeout(giveUp);
  }
}

function ignore(): void {}

/** Like `reader.read()`; after everything arrived, silence counts as the end. */
async function readOrGiveUp(reader: ByteReader, complete: boolean): Promise<{ done: boolean; value?: Uint8Array }> {
  if (!complete) return reader.read();
  let timer: ReturnType<typeof setTimeout> | undefined;
  const silence = new Promise<{ done: true }>((resolve) => {
    timer = setTimeout(() => resolve({ done: true }), EOF_GRACE_MS);
  });
  const read = reader.read().catch(() => ({ done: true })); // a reset after the last word loses nothing
  try {
    return await Promise.race([read, silence]);
  } finally {
    clearTimeout(timer);
  }
}

/** Notes terminators and error events. True when nothing that matters can follow. */
function observe(api: Api, event: string | undefined, value: unknown, facts: WireFacts): boolean {
  const data = value as {
    type?: string;
    error?: unknown;
    delta?: { stop_reason?: string | null };
    choices?: { finish_reason?: string | null }[];
    candidates?: { finishReason?: string }[];
    response?: { error?: unknown };
  };
  const fail = (body: unknown): boolean => {
    facts.errorBody = body;
    facts.errorInStream = true;
    return false;
  };
  switch (api) {
    case "anthropic-messages":
      if (event === "error" || data.type === "error") return fail(value);
      if (data.type === "message_stop") facts.complete = true;
      return facts.complete;
    case "openai-responses":
      if (data.type === "error") return fail(value);
      if (data.type === "response.failed") return fail(data.response ?? value);
      if (data.type === "response.completed" || data.type === "response.incomplete") facts.complete = true;
      return facts.complete;
    case "google-generative-ai":
      if (data.error !== undefined) return fail(value);
      if (data.candidates?.some(({ finishReason }) => finishReason)) facts.complete = true;
      return false;
    default:
      if (data.error !== undefined && data.error !== null) return fail(value);
      if (data.choices?.some(({ finish_reason }) => finish_reason)) facts.complete = true;
      return false;
  }
}

/** Without what the vendors' SDKs tell about this machine. */
function plainRequestHeaders(headers: RequestInit["headers"]): Headers {
  const plain = new Headers(headers);
  for (const name of [...plain.keys()]) if (name.startsWith("x-stainless-")) plain.delete(name);
  return plain;
}

/** The body is decoded already and its length changed. */
function plainHeaders(headers: Headers): Headers {
  const plain = new Headers(headers);
  plain.delete("content-encoding");
  plain.delete("content-length");
  return plain;
}

function hasType(value: unknown): value is { type: string } {
  return typeof value === "object" && value !== null && "type" in value && typeof value.type === "string";
}
