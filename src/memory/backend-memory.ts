// Agents' memories as the local backend asks for them: made when an agent is made, looked at when a turn begins, and
// rendered into the prompt. Rendered texts are kept per commit, because every conversation of an agent shares them.

import type { BackendMemory, CoreMemory } from "@/backend/memory.ts";
import type { AgentState, MemoryBlock } from "@/backend/wire.ts";
import { formatCount } from "@/lib/text.ts";
import { blockFiles } from "./blocks.ts";
import { SYSTEM_WARNING_TOKENS } from "./limits.ts";
import type { Memories } from "./memories.ts";
import { isSystemPath } from "./places.ts";
import { planMemory, renderBlock, renderMemory, renderMetadata, type TreeLimits } from "./render.ts";
import type { AgentMemory } from "./service.ts";
import { countTokens } from "./tokens.ts";
import { decodeLoosely } from "./validate.ts";

export interface BackendMemoryOptions {
  memories: Memories;
  limits: TreeLimits;
  /** For people. */
  onWarning?(text: string): void;
}

export function createBackendMemory({ memories, limits, onWarning }: BackendMemoryOptions): BackendMemory {
  const rendered = new Map<string, { revision: string; text: string }>();

  const render = async (memory: AgentMemory, revision: string): Promise<string> => {
    const known = rendered.get(memory.agent.id);
    if (known?.revision === revision) return known.text;
    const { text, systemTokens } = await renderCommit(memory, revision, limits);
    if (systemTokens >= SYSTEM_WARNING_TOKENS) onWarning?.(describeSize(memory, systemTokens));
    rendered.set(memory.agent.id, { revision, text });
    return text;
  };

  return {
    async create(agent: AgentState, blocks: MemoryBlock[] | undefined): Promise<void> {
      await memories.find(agent, blockFiles(blocks))?.ensure();
    },
    async revision(agent: AgentState): Promise<string | null> {
      return (await memories.find(agent)?.head()) ?? null;
    },
    async compile(agent: AgentState, conversationId: string): Promise<CoreMemory> {
      const memory = memories.find(agent);
      if (!memory) return { revision: null, text: "" };
      const revision = await memory.head();
      const metadata = renderMetadata({ agentId: agent.id, conversationId });
      const text = await render(memory, revision);
      return { revision, text: [text, metadata].filter(Boolean).join("\n\n") };
    },
    async changes(agent: AgentState, since: string): Promise<{ revision: string; text: string } | null> {
      const memory = memories.find(agent);
      if (!memory) return null;
      const revision = await memory.head();
      const repository = await memory.ensure();
      // A commit that is gone was rewritten away by somebody: only a whole prompt is sure to be right.
      if ((await repository.resolve(since)) === null) return null;
      const changed = (await repository.diffTrees(since, revision)).filter(({ path }) => isShown(path));
      return { revision, text: await renderUpdate(changed, (path) => repository.readFile(revision, path)) };
    },
  };
}

/** The memory of a commit, as the prompt has it. */
export async function renderCommit(
  memory: AgentMemory,
  revision: string,
  limits: TreeLimits,
): Promise<{ text: string; systemTokens: number }> {
  const files = await memory.files(revision);
  const plan = planMemory(files.paths, limits);
  const texts = new Map<string, string>();
  await Promise.all(
    plan.needed.map(async (path) => {
      texts.set(path, decodeLoosely((await files.read(path)) ?? new Uint8Array()));
    }),
  );
  const systemTokens = countTokens(
    plan.system.map((path) => ({ path, bytes: Buffer.byteLength(texts.get(path) ?? "") })),
  );
  return { text: renderMemory(plan, (path) => texts.get(path) ?? ""), systemTokens: systemTokens.total_tokens };
}

function describeSize({ agent }: AgentMemory, tokens: number): string {
  return `The memory of ${agent.name} has about ${formatCount(tokens)} tokens under system/ (letta memory tokens): about ${formatCount(SYSTEM_WARNING_TOKENS)} fit into a request, the largest files are named instead of shown.`;
}

/** Empty when nothing of it is in the prompt. */
async function renderUpdate(
  changed: readonly { path: string; before: unknown; after: unknown }[],
  read: (path: string) => Promise<Uint8Array | null>,
): Promise<string> {
  if (changed.length === 0) return "";
  const lines: string[] = [];
  const elsewhere: string[] = [];
  for (const { path, before, after } of changed) {
    const verb = before === null ? "new" : after === null ? "gone" : "changed";
    if (!isSystemPath(path)) elsewhere.push(`${path} (${verb})`);
    else if (after === null) lines.push(`Gone: $MEMORY_DIR/${path}`);
    else lines.push(renderBlock(path, decodeLoosely((await read(path)) ?? new Uint8Array())));
  }
  if (elsewhere.length > 0) lines.push(`Outside system/: ${elsewhere.join(", ")}`);
  return [
    "<memory_update>",
    "Your memory has changed since the system prompt of this conversation was made. What is here is newer and counts; what is not here is as it was.",
    ...lines,
    "</memory_update>",
  ].join("\n");
}

function isShown(path: string): boolean {
  return planMemory([path], { lines: 10, chars: 1_000_000, children: 10 }).needed.length > 0;
}
