// A tool call as people write it down: JSON as the model sends it, a rule's form (`Read(src/a)`), or a shell command.

import { LettaError } from "@/lib/errors.ts";
import { isRecord, parseJson } from "@/lib/json.ts";

export interface NamedCall {
  tool: string;
  args: Record<string, unknown>;
}

/** The argument that the payload of a rule speaks of. */
const SUBJECTS: Record<string, string> = {
  Bash: "command",
  Read: "file_path",
  Write: "file_path",
  Edit: "file_path",
  MultiEdit: "file_path",
  Grep: "path",
  Glob: "path",
  LS: "path",
  WebFetch: "url",
  Task: "subagent_type",
  Skill: "skill",
};

/** Throws `usage` for JSON that is no tool call. */
export function parseNamedCall(text: string): NamedCall {
  if (/^\s*\{\s*(?:"|\})/.test(text)) return fromJson(text);
  const [, tool = "", payload = ""] = /^([A-Za-z_]\w*)\(([\s\S]*)\)$/.exec(text.trim()) ?? [];
  if (Object.hasOwn(SUBJECTS, tool)) return { tool, args: { [SUBJECTS[tool]!]: payload } };
  if (/^mcp__\w+$/.test(text.trim())) return { tool: text.trim(), args: {} };
  return { tool: "Bash", args: { command: text } };
}

function fromJson(text: string): NamedCall {
  const value = parseJson(text);
  const call = isRecord(value) ? (isRecord(value.function) ? value.function : value) : {};
  const tool = [call.name, call.tool, call.tool_name].find((name) => typeof name === "string");
  const given = call.arguments ?? call.args ?? call.input ?? call.tool_input ?? {};
  const args = typeof given === "string" ? parseJson(given) : given;
  if (typeof tool !== "string" || !isRecord(args))
    throw new LettaError("usage", "not a tool call", {
      hint: 'A call looks like {"name":"Bash","arguments":{"command":"ls"}}; a shell command is written as it is.',
    });
  return { tool, args };
}
