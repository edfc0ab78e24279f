// One conversation with an MCP server over any transport, and what the two commands do with it.

import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

export const PROTOCOL_VERSION = "2025-06-18";

export type Message = { jsonrpc: "2.0"; id?: number | string; method?: string; params?: unknown } & {
  result?: unknown;
  error?: { code: number; message: string; data?: unknown };
};

/** What carries messages. `send` resolves with the answer to a request and with undefined for everything else. */
export interface Transport {
  send(message: Message): Promise<Message | undefined>;
  /** Called once, with the version the server chose. */
  agreed?(protocolVersion: string): void;
  close(): Promise<void>;
}

/** Ends the program with a message and this exit code. */
export class Failure extends Error {
  constructor(
    message: string,
    readonly exitCode: 1 | 2 | 3 = 1,
  ) {
    super(message);
  }
}

/** The answer to what a server asks of us: it may see that we are alive, and nothing else. */
export function answerServer({ id, method }: Message): Message | undefined {
  if (id === undefined || method === undefined) return undefined;
  if (method === "ping") return { jsonrpc: "2.0", id, result: {} };
  return { jsonrpc: "2.0", id, error: { code: -32601, message: `${method} is not supported by this client` } };
}

export class Session {
  #lastId = 0;

  constructor(private readonly transport: Transport) {}

  async open(): Promise<void> {
    const result = await this.request("initialize", {
      protocolVersion: PROTOCOL_VERSION,
      capabilities: {},
      clientInfo: { name: "letta-skill", version: "1.0.0" },
    });
    this.transport.agreed?.(textOf(record(result).protocolVersion) ?? PROTOCOL_VERSION);
    await this.transport.send({ jsonrpc: "2.0", method: "notifications/initialized" });
  }

  async request(method: string, params: unknown): Promise<unknown> {
    const answer = await this.transport.send({ jsonrpc: "2.0", id: ++this.#lastId, method, params });
    if (answer === undefined) throw new Failure(`the server did not answer ${method}`);
    if (answer.error) throw new Failure(`${method}: ${answer.error.message} (code ${answer.error.code})`);
    return answer.result;
  }

  /** Of all pages. */
  async tools(): Promise<Tool[]> {
    const tools: Tool[] = [];
    let cursor: string | undefined;
    for (let page = 0; page < 100; page++) {
      const result = record(await this.request("tools/list", cursor === undefined ? {} : { cursor }));
      for (const entry of Array.isArray(result.tools) ? result.tools : []) {
        const tool = record(entry);
        if (typeof tool.name === "string") tools.push({ ...tool, name: tool.name });
      }
      cursor = textOf(result.nextCursor);
      if (cursor === undefined) break;
    }
    return tools;
  }
}

export interface Tool {
  name: string;
  description?: unknown;
  inputSchema?: unknown;
}

export type Action = { kind: "tools" } | { kind: "tool"; name: string } | { kind: "call"; name: string; args: string };

export interface Output {
  json: boolean;
  /** Where images and sounds are written. */
  out?: string;
}

/** Resolves with the exit code. */
export async function perform(transport: Transport, action: Action, output: Output): Promise<number> {
  const args = action.kind === "call" ? await readArguments(action.args) : {};
  try {
    const session = new Session(transport);
    await session.open();
    if (action.kind === "call")
      return showResult(await session.request("tools/call", { name: action.name, arguments: args }), output);
    const tools = await session.tools();
    return action.kind === "tools" ? showTools(tools, output) : showTool(tools, action.name, output);
  } finally {
    await transport.close();
  }
}

async function readArguments(given: string): Promise<Record<string, unknown>> {
  const text =
    given === "-" ? await Bun.stdin.text() : given.startsWith("@") ? readFileSync(given.slice(1), "utf8") : given;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new Failure(`the arguments are no JSON: ${(error as Error).message}`, 2);
  }
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw new Failure('the arguments must be a JSON object such as {"query":"x"}', 2);
  return value as Record<string, unknown>;
}

function showTools(tools: Tool[], { json }: Output): number {
  if (json) console.log(JSON.stringify(tools, null, 2));
  else if (tools.length === 0) console.log("The server has no tools.");
  else for (const { name, description } of tools) console.log(`${name}  ${firstLine(description)}`.trimEnd());
  return 0;
}

function showTool(tools: Tool[], name: string, { json }: Output): number {
  const tool = tools.find((candidate) => candidate.name === name);
  if (!tool) throw new Failure(`no tool ${name}; there are: ${tools.map((candidate) => candidate.name).join(", ")}`);
  if (json) console.log(JSON.stringify(tool, null, 2));
  else
    console.log(
      `${tool.name}\n\n${textOf(tool.description) ?? ""}\n\n${JSON.stringify(tool.inputSchema ?? {}, null, 2)}`,
    );
  return 0;
}

function showResult(value: unknown, { json, out }: Output): number {
  const result = record(value);
  const parts = (Array.isArray(result.content) ? result.content : []).map(record);
  if (json) console.log(JSON.stringify(result, null, 2));
  else {
    for (const [index, part] of parts.entries()) console.log(showPart(part, index, out));
    if (parts.length === 0 && result.structuredContent !== undefined)
      console.log(JSON.stringify(result.structuredContent, null, 2));
  }
  return result.isError === true ? 1 : 0;
}

function showPart(part: Record<string, unknown>, index: number, out: string | undefined): string {
  if (part.type === "text") return String(part.text ?? "");
  const data = textOf(part.data);
  if (data === undefined) return JSON.stringify(part, null, 2);
  const type = textOf(part.mimeType) ?? "application/octet-stream";
  const bytes = Buffer.from(data, "base64");
  if (out === undefined) return `[${type}, ${bytes.length} bytes; --out DIR writes it to a file]`;
  mkdirSync(out, { recursive: true });
  const file = join(out, `${index + 1}.${type.replace(/^.*\//, "").replace(/[^a-z0-9].*$/i, "") || "bin"}`);
  writeFileSync(file, bytes);
  return `[${type}: ${file}]`;
}

export function record(value: unknown): Record<string, unknown> {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
}

export function textOf(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

function firstLine(value: unknown): string {
  const line = (textOf(value) ?? "").trim().split("\n")[0] ?? "";
  return line.length > 160 ? `${line.slice(0, 159)}…` : line;
}
