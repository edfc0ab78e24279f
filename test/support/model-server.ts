// A scripted model server on loopback: it speaks Anthropic Messages, OpenAI Responses, Chat Completions and Gemini,
// chosen by the request's path, and can break each of them in the ways real providers do. Built on node:http because it
// gives one TCP write per `write` and can destroy a socket without noise. `requests` holds the model calls, in order.

import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { errorBody, type Frame, framesOf, type Protocol } from "./model-server-frames.ts";
import { answerListing, type ListedModel } from "./model-server-lists.ts";
import { type RecordedRequest, recordRequest } from "./model-server-requests.ts";

export type { RecordedRequest } from "./model-server-requests.ts";

export type Fault =
  /** The socket is destroyed after the first text chunk. */
  | "cut"
  /** The socket is destroyed after the protocol's opening events. */
  | "cut_before_text"
  /** Ends cleanly without message_stop, response.completed, `[DONE]`, or (Gemini) the chunk with finishReason. */
  | "missing_terminator"
  /** Ends cleanly without any statement why the model stopped. */
  | "missing_finish"
  /** Silence after the first text chunk, until the client leaves. */
  | "stall"
  /** Multi-byte characters are split across TCP writes. */
  | "split_utf8"
  | "crlf"
  /** `: ping` lines and blank events between all events. */
  | "comments"
  /** Each tool call's argument text ends halfway; the rest of the stream is complete. */
  | "truncated_tool_json"
  /** The argument text of tool calls is the empty string. */
  | "empty_args"
  /** All tool calls carry the same id. */
  | "duplicate_ids"
  /** A `data:` line that is not JSON, after the first text chunk. */
  | "garbage"
  /** An error event inside the stream, after the first text chunk. */
  | "overload_mid_stream";

export interface ScriptedToolCall {
  id?: string;
  name: string;
  /** A string is sent as it is, also when it is not JSON. */
  args: object | string;
}
export interface ScriptedUsage {
  input?: number;
  output?: number;
  cacheRead?: number;
  cacheWrite?: number;
  /** Part of `output`. */
  reasoning?: number;
}
export interface ScriptedReply {
  /** An array is sent chunk by chunk. */
  text?: string | string[];
  thinking?: string;
  toolCalls?: ScriptedToolCall[];
  usage?: ScriptedUsage;
  /** The model stopped because its output limit was reached. */
  truncated?: boolean;
  /** Anything but 200 answers with `errorBody`, or with the error a real provider sends for that status. */
  status?: number;
  headers?: Record<string, string>;
  errorBody?: unknown;
  /** Wait before the response's first byte. */
  delayMs?: number;
  /** The stream waits for it after the first text chunk. */
  gate?: Promise<void>;
  fault?: Fault;
}
export type Script = ScriptedReply[] | ((request: RecordedRequest, index: number) => ScriptedReply);

export interface ModelServerOptions {
  /** Requests without this key are answered with 401. */
  requireKey?: string;
  /** Served by all model lists. Default: one model `m` with a window of 32,768 tokens. */
  models?: ListedModel[];
  /** Which local servers' own endpoints exist beside `/v1/models`. Default all. */
  engines?: ("ollama" | "lmstudio" | "llama-cpp")[];
}
export interface ModelServer extends AsyncDisposable {
  /** `http://127.0.0.1:<port>`, without a path. */
  readonly url: string;
  /** Model calls. */
  readonly requests: RecordedRequest[];
  /** Everything else: model lists, probes. */
  readonly listings: RecordedRequest[];
  /** Model calls whose client left before the response ended. */
  readonly closedEarly: number;
  /** `Date.now()` of the last early leave. */
  readonly closedAt: number | undefined;
  close(): Promise<void>;
}

