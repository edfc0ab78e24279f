// An agent's memory as tools see it. The real one is handed in (memory/service.ts).

import { LettaError, ToolError } from "@/lib/errors.ts";
import type { ToolContext, ToolResult } from "./define-tool.ts";

export interface MemoryEditor {
  create(file: { file: string; description: string; text: string }, options: EditOptions): Promise<MemoryCommit>;
  strReplace(
    edit: { file: string; oldString: string; newString: string; replaceAll: boolean },
    options: EditOptions,
  ): Promise<MemoryCommit>;
  insert(edit: { file: string; line: number; text: string }, options: EditOptions): Promise<MemoryCommit>;
  delete(file: string, options: EditOptions): Promise<MemoryCommit>;
  rename(names: { from: string; to: string }, options: EditOptions): Promise<MemoryCommit>;
  updateDescription(edit: { file: string; description: string }, options: EditOptions): Promise<MemoryCommit>;
  applyPatch(input: string, options: EditOptions): Promise<MemoryCommit>;
}

interface EditOptions {
  reason: string;
  expectedSha?: string;
}

export interface MemoryCommit {
  oid: string;
  paths: string[];
  /** Where something is not as it should be, for the model; empty when all is well. */
  notes: string;
}

/** Null for an agent that has no memory. */
export type FindMemory = (agentId: string) => Promise<MemoryEditor | null>;

/** Makes one edit of the agent's own memory; what goes wrong is said to the model. */
export async function editMemory(
  findMemory: FindMemory,
  { agentId }: Pick<ToolContext, "agentId">,
  command: string,
  edit: (memory: MemoryEditor) => Promise<MemoryCommit>,
): Promise<ToolResult> {
  const memory = agentId === null ? null : await findMemory(agentId);
  if (!memory) throw new ToolError("This agent has no memory.");
  try {
    const { oid, paths, notes } = await edit(memory);
    return {
      status: "success",
      output: `Memory ${command} committed locally (${oid.slice(0, 7)}).${notes ? `\n${notes}` : ""}`,
      summary: paths.length === 1 ? paths[0]! : `${paths.length} files of memory`,
    };
  } catch (error) {
    if (!(error instanceof LettaError) || error instanceof ToolError) throw error;
    throw new ToolError([error.message, error.hint].filter(Boolean).join("\n"), { cause: error });
  }
}
