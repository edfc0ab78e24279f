// AgentFiles (`.af`): agents as Letta servers export them, one or several with shared blocks, or a single one in the older
// form. Read for what makes an agent the one it is: name, prompt and memory blocks. Conversations are not in here.

import * as v from "valibot";
import type { AgentCreate, MemoryBlock } from "@/backend/wire.ts";
import { LettaError } from "@/lib/errors.ts";
import { describeIssue } from "@/lib/schema-issue.ts";

export interface AgentFileAgent {
  body: AgentCreate;
  /** Of its conversation there; they are left out. */
  messages: number;
}

const nullable = <Schema extends v.GenericSchema>(schema: Schema) => v.optional(v.nullable(schema));

const BlockSchema = v.object({
  id: nullable(v.string()),
  label: nullable(v.string()),
  value: nullable(v.string()),
  description: nullable(v.string()),
  read_only: nullable(v.boolean()),
});

const AgentSchema = v.object({
  name: nullable(v.string()),
  description: nullable(v.string()),
  system: nullable(v.string()),
  tags: nullable(v.array(v.string())),
  /** In the agent itself, in the older form, or by id. */
  memory_blocks: nullable(v.array(BlockSchema)),
  core_memory: nullable(v.array(BlockSchema)),
  block_ids: nullable(v.array(v.string())),
  messages: nullable(v.array(v.unknown())),
});

const FileSchema = v.union([
  v.object({ agents: v.array(AgentSchema), blocks: nullable(v.array(BlockSchema)) }),
  v.object({ ...AgentSchema.entries, agent_type: v.string() }),
]);

/** Throws `invalid_data` that names the file. */
export function parseAgentFile(text: string, path: string): AgentFileAgent[] {
  const parsed = v.safeParse(FileSchema, parseText(text, path));
  if (!parsed.success) {
    throw new LettaError("invalid_data", `${path} is no AgentFile: ${describeIssue(parsed.issues[0])}`);
  }
  const file = parsed.output;
  if (!("agents" in file)) return [toAgent(file, new Map())];
  if (file.agents.length === 0) throw new LettaError("invalid_data", `${path} holds no agent`);
  const shared = new Map((file.blocks ?? []).map((block) => [block.id ?? "", block]));
  return file.agents.map((agent) => toAgent(agent, shared));
}

type Block = v.InferOutput<typeof BlockSchema>;

function toAgent(agent: v.InferOutput<typeof AgentSchema>, shared: ReadonlyMap<string, Block>): AgentFileAgent {
  const own = [...(agent.core_memory ?? []), ...(agent.memory_blocks ?? [])];
  const blocks = [...(agent.block_ids ?? []).flatMap((id) => shared.get(id) ?? []), ...own];
  return {
    body: {
      name: agent.name?.trim() || "Imported agent",
      description: agent.description ?? null,
      system: agent.system ?? "",
      // Models go by other names here; one is chosen when it runs.
      model: "",
      tags: agent.tags ?? [],
      memory_blocks: blocks.flatMap((block) => toBlock(block) ?? []),
    },
    messages: agent.messages?.length ?? 0,
  };
}

function toBlock({ label, value, description, read_only }: Block): MemoryBlock | null {
  if (!label) return null;
  return { label, value: value ?? "", description: description ?? null, read_only: read_only ?? false };
}

function parseText(text: string, path: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new LettaError("invalid_data", `${path} is no AgentFile: it is no JSON`, { cause });
  }
}
