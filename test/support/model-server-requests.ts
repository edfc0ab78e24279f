// What a model server received: the raw request and a protocol-neutral view of it for assertions.

import type { IncomingMessage } from "node:http";
import type { Protocol } from "./model-server-frames.ts";

// biome-ignore lint/suspicious/noExplicitAny: tests reach into provider bodies of four shapes.
type Raw = any;

export interface SeenMessage {
  role: string;
  /** All text of the message; thinking not included. */
  text: string;
  thinking: string;
  images: number;
  toolCalls: { id: string; name: string; args: unknown }[];
  toolResults: { id: string; text: string }[];
}
export interface RecordedRequest {
  method: string;
  path: string;
  headers: Record<string, string>;
  /** Parsed JSON; the text when it is none. */
  body: Raw;
  /** Null for model lists and probes. */
  protocol: Protocol | null;
  model: string;
  /** Credentials the request carried, wherever the protocol puts them. */
  keys: string[];
  system: string;
  messages: SeenMessage[];
  /** Of all messages, in order. */
  toolResults: { id: string; text: string }[];
  toolNames: string[];
}

export async function recordRequest(req: IncomingMessage): Promise<RecordedRequest> {
  const chunks: Buffer[] = [];
  for await (const chunk of req) chunks.push(chunk as Buffer);
  const url = new URL(req.url ?? "/", "http://loopback");
  const body = parseBody(Buffer.concat(chunks).toString("utf8"));
  const protocol = req.method === "POST" ? protocolOf(url.pathname) : null;
  const headers = Object.fromEntries(Object.entries(req.headers).map(([name, value]) => [name, String(value)]));
  const messages = protocol === null ? [] : VIEWS[protocol].messages(body);
  return {
    method: req.method ?? "GET",
    path: url.pathname + url.search,
    headers,
    body,
    protocol,
    model: /\/models\/([^:/]+):/.exec(url.pathname)?.[1] ?? body?.model ?? "",
    keys: [
      headers["x-api-key"],
      headers["x-goog-api-key"],
      headers.authorization?.replace(/^Bearer /i, ""),
      url.searchParams.get("key"),
    ].filter((key): key is string => typeof key === "string"),
    system: protocol === null ? "" : VIEWS[protocol].system(body),
    messages,
    toolResults: messages.flatMap((message) => message.toolResults),
    toolNames: protocol === null ? [] : VIEWS[protocol].toolNames(body),
  };
}

function protocolOf(path: string): Protocol | null {
  if (path.endsWith("/messages")) return "anthropic";
  if (path.endsWith("/responses")) return "responses";
  if (path.endsWith("/chat/completions")) return "chat";
  if (path.endsWith(":streamGenerateContent")) return "gemini";
  return null;
}

function parseBody(text: string): Raw {
  try {
    return text === "" ? null : JSON.parse(text);
  } catch {
    return text;
  }
}

interface View {
  messages(body: Raw): SeenMessage[];
  system(body: Raw): string;
  toolNames(body: Raw): string[];
}

const VIEWS: Record<Protocol, View> = {
  anthropic: {
    messages: (body) => (body.messages ?? []).map(anthropicMessage),
    system: (body) => textOf(body.system),
    toolNames: (body) => (body.tools ?? []).map((tool: Raw) => tool.name),
  },
  responses: {
    messages: (body) => (body.input ?? []).filter((item: Raw) => !isSystem(item)).map(responsesItem),
    system: (body) =>
      [body.instructions, ...(body.input ?? []).filter(isSystem).map(contentText)].filter(Boolean).join("\n"),
    // Newer models get them as an item of the input.
    toolNames: (body) =>
      [body, ...(body.input ?? []).filter((item: Raw) => item.type === "additional_tools")].flatMap((holder: Raw) =>
        (holder.tools ?? []).map((tool: Raw) => tool.name),
      ),
  },
  chat: {
    messages: (body) => (body.messages ?? []).filter((item: Raw) => !isSystem(item)).map(chatMessage),
    system: (body) => (body.messages ?? []).filter(isSystem).map(contentText).join("\n"),
    toolNames: (body) => (body.tools ?? []).map((tool: Raw) => tool.function.name),
  },
  gemini: {
    messages: (body) => (body.contents ?? []).map(geminiContent),
    system: (body) => textOf(body.systemInstruction?.parts),
    toolNames: (body) =>
      (body.tools ?? []).flatMap((tool: Raw) => (tool.functionDeclarations ?? []).map((f: Raw) => f.name)),
  },
};

const isSystem = (item: Raw): boolean => item.role === "system" || item.role === "developer";
const contentText = (item: Raw): string => textOf(item.content);

function textOf(content: Raw): string {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  return content.map((part: Raw) => (part.thought ? "" : (part.text ?? ""))).join("");
}

function seen(role: string, parts: Partial<SeenMessage>): SeenMessage {
  return { role, text: "", thinking: "", images: 0, toolCalls: [], toolResults: [], ...parts };
}

function anthropicMessage(message: Raw): SeenMessage {
  const parts: Raw[] = Array.isArray(message.content) ? message.content : [{ type: "text", text: message.content }];
  const of = (type: string): Raw[] => parts.filter((part) => part.type === type);
  return seen(message.role, {
    text: textOf(of("text")),
    thinking: of("thinking")
      .map((part) => part.thinking)
      .join(""),
    images: of("image").length,
    toolCalls: of("tool_use").map((part) => ({ id: part.id, name: part.name, args: part.input })),
    toolResults: of("tool_result").map((part) => ({ id: part.tool_use_id, text: textOf(part.content) })),
  });
}

function responsesItem(item: Raw): SeenMessage {
  switch (item.type) {
    case "function_call":
      return seen("assistant", { toolCalls: [{ id: item.call_id, name: item.name, args: parseBody(item.arguments) }] });
    case "function_call_output":
      return seen("tool", { toolResults: [{ id: item.call_id, text: textOf(item.output) }] });
    case "reasoning":
      return seen("assistant", { thinking: textOf(item.summary) });
    default:
      return seen(item.role, {
        text: textOf(item.content),
        images: Array.isArray(item.content)
          ? item.content.filter((part: Raw) => part.type === "input_image").length
          : 0,
      });
  }
}

function chatMessage(message: Raw): SeenMessage {
  const text = textOf(message.content);
  if (message.role === "tool") return seen("tool", { toolResults: [{ id: message.tool_call_id, text }] });
  return seen(message.role, {
    text,
    thinking: message.reasoning_content ?? message.reasoning ?? "",
    images: Array.isArray(message.content)
      ? message.content.filter((part: Raw) => part.type === "image_url").length
      : 0,
    toolCalls: (message.tool_calls ?? []).map((call: Raw) => ({
      id: call.id,
      name: call.function.name,
      args: parseBody(call.function.arguments),
    })),
  });
}

function geminiContent(content: Raw): SeenMessage {
  const parts: Raw[] = content.parts ?? [];
  return seen(content.role, {
    text: textOf(parts),
    thinking: parts
      .filter((part) => part.thought)
      .map((part) => part.text ?? "")
      .join(""),
    images: parts.filter((part) => part.inlineData).length,
    toolCalls: parts
      .filter((part) => part.functionCall)
      .map(({ functionCall: call }) => ({ id: call.id ?? "", name: call.name, args: call.args })),
    toolResults: parts
      .filter((part) => part.functionResponse)
      .map(({ functionResponse: result }) => ({
        id: result.id ?? result.name,
        text: String(result.response?.output ?? result.response?.error ?? JSON.stringify(result.response)),
      })),
  });
}
