// A subagent's definition: one Markdown file, frontmatter and system prompt. A list of tools is a list of tools, written
// with commas or as YAML; what cannot be understood is an error and never "everything".

import * as v from "valibot";
import { LettaError } from "@/lib/errors.ts";
import { describeIssue } from "@/lib/schema-issue.ts";

const Names = v.union([
  v.pipe(
    v.string(),
    v.transform((text) => text.split(",").map((name) => name.trim())),
  ),
  v.array(v.string()),
]);
const List = v.pipe(
  Names,
  v.transform((names) => names.filter((name) => name !== "")),
);

const DefinitionSchema = v.object({
  name: v.pipe(v.string(), v.regex(/^[a-z][a-z0-9-]*$/)),
  /** Shown to whoever may send it out. */
  description: v.pipe(v.string(), v.trim(), v.minLength(1)),
  /** Names of tools, or `all`. */
  tools: v.optional(List, ["all"]),
  /** Handle, or `inherit`. */
  model: v.optional(v.string(), "inherit"),
  skills: v.optional(List, []),
  fork: v.optional(v.boolean(), false),
  background: v.optional(v.boolean(), true),
  launchProfile: v.optional(v.picklist(["default", "memory-subagent"]), "default"),
});

export interface SubagentDefinition extends Omit<v.InferOutput<typeof DefinitionSchema>, "tools"> {
  /** Null: all. */
  tools: string[] | null;
  /** System prompt. */
  prompt: string;
}

/** Throws `invalid_data`; `file` is named in the message. */
export function parseDefinition(text: string, file: string): SubagentDefinition {
  const match = /^---[ \t]*\n([\s\S]*?)\n---[ \t]*(?:\n|$)([\s\S]*)$/.exec(
    text.replace(/^\ufeff/, "").replace(/\r\n?/g, "\n"),
  );
  if (!match) throw new LettaError("invalid_data", `${file}: it does not begin with a head between two lines of ---`);
  let head: unknown;
  try {
    head = Bun.YAML.parse(match[1] ?? "");
  } catch (cause) {
    throw new LettaError("invalid_data", `${file}: its head is no YAML`, { cause });
  }
  const parsed = v.safeParse(DefinitionSchema, head);
  if (!parsed.success) throw new LettaError("invalid_data", `${file}: ${describeIssue(parsed.issues[0])}`);
  const { tools } = parsed.output;
  const isAll = tools.length === 0 || (tools.length === 1 && tools[0] === "all");
  return { ...parsed.output, tools: isAll ? null : tools, prompt: (match[2] ?? "").trim() };
}
