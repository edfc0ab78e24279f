// Tools the client brings along: ordinary tools of the registry whose `run` is a request to the client.

import * as v from "valibot";
import type { ContentPart } from "@/backend/wire.ts";
import { ToolError } from "@/lib/errors.ts";
import { type AnyTool, firstText } from "@/tools/define-tool.ts";
import type { ClientRequests } from "./requests.ts";
import { type ControlRequest, ExternalResultSchema } from "./schema.ts";

type ExternalTool = Extract<ControlRequest, { subtype: "register_external_tools" }>["tools"][number];

const ArgsSchema = v.record(v.string(), v.unknown());

/** Its calls may overlap: the client runs them. */
export function externalTool(definition: ExternalTool, requests: ClientRequests): AnyTool {
  const { name, description, parameters } = definition;
  const parse = (args: unknown) => {
    const parsed = v.safeParse(ArgsSchema, args);
    if (!parsed.success) throw new ToolError(`${name} takes an object of arguments`);
    return parsed.output;
  };
  return {
    name,
    description,
    parameters,
    parse,
    targets: (args) => [{ kind: "tool", name, args: parse(args) }],
    resource: () => ({ kind: "read" }),
    title: (args) => firstText(parse(args)) || (definition.label ?? ""),
    alwaysAsk: false,
    interactive: false,
    async run(args, { toolCallId, signal }) {
      const request = { subtype: "execute_external_tool", tool_call_id: toolCallId, tool_name: name } as const;
      const reply = await requests.ask(
        `ext-${toolCallId}`,
        { ...request, input: parse(args) },
        { signal, ...(definition.timeout_ms && { timeoutMs: definition.timeout_ms }) },
      );
      if (reply.status === "failed") throw new ToolError(reply.reason);
      // Its own subtype carries the result itself; a plain success carries it one level deeper.
      const parsed = v.safeParse(ExternalResultSchema, reply.response.response ?? reply.response);
      if (!parsed.success) throw new ToolError(`The client answered ${name} with something that is not a tool result.`);
      const { content, is_error } = parsed.output;
      return { status: is_error ? "error" : "success", output: toOutput(content) };
    },
  };
}

function toOutput(content: v.InferOutput<typeof ExternalResultSchema>["content"]): string | ContentPart[] {
  if (content.every((part) => part.type === "text")) return content.map((part) => part.text).join("\n");
  return content.map((part) =>
    part.type === "text"
      ? part
      : { type: "image", source: { type: "base64", media_type: part.mimeType, data: part.data } },
  );
}