/** After its end the script answers with the text "(script ended)". */
export async function startModelServer(script: Script, options: ModelServerOptions = {}): Promise<ModelServer> {
  const requests: RecordedRequest[] = [];
  const listings: RecordedRequest[] = [];
  const early = { count: 0, at: undefined as number | undefined };

  async function answer(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const request = await recordRequest(req);
    const listed = request.protocol === null;
    (listed ? listings : requests).push(request);
    if (options.requireKey !== undefined && !request.keys.includes(options.requireKey)) {
      return sendJson(res, 401, errorBody(request.protocol ?? "chat", 401));
    }
    if (request.protocol === null) {
      const { status, body } = answerListing(request, options);
      return sendJson(res, status, body);
    }
    const index = requests.length - 1;
    const reply = typeof script === "function" ? script(request, index) : (script[index] ?? { text: "(script ended)" });
    res.on("close", () => {
      if (res.writableFinished || endedByFault.has(res)) return;
      early.count += 1;
      early.at = Date.now();
    });
    await sendReply(res, request.protocol, request.model, reply);
  }

  const server = createServer((req, res) => {
    answer(req, res).catch((error) => {
      console.error("model server:", error);
      res.destroy();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("model server has no port");

  async function close(): Promise<void> {
    server.closeAllConnections();
    await new Promise<void>((resolve) => server.close(() => resolve()));
  }
  return {
    url: `http://127.0.0.1:${address.port}`,
    requests,
    listings,
    get closedEarly() {
      return early.count;
    },
    get closedAt() {
      return early.at;
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}

const endedByFault = new WeakSet<ServerResponse>();

async function sendReply(res: ServerResponse, protocol: Protocol, model: string, reply: ScriptedReply): Promise<void> {
  if (reply.delayMs !== undefined) await Bun.sleep(reply.delayMs);
  if (reply.status !== undefined && reply.status !== 200) {
    return sendJson(res, reply.status, reply.errorBody ?? errorBody(protocol, reply.status), reply.headers);
  }
  res.writeHead(200, { "content-type": "text/event-stream; charset=utf-8", ...reply.headers });
  res.flushHeaders();
  const frames = framesOf(protocol, model, reply).filter((frame) => !isDropped(frame, reply.fault, protocol));
  const middle = middleOf(frames);
  for (const [at, frame] of frames.entries()) {
    if (res.destroyed) return;
    if (reply.fault === "cut_before_text" && frame.kind !== "open") return destroy(res);
    if (at === middle && (await breakStream(res, protocol, reply))) return;
    await write(res, frame.sse, reply.fault);
  }
  if (middle === frames.length && (await breakStream(res, protocol, reply))) return;
  await new Promise<void>((resolve) => res.end(resolve));
}

/** The frame after the first piece of text, or of tool arguments when there is no text. */
function middleOf(frames: Frame[]): number {
  const text = frames.findIndex(({ kind }) => kind === "text");
  return (text === -1 ? frames.findIndex(({ kind }) => kind === "args") : text) + 1;
}

function isDropped(frame: Frame, fault: Fault | undefined, protocol: Protocol): boolean {
  if (fault === "missing_finish") return frame.kind === "finish" || frame.kind === "terminator";
  if (fault !== "missing_terminator") return false;
  return frame.kind === "terminator" || (protocol === "gemini" && frame.kind === "finish");
}

/** What happens in the middle of the stream. True when the response is over. */
async function breakStream(res: ServerResponse, protocol: Protocol, reply: ScriptedReply): Promise<boolean> {
  await reply.gate;
  switch (reply.fault) {
    case "cut":
      await destroy(res);
      return true;
    case "stall":
      await new Promise<void>((resolve) => res.on("close", () => resolve()));
      return true;
    case "garbage":
      await write(res, "data: {this is not json\n\n", undefined);
      return false;
    case "overload_mid_stream":
      await write(res, overloadFrame(protocol), undefined);
      res.end();
      return true;
    default:
      return false;
  }
}

function overloadFrame(protocol: Protocol): string {
  const data = (value: unknown): string => `data: ${JSON.stringify(value)}\n\n`;
  if (protocol === "anthropic") return `event: error\n${data(errorBody("anthropic", 529))}`;
  if (protocol === "responses") {
    return `event: error\n${data({ type: "error", code: "server_is_overloaded", message: "Our servers are currently overloaded. Please try again later.", param: null })}`;
  }
  return data(errorBody(protocol, 503));
}

/** A reset overtakes data that is still under way, and nothing tells when the client has read it: hence a moment. */
async function destroy(res: ServerResponse): Promise<void> {
  await Bun.sleep(10);
  endedByFault.add(res);
  res.destroy();
}

async function write(res: ServerResponse, sse: string, fault: Fault | undefined): Promise<void> {
  let text = sse;
  if (fault === "comments") text = `: ping\n\n\n${text}: keep-alive\n\n`;
  if (fault === "crlf") text = text.replaceAll("\n", "\r\n");
  const bytes = Buffer.from(text);
  for (const piece of fault === "split_utf8" ? splitInsideCharacters(bytes) : [bytes]) {
    if (res.destroyed) return;
    if (!res.write(piece)) await drained(res);
    // Lets the write leave as a packet of its own.
    if (fault === "split_utf8") await new Promise((resolve) => setImmediate(resolve));
  }
}

function drained(res: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const settle = (): void => {
      res.off("drain", settle).off("close", settle);
      resolve();
    };
    res.on("drain", settle).on("close", settle);
  });
}

/** A cut before every UTF-8 continuation byte. */
function splitInsideCharacters(bytes: Buffer): Buffer[] {
  const pieces: Buffer[] = [];
  let start = 0;
  for (let at = 1; at < bytes.length; at += 1) {
    if ((bytes[at]! & 0b1100_0000) !== 0b1000_0000) continue;
    pieces.push(bytes.subarray(start, at));
    start = at;
  }
  pieces.push(bytes.subarray(start));
  return pieces;
}

function sendJson(res: ServerResponse, status: number, body: unknown, headers: Record<string, string> = {}): void {
  res.writeHead(status, { "content-type": "application/json", ...headers });
  res.end(typeof body === "string" ? body : JSON.stringify(body));
}
